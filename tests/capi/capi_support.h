// Small owners of C objects for the C API's tests.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "infiniop.h"
#include "infinirt.h"

namespace infini::test {

#define EXPECT_OK(call) EXPECT_EQ(INFINI_STATUS_SUCCESS, call) << infiniGetLastErrorString()
#define ASSERT_OK(call) ASSERT_EQ(INFINI_STATUS_SUCCESS, call) << infiniGetLastErrorString()

struct Tensor {
  Tensor(std::vector<size_t> shape, std::vector<ptrdiff_t> strides = {},
         infiniDtype_t dtype = INFINI_DTYPE_F32) {
    EXPECT_OK(infiniopCreateTensorDescriptor(&desc, shape.size(), shape.data(),
                                             strides.empty() ? nullptr : strides.data(), dtype));
  }
  ~Tensor() { infiniopDestroyTensorDescriptor(desc); }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  infiniopTensorDescriptor_t desc = nullptr;
};

struct Handle {
  Handle() { EXPECT_OK(infiniopCreateHandle(&handle)); }
  ~Handle() { infiniopDestroyHandle(handle); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  infiniopHandle_t handle = nullptr;
};

struct RearrangeOp {
  RearrangeOp(const Handle& handle, const Tensor& dst, const Tensor& src) {
    EXPECT_OK(infiniopCreateRearrangeDescriptor(handle.handle, &desc, dst.desc, src.desc));
  }
  ~RearrangeOp() { infiniopDestroyRearrangeDescriptor(desc); }
  RearrangeOp(const RearrangeOp&) = delete;
  RearrangeOp& operator=(const RearrangeOp&) = delete;
  infiniopRearrangeDescriptor_t desc = nullptr;
};

}  // namespace infini::test
