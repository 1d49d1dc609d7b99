// Tensors' memory on the host and on the current device, with guards around it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "infiniop.h"
#include "plan/layout/layout.h"

namespace infini::harness {

// Throws with the C API's last error.
void require_success(infiniStatus_t status, const char* call);

// A tensor's memory on the host: guard, the bytes it spans, guard. The base is 64-byte aligned, plus
// the misalignment.
struct Image {
  Image(const Layout& layout, int64_t misalignment);
  char* data() { return bytes.data() + base; }
  const char* data() const { return bytes.data() + base; }

  int64_t base;  // where element 0 lies
  std::vector<char> bytes;
};

// Random bytes; the same seed gives the same ones.
void fill(std::vector<char>& bytes, uint64_t seed);

// An image's copy in the device's memory.
class DeviceImage {
 public:
  explicit DeviceImage(const Image& image);
  ~DeviceImage();
  DeviceImage(const DeviceImage&) = delete;
  DeviceImage& operator=(const DeviceImage&) = delete;
  char* data() const { return static_cast<char*>(memory_) + image_.base; }
  std::vector<char> read() const;

 private:
  const Image& image_;
  void* memory_ = nullptr;
};

infiniopTensorDescriptor_t describe(const Layout& layout);

// Empty when equal, else the first difference in words.
std::string difference(const std::vector<char>& expected, const std::vector<char>& actual,
                       int64_t base, const char* side);

}  // namespace infini::harness
