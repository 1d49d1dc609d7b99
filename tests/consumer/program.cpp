// A C++17 client in the spelling of the design documents, and one that opens the libraries by name.
#include <dlfcn.h>
#include <infiniop.h>
#include <infinirt.h>

#include <cstdio>
#include <string>
#include <vector>

int main(int count, char** argv) {
  const std::vector<size_t> shape = {2, 3};
  const std::vector<ptrdiff_t> row_major = {3, 1}, transposed = {1, 2};
  infiniopTensorDescriptor_t x_desc, y_desc;
  infiniopHandle_t handle;
  infiniopRearrangeDescriptor_t rearrange;
  if (infiniopCreateTensorDescriptor(&x_desc, INFINI_DEVICE_CPU, 0, INFINI_DTYPE_F32, shape.size(),
                                     shape.data(), row_major.data()) ||
      infiniopCreateTensorDescriptor(&y_desc, INFINI_DEVICE_CPU, 0, INFINI_DTYPE_F32, shape.size(),
                                     shape.data(), transposed.data()) ||
      infiniopCreateHandle(&handle, INFINI_DEVICE_CPU, 0) ||
      infiniopCreateRearrangeDescriptor(handle, &rearrange, y_desc, x_desc)) {
    std::printf("%s\n", infiniGetLastErrorString());
    return 1;
  }
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  std::vector<float> y(6);
  if (infiniopRearrange(rearrange, y.data(), x.data(), nullptr)) return 2;
  if (y != std::vector<float>{1, 4, 2, 5, 3, 6}) return 3;
  infiniopDestroyRearrangeDescriptor(rearrange);
  infiniopDestroyTensorDescriptor(x_desc);
  infiniopDestroyTensorDescriptor(y_desc);
  infiniopDestroyHandle(handle);
  // Both old names open the same library; an archive has none to open.
  if (count < 2) return 0;
  const std::string folder = argv[1];
  void* runtime = dlopen((folder + "/libinfinirt.so").c_str(), RTLD_NOW);
  void* operators = dlopen((folder + "/libinfiniop.so").c_str(), RTLD_NOW);
  if (!runtime || !operators || !dlsym(runtime, "infinirtInit") ||
      !dlsym(operators, "infiniopRearrange"))
    return 4;
  return 0;
}
