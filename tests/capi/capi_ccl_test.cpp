// infiniccl with one rank: every collective is a copy; what needs other ranks is refused.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "infiniccl.h"

namespace {

TEST(Ccl, OneRankCopies) {
  const int id = 0;
  infinicclComm_t comm = nullptr;
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infinicclCommInitAll(INFINI_DEVICE_CPU, &comm, 1, &id));
  std::vector<float> send = {1, 2, 3}, recv(3);
  const size_t counts[] = {3};
  const auto expect_copied = [&](infiniStatus_t status) {
    EXPECT_EQ(INFINI_STATUS_SUCCESS, status) << infiniGetLastErrorString();
    EXPECT_EQ(recv, send);
    recv.assign(3, 0);
  };
  const auto f32 = INFINI_DTYPE_F32;
  for (int op = INFINICCL_SUM; op <= INFINICCL_AVG; ++op)
    expect_copied(infinicclAllReduce(send.data(), recv.data(), 3, f32,
                                     static_cast<infinicclReduceOp_t>(op), comm, nullptr));
  expect_copied(infinicclBroadcast(send.data(), recv.data(), 3, f32, 0, comm, nullptr));
  expect_copied(infinicclAllGather(send.data(), recv.data(), 3, f32, comm, nullptr));
  expect_copied(infinicclAllGatherV(send.data(), recv.data(), counts, 1, f32, comm, nullptr));
  expect_copied(
      infinicclReduceScatter(send.data(), recv.data(), 3, f32, INFINICCL_SUM, comm, nullptr));
  expect_copied(infinicclReduceScatterV(send.data(), recv.data(), counts, 1, f32, INFINICCL_MAX,
                                        comm, nullptr));
  // In place, and of nothing.
  EXPECT_EQ(INFINI_STATUS_SUCCESS,
            infinicclAllReduce(send.data(), send.data(), 3, f32, INFINICCL_SUM, comm, nullptr));
  EXPECT_EQ(INFINI_STATUS_SUCCESS,
            infinicclAllReduce(nullptr, nullptr, 0, f32, INFINICCL_SUM, comm, nullptr));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infinicclGroupStart(comm));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infinicclGroupEnd(comm));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infinicclCommDestroy(comm));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinicclCommDestroy(comm));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infinicclCommDestroy(nullptr));
}

TEST(Ccl, WhatNeedsOthersIsRefused) {
  infinicclUniqueId_t id;
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infinicclGetUniqueId(&id));
  infinicclComm_t comm = nullptr;
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infinicclCommInitRank(&comm, 1, id, 0));
  float x = 1, y = 0;
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinicclSend(&x, 1, INFINI_DTYPE_F32, 0, comm, nullptr));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinicclRecv(&y, 1, INFINI_DTYPE_F32, 1, comm, nullptr));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infinicclBroadcast(&x, &y, 1, INFINI_DTYPE_F32, 1, comm, nullptr));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infinicclAllReduce(nullptr, &y, 1, INFINI_DTYPE_F32, INFINICCL_SUM, comm, nullptr));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infinicclAllReduce(&x, &y, SIZE_MAX, INFINI_DTYPE_F32, INFINICCL_SUM, comm, nullptr));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_DTYPE,
            infinicclAllReduce(&x, &y, 1, INFINI_DTYPE_INVALID, INFINICCL_SUM, comm, nullptr));
  const size_t counts[] = {1, 1};
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infinicclAllGatherV(&x, &y, counts, 2, INFINI_DTYPE_F32, comm, nullptr));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infinicclCommDestroy(comm));
  comm = reinterpret_cast<infinicclComm_t>(1);
  EXPECT_EQ(INFINI_STATUS_NOT_IMPLEMENTED, infinicclCommInitRank(&comm, 2, id, 0));
  EXPECT_EQ(comm, nullptr);
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinicclCommInitRank(&comm, 2, id, 2));
  const int ids[] = {0, 0};
  infinicclComm_t both[2];
  EXPECT_EQ(INFINI_STATUS_NOT_IMPLEMENTED, infinicclCommInitAll(INFINI_DEVICE_CPU, both, 2, ids));
}

