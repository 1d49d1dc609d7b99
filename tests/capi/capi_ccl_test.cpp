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

}  // namespace
