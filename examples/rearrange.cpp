// A transposition through the C API: rearrange [device].
//
// Both sides of a rearrangement have the same shape, here (3, 2); what differs are the strides,
// which count elements. The source is the transposed view of a row-major 2×3 matrix: element (i, j)
// of the view is element (j, i) of the matrix.
#include <vector>

#include "example.h"
#include "infiniop.h"
#include "infinirt.h"

namespace {

void check(infiniStatus_t status) {
  expect(status == INFINI_STATUS_SUCCESS, infiniGetLastErrorString());
}

}  // namespace

int main(int argc, char** argv) {
  const infinicore::Device device = device_named(argc > 1 ? argv[1] : "cpu");
  const auto kind = static_cast<infiniDevice_t>(device.getType());
  check(infinirtSetDevice(kind, 0));

  // 1. Descriptors of the two sides.
  const std::vector<size_t> shape = {3, 2};
  const std::vector<ptrdiff_t> x_strides = {1, 3};  // columns of the matrix become rows
  const std::vector<ptrdiff_t> y_strides = {2, 1};  // row-major
  infiniopTensorDescriptor_t x_desc, y_desc;
  check(infiniopCreateTensorDescriptor(&x_desc, kind, 0, INFINI_DTYPE_F32, shape.size(),
                                       shape.data(), x_strides.data()));
  check(infiniopCreateTensorDescriptor(&y_desc, kind, 0, INFINI_DTYPE_F32, shape.size(),
                                       shape.data(), y_strides.data()));

  // 2. The operator, prepared for one device. The descriptors are no longer needed then.
  infiniopHandle_t handle;
  check(infiniopCreateHandle(&handle, kind, 0));
  infiniopRearrangeDescriptor_t rearrange;
  check(infiniopCreateRearrangeDescriptor(handle, &rearrange, y_desc, x_desc));
  check(infiniopDestroyTensorDescriptor(x_desc));
  check(infiniopDestroyTensorDescriptor(y_desc));

  // 3. Data on the device.
  const std::vector<float> matrix = {1, 2, 3, 4, 5, 6};  // 2×3, row-major
  std::vector<float> result(6);
  const size_t bytes = matrix.size() * sizeof(float);
  void *x = nullptr, *y = nullptr;
  check(infinirtMalloc(&x, bytes));
  check(infinirtMalloc(&y, bytes));
  infinirtStream_t stream;
  check(infinirtStreamCreate(&stream));
  check(infinirtMemcpyAsync(x, matrix.data(), bytes, INFINIRT_MEMCPY_H2D, stream));

  // 4. Run, as often as wanted.
  check(infiniopRearrange(rearrange, y, x, stream));
  check(infinirtMemcpyAsync(result.data(), y, bytes, INFINIRT_MEMCPY_D2H, stream));
  check(infinirtStreamSynchronize(stream));
  for (const float value : result) std::printf("%g ", value);
  std::printf("\n");
  expect(result == std::vector<float>{1, 4, 2, 5, 3, 6}, "the matrix is transposed");

  // 5. Clean up.
  check(infiniopDestroyRearrangeDescriptor(rearrange));
  check(infiniopDestroyHandle(handle));
  check(infinirtStreamDestroy(stream));
  check(infinirtFree(x));
  check(infinirtFree(y));
}