// Every argument of every call, wrong one after another: a status and words, and nothing written.
TEST(Ccl, BadArgumentsAreToldApart) {
  const int id = 0;
  infinicclComm_t comm = nullptr;
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infinicclCommInitAll(INFINI_DEVICE_CPU, &comm, 1, &id));
  float x = 1, y = 2;
  size_t one[] = {1}, huge[] = {SIZE_MAX};
  const auto f32 = INFINI_DTYPE_F32;
  const auto sum = INFINICCL_SUM, wrong = static_cast<infinicclReduceOp_t>(5),
             negative = static_cast<infinicclReduceOp_t>(-1);
  const auto expect = [&](infiniStatus_t wanted, infiniStatus_t got, const char* word) {
    EXPECT_EQ(wanted, got) << word;
    EXPECT_NE(std::string(infiniGetLastErrorString()).find(word), std::string::npos)
        << word << " is not in: " << infiniGetLastErrorString();
    EXPECT_EQ(y, 2);
  };
  const auto null = INFINI_STATUS_NULL_POINTER, bad = INFINI_STATUS_BAD_PARAM;
  expect(bad, infinicclAllReduce(&x, &y, 1, f32, wrong, comm, nullptr), "op is 5");
  expect(bad, infinicclAllReduce(&x, &y, 1, f32, negative, comm, nullptr), "op is -1");
  expect(bad, infinicclReduceScatter(&x, &y, 1, f32, wrong, comm, nullptr), "op is 5");
  expect(bad, infinicclReduceScatterV(&x, &y, one, 1, f32, wrong, comm, nullptr), "op is 5");
  expect(null, infinicclAllReduce(&x, nullptr, 1, f32, sum, comm, nullptr), "recv");
  expect(null, infinicclBroadcast(nullptr, &y, 1, f32, 0, comm, nullptr), "send");
  expect(null, infinicclBroadcast(&x, nullptr, 1, f32, 0, comm, nullptr), "recv");
  expect(bad, infinicclBroadcast(&x, &y, 1, f32, -1, comm, nullptr), "root is -1");
  expect(null, infinicclAllGather(nullptr, &y, 1, f32, comm, nullptr), "send");
  expect(null, infinicclAllGather(&x, nullptr, 1, f32, comm, nullptr), "recv");
  expect(bad, infinicclAllGather(&x, &y, SIZE_MAX, f32, comm, nullptr), "count is");
  expect(null, infinicclAllGatherV(&x, &y, nullptr, 1, f32, comm, nullptr), "recv_counts");
  expect(bad, infinicclAllGatherV(&x, &y, huge, 1, f32, comm, nullptr), "count is");
  expect(bad, infinicclAllGatherV(&x, &y, one, 0, f32, comm, nullptr), "nranks is 0");
  expect(bad, infinicclAllGatherV(&x, &y, one, -1, f32, comm, nullptr), "nranks is -1");
  expect(null, infinicclReduceScatterV(&x, &y, nullptr, 1, f32, sum, comm, nullptr), "send_counts");
  expect(null, infinicclReduceScatter(nullptr, &y, 1, f32, sum, comm, nullptr), "send");
  expect(INFINI_STATUS_BAD_TENSOR_DTYPE,
         infinicclAllGather(&x, &y, 1, static_cast<infiniDtype_t>(99), comm, nullptr), "dtype");
  // Without a communicator, and with one that is gone.
  for (const infinicclComm_t none : {infinicclComm_t{nullptr}, comm}) {
    if (none == comm) {
      ASSERT_EQ(INFINI_STATUS_SUCCESS, infinicclCommDestroy(comm));
    }
    const auto status = none == comm ? bad : null;
    expect(status, infinicclAllReduce(&x, &y, 1, f32, sum, none, nullptr), "comm");
    expect(status, infinicclBroadcast(&x, &y, 1, f32, 0, none, nullptr), "comm");
    expect(status, infinicclSend(&x, 1, f32, 0, none, nullptr), "comm");
    expect(status, infinicclRecv(&y, 1, f32, 0, none, nullptr), "comm");
    expect(status, infinicclAllGather(&x, &y, 1, f32, none, nullptr), "comm");
    expect(status, infinicclAllGatherV(&x, &y, one, 1, f32, none, nullptr), "comm");
    expect(status, infinicclReduceScatter(&x, &y, 1, f32, sum, none, nullptr), "comm");
    expect(status, infinicclReduceScatterV(&x, &y, one, 1, f32, sum, none, nullptr), "comm");
    expect(status, infinicclGroupStart(none), "comm");
    expect(status, infinicclGroupEnd(none), "comm");
  }
}

TEST(Ccl, CommunicatorsThatCannotBeAreRefused) {
  const int id = 0, absent = 1000000, none = -1;
  infinicclUniqueId_t unique{};
  infinicclComm_t comm = nullptr;
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, infinicclGetUniqueId(nullptr));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, infinicclCommInitAll(INFINI_DEVICE_CPU, nullptr, 1, &id));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, infinicclCommInitAll(INFINI_DEVICE_CPU, &comm, 1, nullptr));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinicclCommInitAll(INFINI_DEVICE_CPU, &comm, 0, &id));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinicclCommInitAll(INFINI_DEVICE_CPU, &comm, -1, &id));
  for (const int* wrong : {&absent, &none})
    EXPECT_EQ(INFINI_STATUS_DEVICE_NOT_FOUND,
              infinicclCommInitAll(INFINI_DEVICE_CPU, &comm, 1, wrong));
  EXPECT_NE(INFINI_STATUS_SUCCESS,
            infinicclCommInitAll(static_cast<infiniDevice_t>(99), &comm, 1, &id));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, infinicclCommInitRank(nullptr, 1, unique, 0));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinicclCommInitRank(&comm, 0, unique, 0));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinicclCommInitRank(&comm, 1, unique, -1));
  EXPECT_EQ(comm, nullptr);
}

}  // namespace
