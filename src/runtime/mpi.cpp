// Calls of MPI that come to an end.
#include "runtime/mpi.h"

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "base/dtype.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/float_formats.h"
#include "base/threads/lazy.h"
#include "runtime/mpi_library.h"

namespace infini {
namespace {

using Clock = std::chrono::steady_clock;

// Room for MPI_Status, whose members are MPI's own business.
struct Status {
  alignas(16) char bytes[128];
};

struct OpenedMpi : MpiLibrary {
  OpenedMpi() : MpiLibrary(open_mpi_library()) {}
};

const MpiLibrary& table() {
  static constinit Lazy<OpenedMpi> opened;
  const MpiLibrary& mpi = opened.get();
  require(mpi.why_not.empty(), INFINI_STATUS_NOT_IMPLEMENTED,
          "several ranks on the CPU need MPI: ", mpi.why_not);
  return mpi;
}

void check(int status, const char* what) {
  if (status == 0) return;
  char text[1024] = {};
  int length = 0;
  table().error_string(status, text, &length);
  fail(INFINI_STATUS_INTERNAL_ERROR, "MPI: ", what, ": ", text);
}

// INFINI_CCL_TIMEOUT, in seconds.
double patience() {
  const char* const text = environment("INFINI_CCL_TIMEOUT");
  if (text == nullptr) return 300;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (end != text && *end == 0 && seconds > 0) return seconds;
  tell_not_understood("INFINI_CCL_TIMEOUT", "a number of seconds");
  return 300;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}
std::atomic<bool> has_lost_calls{false};  // then MPI_Finalize would wait for ever

// MPI_Init waits for all processes of the job: a thread of its own does, so that this one need not.
void initialize() {
  static std::atomic<int> state{0};  // 1: being done, 2: done
  int before = 0;
  check(table().initialized(&before), "MPI_Initialized");
  if (before) return;
  require(is_launched_by_mpi(), INFINI_STATUS_NOT_IMPLEMENTED,
          "several ranks on the CPU are processes that mpirun starts; this one started alone");
  if (int none = 0; state.compare_exchange_strong(none, 1))
    std::thread([] {
      const auto multiple = static_cast<int>(table().constant(MpiConstant::thread_multiple).number);
      int provided = 0;
      table().init_thread(nullptr, nullptr, multiple, &provided);
      std::atexit([] {
        int finalized = 0;
        if (!has_lost_calls && table().finalized(&finalized) == 0 && !finalized) table().finalize();
      });
      state = 2;
    }).detach();
  const auto start = Clock::now();
  while (state != 2) {
    require(seconds_since(start) < patience(), INFINI_STATUS_INTERNAL_ERROR,
            "MPI_Init has not come to its end within ", patience(),
            " s (INFINI_CCL_TIMEOUT): a process of the job is missing");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

struct Type {
  infiniDtype_t dtype;
  MpiConstant mpi;
};
constexpr Type types[] = {
    {INFINI_DTYPE_I8, MpiConstant::int8},    {INFINI_DTYPE_I16, MpiConstant::int16},
    {INFINI_DTYPE_I32, MpiConstant::int32},  {INFINI_DTYPE_I64, MpiConstant::int64},
    {INFINI_DTYPE_BYTE, MpiConstant::uint8}, {INFINI_DTYPE_U8, MpiConstant::uint8},
    {INFINI_DTYPE_U16, MpiConstant::uint16}, {INFINI_DTYPE_U32, MpiConstant::uint32},
    {INFINI_DTYPE_U64, MpiConstant::uint64}, {INFINI_DTYPE_F32, MpiConstant::f32},
    {INFINI_DTYPE_F64, MpiConstant::f64}};

MpiHandle type_of(infiniDtype_t dtype) {
  for (const Type& type : types)
    if (type.dtype == dtype) return table().constant(type.mpi);
  fail(INFINI_STATUS_BAD_TENSOR_DTYPE, "dtype is ", dtype_name(dtype), ", which MPI cannot reduce");
}
MpiHandle bytes_type() { return table().constant(MpiConstant::byte); }

MpiHandle op_of(MpiReduce op) {
  constexpr MpiConstant by_op[] = {MpiConstant::sum, MpiConstant::product, MpiConstant::largest,
                                   MpiConstant::least, MpiConstant::sum};  // then divided
  return table().constant(by_op[static_cast<int>(op)]);
}

int small_count(size_t count) {
  require(count <= INT_MAX, INFINI_STATUS_NOT_IMPLEMENTED, "MPI counts up to 2^31 - 1; this is ",
          count);
  return static_cast<int>(count);
}

bool is_short(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16;
}

std::vector<float> widened(const void* data, size_t count, infiniDtype_t dtype) {
  std::vector<float> wide(count);
  const auto* bits = static_cast<const uint16_t*>(data);
  for (size_t i = 0; i < count; ++i)
    wide[i] = dtype == INFINI_DTYPE_F16 ? f32_from_f16(bits[i]) : f32_from_bf16(bits[i]);
  return wide;
}
void narrow(void* data, const std::vector<float>& wide, infiniDtype_t dtype) {
  auto* bits = static_cast<uint16_t*>(data);
  for (size_t i = 0; i < wide.size(); ++i)
    bits[i] = dtype == INFINI_DTYPE_F16 ? f16_from_f32(wide[i]) : bf16_from_f32(wide[i]);
}

template <class T>
void divide(void* data, size_t count, int ranks) {
  auto* values = static_cast<T*>(data);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(values[i] / static_cast<T>(ranks));
}
void divide(void* data, size_t count, infiniDtype_t dtype, int ranks) {
  constexpr void (*by_dtype[])(void*, size_t, int) = {
      divide<uint8_t>,  divide<uint8_t>, divide<int8_t>,  divide<int16_t>,
      divide<int32_t>,  divide<int64_t>, divide<uint8_t>, divide<uint16_t>,
      divide<uint32_t>, divide<uint64_t>};  // from BYTE on
  if (dtype == INFINI_DTYPE_F32) return divide<float>(data, count, ranks);
  if (dtype == INFINI_DTYPE_F64) return divide<double>(data, count, ranks);
  by_dtype[static_cast<int>(dtype) - INFINI_DTYPE_BYTE](data, count, ranks);
}

constexpr int tag = 0x1f;

}  // namespace

std::unique_ptr<MpiComm> MpiComm::join(int ranks, int rank) {
  const MpiLibrary& mpi = table();
  initialize();
  const MpiHandle world = mpi.constant(MpiConstant::world),
                  errors_return = mpi.constant(MpiConstant::errors_return);
  int size = 0;
  check(mpi.comm_size(world, &size), "MPI_Comm_size");
  require(size == ranks, INFINI_STATUS_BAD_PARAM, "nranks is ", ranks, ", but mpirun started ",
          size, ", all of which take part (", mpi.name, ")");
  check(mpi.comm_set_errhandler(world, errors_return), "MPI_Comm_set_errhandler");
  // Whoever comes here is waited for; then nobody can be missing in what has no time of its own.
  MpiComm all(world, false, ranks, rank);
  all.agree("CommInitRank", 1, ranks, 0);
  MpiHandle made;
  check(mpi.comm_split(world, 0, rank, &made), "MPI_Comm_split");
  check(mpi.comm_set_errhandler(made, errors_return), "MPI_Comm_set_errhandler");
  int own = -1;
  check(mpi.comm_rank(made, &own), "MPI_Comm_rank");
  std::unique_ptr<MpiComm> comm(new MpiComm(made, true, ranks, rank));
  require(own == rank, INFINI_STATUS_BAD_PARAM, "rank is ", rank,
          ", but another process has it, too: this one would be ", own);
  return comm;
}

MpiComm::~MpiComm() {
  int finalized = 0;
  if (!owns_ || !broken_.empty() || table().finalized(&finalized) != 0 || finalized) return;
  table().comm_free(&comm_);
}

void MpiComm::require_whole() const {
  require(broken_.empty(), INFINI_STATUS_INTERNAL_ERROR,
          "this communicator is of no use any more since: ", broken_);
}

// Until the request is done. What does not come to its end leaves a communicator that nobody can rely on.
void MpiComm::finish(MpiHandle request, const char* what, void* status) {
  Status own;
  const auto start = Clock::now();
  const double limit = patience();
  for (int turns = 0;; ++turns) {
    int done = 0;
    const int failed = table().test(&request, &done, status != nullptr ? status : &own);
    if (failed != 0) {
      broken_ = what;
      has_lost_calls = true;
      check(failed, what);
    }
    if (done) return;
    if (seconds_since(start) > limit) break;
    if (turns > 1000) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  broken_ = std::string(what) + " waited in vain";
  has_lost_calls = true;
  fail(INFINI_STATUS_INTERNAL_ERROR, "rank ", rank_, " of ", ranks_, ": ", what,
       " has not come to its end within ", limit,
       " s (INFINI_CCL_TIMEOUT): a rank is missing, or calls something else");
}

// All ranks must ask for the same: the largest of what they say, and of its opposite, tell.
void MpiComm::agree(const char* what, int64_t kind, int64_t count, int64_t detail) {
  require_whole();
  const int64_t own[] = {kind, count, detail, -kind, -count, -detail};
  int64_t most[6] = {};
  MpiHandle request;
  check(table().iallreduce(own, most, 6, table().constant(MpiConstant::long_long),
                           op_of(MpiReduce::largest), comm_, &request),
        what);
  finish(request, what);
  for (int i = 0; i < 3; ++i)
    require(most[i] == -most[i + 3], INFINI_STATUS_BAD_PARAM, "rank ", rank_, " of ", ranks_, ": ",
            what, " with ",
            i == 1   ? "count "
            : i == 0 ? "number "
                     : "root, type or operation ",
            own[i], ", but other ranks have ", -most[i + 3], " to ", most[i], "; nothing was sent");
}

void MpiComm::all_reduce(const void* send, void* recv, size_t count, infiniDtype_t dtype,
                         MpiReduce op) {
  const bool by_f32 = is_short(dtype);
  const MpiHandle type = type_of(by_f32 ? INFINI_DTYPE_F32 : dtype);
  const int number = small_count(count);
  agree("AllReduce", 2, number, static_cast<int64_t>(dtype) * 8 + static_cast<int64_t>(op));
  if (count == 0) return;
  MpiHandle request;
  if (!by_f32) {
    std::vector<char> copy;  // MPI's operands must not be the same
    if (send == recv) {
      const auto* from = static_cast<const char*>(send);
      copy.assign(from, from + count * static_cast<size_t>(dtype_bytes(dtype)));
      send = copy.data();
    }
    check(table().iallreduce(send, recv, number, type, op_of(op), comm_, &request), "AllReduce");
    finish(request, "AllReduce");
    if (op == MpiReduce::average) divide(recv, count, dtype, ranks_);
    return;
  }
  const std::vector<float> own = widened(send, count, dtype);
  std::vector<float> all(count);
  check(table().iallreduce(own.data(), all.data(), number, type, op_of(op), comm_, &request),
        "AllReduce");
  finish(request, "AllReduce");
  if (op == MpiReduce::average) divide(all.data(), count, INFINI_DTYPE_F32, ranks_);
  narrow(recv, all, dtype);
}

void MpiComm::broadcast(const void* send, void* recv, size_t bytes, int root) {
  const int number = small_count(bytes);
  agree("Broadcast", 3, number, root);
  if (bytes == 0) return;
  if (rank_ == root && send != recv) std::memcpy(recv, send, bytes);
  MpiHandle request;
  check(table().ibcast(recv, number, bytes_type(), root, comm_, &request), "Broadcast");
  finish(request, "Broadcast");
}

void MpiComm::all_gather(const void* send, void* recv, const size_t* bytes) {
  std::vector<int> counts, places;
  size_t all = 0, mixed = 0;
  for (int r = 0; r < ranks_; ++r) {
    counts.push_back(small_count(bytes[r]));
    places.push_back(small_count(all));
    all += bytes[r];
    mixed = mixed * 1000003 + bytes[r];
  }
  agree("AllGather", 4, small_count(all), static_cast<int64_t>(mixed >> 1));
  if (all == 0) return;
  // The own part may lie where it goes to.
  const auto own = static_cast<size_t>(counts[static_cast<size_t>(rank_)]);
  const auto* from = static_cast<const char*>(send);
  const std::vector<char> copy(from, from + own);
  MpiHandle request;
  check(table().iallgatherv(copy.data(), static_cast<int>(own), bytes_type(), recv, counts.data(),
                            places.data(), bytes_type(), comm_, &request),
        "AllGather");
  finish(request, "AllGather");
}

void MpiComm::reduce_scatter(const void* send, void* recv, const size_t* counts,
                             infiniDtype_t dtype, MpiReduce op) {
  size_t all = 0, before = 0;
  for (int r = 0; r < ranks_; ++r) {
    if (r < rank_) before += counts[r];
    all += counts[r];
  }
  const auto size = static_cast<size_t>(dtype_bytes(dtype));
  std::vector<char> sums(all * size);
  all_reduce(send, sums.data(), all, dtype, op);
  const size_t own = counts[rank_] * size;
  if (own > 0) std::memcpy(recv, sums.data() + before * size, own);
}

void MpiComm::send(const void* data, size_t bytes, int peer) {
  require_whole();
  MpiHandle request;
  check(table().isend(data, small_count(bytes), bytes_type(), peer, tag, comm_, &request), "Send");
  finish(request, "Send");
}

void MpiComm::receive(void* data, size_t bytes, int peer) {
  require_whole();
  MpiHandle request;
  Status status{};
  check(table().irecv(data, small_count(bytes), bytes_type(), peer, tag, comm_, &request), "Recv");
  finish(request, "Recv", &status);
  int arrived = 0;
  check(table().get_count(&status, bytes_type(), &arrived), "MPI_Get_count");
  require(static_cast<size_t>(arrived) == bytes, INFINI_STATUS_BAD_PARAM, "Recv: ", bytes,
          " bytes were expected from rank ", peer, ", which sent ", arrived);
}

}  // namespace infini
