/* The public headers are C99, and the design document's transpose gives what it says. */
#include <stdio.h>
#include <string.h>

#include "infini.h"
#include "infinicore.h"
#include "infiniop.h"
#include "infiniproduct.h"
#include "infinireshard.h"
#include "infinirt.h"

#define EXPECT(condition)                                                             \
  do {                                                                                \
    if (!(condition)) {                                                               \
      printf("line %d: %s (%s)\n", __LINE__, #condition, infiniGetLastErrorString()); \
      return 1;                                                                       \
    }                                                                                 \
  } while (0)

int main(void) {
  const size_t shape[2] = {2, 3}, other[2] = {3, 2};
  const ptrdiff_t transposed[2] = {1, 2};
  const float x[6] = {1, 2, 3, 4, 5, 6}, expected[6] = {1, 4, 2, 5, 3, 6};
  float y[6];
  infiniopHandle_t handle;
  infiniopTensorDescriptor_t src, dst, unequal;
  infiniopRearrangeDescriptor_t rearrange;

  EXPECT(infiniopCreateHandle(&handle) == INFINI_STATUS_SUCCESS);
  EXPECT(infiniopCreateTensorDescriptor(&src, 2, shape, NULL, INFINI_DTYPE_F32) ==
         INFINI_STATUS_SUCCESS);
  EXPECT(infiniopCreateTensorDescriptor(&dst, 2, shape, transposed, INFINI_DTYPE_F32) ==
         INFINI_STATUS_SUCCESS);
  EXPECT(infiniopCreateTensorDescriptor(&unequal, 2, other, transposed, INFINI_DTYPE_F32) ==
         INFINI_STATUS_SUCCESS);
  EXPECT(infiniopCreateRearrangeDescriptor(handle, &rearrange, unequal, src) ==
         INFINI_STATUS_BAD_TENSOR_SHAPE);
  EXPECT(strstr(infiniGetLastErrorString(), "3x2") != NULL);
  EXPECT(infiniopCreateRearrangeDescriptor(handle, &rearrange, dst, src) == INFINI_STATUS_SUCCESS);
  EXPECT(infiniopDestroyTensorDescriptor(src) == INFINI_STATUS_SUCCESS);
  EXPECT(infiniopDestroyTensorDescriptor(dst) == INFINI_STATUS_SUCCESS);
  EXPECT(infiniopDestroyTensorDescriptor(unequal) == INFINI_STATUS_SUCCESS);
  EXPECT(infiniopRearrange(rearrange, y, x, NULL) == INFINI_STATUS_SUCCESS);
  EXPECT(memcmp(y, expected, sizeof y) == 0);
  EXPECT(infiniopDestroyRearrangeDescriptor(rearrange) == INFINI_STATUS_SUCCESS);
  EXPECT(infiniopDestroyHandle(handle) == INFINI_STATUS_SUCCESS);
  EXPECT(sizeof(infinirtDeviceResourceSnapshot_t) == 80);
  memset(y, 0, sizeof y);
  EXPECT(infiniTranspose(NULL, y, x, 2, shape, NULL, INFINI_DTYPE_F32, NULL) ==
         INFINI_STATUS_SUCCESS);
  EXPECT(memcmp(y, expected, sizeof y) == 0);
  return 0;
}
