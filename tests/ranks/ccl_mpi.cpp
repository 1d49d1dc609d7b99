// Collectives between processes, started by mpirun: ccl_mpi works|counts|missing. Says in words what is wrong and ends
// with 1; ends with 77 where there is no MPI to open.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "infiniccl.h"
#include "infinicore.h"
#include "infinirt.h"

namespace {

int ranks = 0, rank = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("rank %d: %s; %s\n", rank, what, infiniGetLastErrorString());
  std::fflush(stdout);
  std::_Exit(1);
}
void expect_ok(infiniStatus_t status, const char* what) {
  expect(status == INFINI_STATUS_SUCCESS, what);
}

infinicclComm_t join() {
  infinicclUniqueId_t id{};
  infinicclComm_t comm = nullptr;
  expect_ok(infinicclGetUniqueId(&id), "GetUniqueId");
  const infiniStatus_t status = infinicclCommInitRank(&comm, ranks, id, rank);
  if (status == INFINI_STATUS_NOT_IMPLEMENTED) {
    std::printf("SKIPPED: %s\n", infiniGetLastErrorString());
    std::fflush(stdout);
    std::_Exit(77);
  }
  expect_ok(status, "CommInitRank");
  return comm;
}

template <class T>
void reduces(infinicclComm_t comm, infiniDtype_t dtype, T one, T all) {
  std::vector<T> send(1000, one), recv(1000);
  expect_ok(infinicclAllReduce(send.data(), recv.data(), 1000, dtype, INFINICCL_SUM, comm, nullptr),
            "AllReduce");
  for (const T& value : recv) expect(std::memcmp(&value, &all, sizeof all) == 0, "a wrong sum");
  expect_ok(infinicclAllReduce(send.data(), send.data(), 1000, dtype, INFINICCL_SUM, comm, nullptr),
            "AllReduce in place");
  expect(std::memcmp(send.data(), recv.data(), sizeof(T) * 1000) == 0, "another sum in place");
}

void works(infinicclComm_t comm) {
  reduces<float>(comm, INFINI_DTYPE_F32, 1.5f, 1.5f * static_cast<float>(ranks));
  reduces<double>(comm, INFINI_DTYPE_F64, 0.25, 0.25 * ranks);
  reduces<int32_t>(comm, INFINI_DTYPE_I32, -7, -7 * ranks);
  reduces<uint8_t>(comm, INFINI_DTYPE_U8, 3, static_cast<uint8_t>(3 * ranks));
  reduces<uint16_t>(comm, INFINI_DTYPE_BF16, 0x3f80,
                    ranks == 2   ? 0x4000
                    : ranks == 3 ? 0x4040
                                 : 0x4080);
  reduces<uint16_t>(comm, INFINI_DTYPE_F16, 0x3c00,
                    ranks == 2   ? 0x4000
                    : ranks == 3 ? 0x4200
                                 : 0x4400);
  const struct {
    infinicclReduceOp_t op;
    int64_t wanted;
  } reductions[] = {{INFINICCL_MAX, ranks}, {INFINICCL_MIN, 1}, {INFINICCL_AVG, (ranks + 1) / 2}};
  for (const auto& reduction : reductions) {
    int64_t own = rank + 1, result = 0;
    expect_ok(infinicclAllReduce(&own, &result, 1, INFINI_DTYPE_I64, reduction.op, comm, nullptr),
              "AllReduce of ranks");
    expect(result == reduction.wanted, "a wrong reduction");
  }
  for (int root = 0; root < ranks; ++root) {
    int32_t own = 100 + rank, got = -1;
    expect_ok(infinicclBroadcast(rank == root ? &own : nullptr, &got, 1, INFINI_DTYPE_I32, root,
                                 comm, nullptr),
              "Broadcast");
    expect(got == 100 + root, "a wrong broadcast");
  }
  std::vector<int32_t> own(2, rank), all(2 * static_cast<size_t>(ranks), -1);
  expect_ok(infinicclAllGather(own.data(), all.data(), 2, INFINI_DTYPE_I32, comm, nullptr),
            "AllGather");
  for (size_t i = 0; i < all.size(); ++i)
    expect(all[i] == static_cast<int32_t>(i / 2), "a wrong gather");
  // Rank r has r + 1 elements.
  std::vector<size_t> counts;
  size_t total = 0;
  for (int r = 0; r < ranks; ++r) total += counts.emplace_back(static_cast<size_t>(r) + 1);
  std::vector<int32_t> mine(counts[static_cast<size_t>(rank)], rank), joined(total, -1);
  expect_ok(infinicclAllGatherV(mine.data(), joined.data(), counts.data(), ranks, INFINI_DTYPE_I32,
                                comm, nullptr),
            "AllGatherV");
  size_t at = 0;
  for (int r = 0; r < ranks; ++r)
    for (size_t i = 0; i < counts[static_cast<size_t>(r)]; ++i)
      expect(joined[at++] == r, "a wrong gather of different counts");
  std::vector<int32_t> scattered(counts[static_cast<size_t>(rank)], -1);
  expect_ok(infinicclReduceScatterV(joined.data(), scattered.data(), counts.data(), ranks,
                                    INFINI_DTYPE_I32, INFINICCL_SUM, comm, nullptr),
            "ReduceScatterV");
  for (const int32_t value : scattered) expect(value == rank * ranks, "a wrong scatter");
  std::vector<float> parts(static_cast<size_t>(ranks), 2), part(1);
  expect_ok(infinicclReduceScatter(parts.data(), part.data(), 1, INFINI_DTYPE_F32, INFINICCL_PROD,
                                   comm, nullptr),
            "ReduceScatter");
  expect(part[0] == static_cast<float>(1 << ranks), "a wrong product");
  // Around the ring.
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  int32_t token = rank, got = -1;
  expect_ok(infinicclSend(&token, 1, INFINI_DTYPE_I32, next, comm, nullptr), "Send");
  expect_ok(infinicclRecv(&got, 1, INFINI_DTYPE_I32, previous, comm, nullptr), "Recv");
  expect(got == previous, "a wrong message");
}

