/* C without descriptors: a transpose, a product and what the library would do about a layout. */
#include <infini.h>
#include <stdio.h>

static int failed(infiniStatus_t status) {
  if (status != INFINI_STATUS_SUCCESS)
    printf("%s: %s\n", infiniStatusString(status), infiniGetLastErrorString());
  return status != INFINI_STATUS_SUCCESS;
}

/* A descriptor is for what runs often, and can be asked about. */
static int explain(void) {
  const size_t shape[] = {64, 96};
  const ptrdiff_t transposed[] = {1, 64};
  infiniopHandle_t handle = NULL;
  infiniopTensorDescriptor_t dst = NULL, src = NULL;
  infiniopRearrangeDescriptor_t rearrange = NULL;
  char text[2000];
  int wrong =
      failed(infiniopCreateHandle(&handle)) ||
      failed(infiniopCreateTensorDescriptor(&dst, 2, shape, transposed, INFINI_DTYPE_F32)) ||
      failed(infiniopCreateTensorDescriptor(&src, 2, shape, NULL, INFINI_DTYPE_F32)) ||
      failed(infiniopCreateRearrangeDescriptor(handle, &rearrange, dst, src)) ||
      failed(infiniExplain(rearrange, INFINI_EXPLAIN_TEXT, text, sizeof text, NULL));
  if (!wrong) printf("%s", text);
  infiniopDestroyRearrangeDescriptor(rearrange); /* NULL is fine */
  infiniopDestroyTensorDescriptor(src);
  infiniopDestroyTensorDescriptor(dst);
  infiniopDestroyHandle(handle);
  return wrong;
}

int main(void) {
  const size_t shape[] = {2, 3};
  const float x[6] = {1, 2, 3, 4, 5, 6};
  float y[6], c[4];
  infiniDtype_t dtype;

  if (failed(infiniDtypeFromName("float32", &dtype))) return 1;
  /* NULL: the thread's current device, axes in reverse, the default stream. */
  if (failed(infiniTranspose(NULL, y, x, 2, shape, NULL, dtype, NULL))) return 1;
  if (failed(infiniMatmul(NULL, c, NULL, x, NULL, y, NULL, 2, 2, 3, dtype, 1, 0, NULL))) return 1;
  printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]); /* 14 32 32 77 */
  if (c[0] != 14 || c[1] != 32 || c[2] != 32 || c[3] != 77) return 1;
  return explain();
}
