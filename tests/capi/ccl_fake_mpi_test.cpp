// infiniccl over the libmpi of tests/fake_mpi.cpp: MPICH's handles, and a library that is refused. The fake one is in the
// process before infini looks for MPI, as that of a program compiled by mpicc is.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "infiniccl.h"

namespace {

bool is_unknown() {
  const char* const kind = std::getenv("FAKE_MPI");
  return kind != nullptr && std::strcmp(kind, "unknown") == 0;
}

infiniStatus_t join(infinicclComm_t* comm, int ranks) {
  static void* const library = dlopen(FAKE_MPI_PATH, RTLD_NOW);
  EXPECT_NE(library, nullptr) << dlerror();
  setenv("PMI_RANK", "0", 1);  // as MPICH's launcher does
  infinicclUniqueId_t id{};
  return infinicclCommInitRank(comm, ranks, id, 0);
}

TEST(CclFakeMpi, AnUnknownLibraryIsNamed) {
  if (!is_unknown()) GTEST_SKIP() << "the fake library is MPICH's";
  infinicclComm_t comm = nullptr;
  EXPECT_EQ(join(&comm, 2), INFINI_STATUS_NOT_IMPLEMENTED);
  EXPECT_EQ(comm, nullptr);
  EXPECT_NE(std::string(infiniGetLastErrorString()).find("libmpi is Imaginary MPI 7.1, whose"),
            std::string::npos)
      << infiniGetLastErrorString();
}

TEST(CclFakeMpi, HandlesAreMpichs) {
  if (is_unknown()) GTEST_SKIP() << "the fake library is nobody's";
  infinicclComm_t comm = nullptr;
  EXPECT_EQ(join(&comm, 3), INFINI_STATUS_BAD_PARAM);
  EXPECT_NE(
      std::string(infiniGetLastErrorString()).find("started 2, all of which take part (MPICH"),
      std::string::npos)
      << infiniGetLastErrorString();
  ASSERT_EQ(join(&comm, 2), INFINI_STATUS_SUCCESS) << infiniGetLastErrorString();
  const auto expect_ok = [](infiniStatus_t status) {
    EXPECT_EQ(status, INFINI_STATUS_SUCCESS) << infiniGetLastErrorString();
  };
  std::vector<float> own = {1, 2, 3}, all(6);
  const auto f32 = INFINI_DTYPE_F32;
  expect_ok(infinicclAllReduce(own.data(), all.data(), 3, f32, INFINICCL_SUM, comm, nullptr));
  EXPECT_EQ(all, (std::vector<float>{2, 4, 6, 0, 0, 0}));
  expect_ok(infinicclAllReduce(own.data(), own.data(), 3, f32, INFINICCL_AVG, comm, nullptr));
  EXPECT_EQ(own, (std::vector<float>{1, 2, 3}));
  expect_ok(infinicclAllGather(own.data(), all.data(), 3, f32, comm, nullptr));
  EXPECT_EQ(all, (std::vector<float>{1, 2, 3, 1, 2, 3}));
  expect_ok(infinicclBroadcast(own.data(), all.data(), 3, f32, 0, comm, nullptr));
  expect_ok(infinicclSend(own.data() + 1, 2, f32, 1, comm, nullptr));
  expect_ok(infinicclRecv(all.data(), 2, f32, 1, comm, nullptr));
  EXPECT_EQ(all[0], 2);
  EXPECT_EQ(infinicclRecv(all.data(), 3, f32, 1, comm, nullptr), INFINI_STATUS_BAD_PARAM);
  // Of a rank that reads nothing no address is wanted, of the others it is.
  const size_t counts[] = {0, 2};
  EXPECT_EQ(infinicclAllGatherV(nullptr, nullptr, counts, 2, f32, comm, nullptr),
            INFINI_STATUS_NULL_POINTER);
  EXPECT_EQ(infinicclReduceScatterV(nullptr, nullptr, counts, 2, f32, INFINICCL_SUM, comm, nullptr),
            INFINI_STATUS_NULL_POINTER);
  const size_t many[] = {SIZE_MAX, 2};
  EXPECT_EQ(infinicclAllGatherV(own.data(), all.data(), many, 2, f32, comm, nullptr),
            INFINI_STATUS_BAD_PARAM);
  EXPECT_EQ(infinicclAllReduce(own.data(), all.data(), 3, INFINI_DTYPE_BOOL, INFINICCL_SUM, comm,
                               nullptr),
            INFINI_STATUS_BAD_TENSOR_DTYPE);
  expect_ok(infinicclCommDestroy(comm));
}

}  // namespace