// A count that is not the others' is told to all of them, and the communicator goes on.
void counts(infinicclComm_t comm) {
  float values[8] = {}, sums[8] = {};
  const size_t own = rank == 0 ? 8 : 4;
  expect(infinicclAllReduce(values, sums, own, INFINI_DTYPE_F32, INFINICCL_SUM, comm, nullptr) ==
             INFINI_STATUS_BAD_PARAM,
         "other counts were accepted");
  expect(std::strstr(infiniGetLastErrorString(), "other ranks have 4 to 8") != nullptr,
         "the message does not say which");
  expect(infinicclBroadcast(values, sums, 4, INFINI_DTYPE_F32, rank % 2, comm, nullptr) ==
             INFINI_STATUS_BAD_PARAM,
         "other roots were accepted");
  if (rank == 0) expect_ok(infinicclSend(values, 2, INFINI_DTYPE_F32, 1, comm, nullptr), "Send");
  if (rank == 1)
    expect(infinicclRecv(sums, 8, INFINI_DTYPE_F32, 0, comm, nullptr) == INFINI_STATUS_BAD_PARAM,
           "a shorter message was accepted");
  works(comm);
}

// The last rank never comes: the others are told, once after the time they have, then at once.
void missing(infinicclComm_t comm) {
  float value = 1, sum = 0;
  if (rank == ranks - 1) {
    sleep(50);  // over what the others wait (INFINI_CCL_TIMEOUT); mpirun ends it before
    std::_Exit(0);
  }
  for (int i = 0; i < 2; ++i)
    expect(infinicclAllReduce(&value, &sum, 1, INFINI_DTYPE_F32, INFINICCL_SUM, comm, nullptr) ==
               INFINI_STATUS_INTERNAL_ERROR,
           "a missing rank was not told");
  expect(std::strstr(infiniGetLastErrorString(), "of no use any more") != nullptr,
         "the second call waited, too");
  std::printf("rank %d was answered\n", rank);
  std::fflush(stdout);
  std::_Exit(0);
}

}  // namespace

int main(int count, char** words) {
  const bool by_open_mpi = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;  // else by MPICH
  const char *size = std::getenv(by_open_mpi ? "OMPI_COMM_WORLD_SIZE" : "PMI_SIZE"),
             *own = std::getenv(by_open_mpi ? "OMPI_COMM_WORLD_RANK" : "PMI_RANK");
  if (count != 2 || size == nullptr || own == nullptr) {
    std::printf("SKIPPED: to be started by mpirun, with works, counts or missing\n");
    return 77;
  }
  ranks = std::atoi(size);
  rank = std::atoi(own);
  const std::string mode = words[1];
  const infinicclComm_t comm = join();
  mode == "works" ? works(comm) : mode == "counts" ? counts(comm) : missing(comm);
  expect_ok(infinicclCommDestroy(comm), "CommDestroy");
  return 0;
}
