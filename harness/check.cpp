// Checking a rearrange problem on the current device.
#include "harness/check.h"

#include <cstring>
#include <random>
#include <vector>

#include "base/device_kind.h"
#include "base/error.h"
#include "harness/reference.h"
#include "infiniop.h"

namespace infini::harness {
namespace {

constexpr int64_t guard = 256;  // bytes on both sides that nobody may touch; keeps the base aligned

void require_success(infiniStatus_t status, const char* call) {
  require(status == INFINI_STATUS_SUCCESS, status, call, ": ", infiniStatusString(status), ": ",
          infiniGetLastErrorString());
}

// A tensor's memory on the host: guard, the bytes it spans, guard.
struct Image {
  Image(const Layout& layout, int64_t misalignment)
      : base(guard - byte_range(layout).begin / 64 * 64 + 64 + misalignment),
        bytes(static_cast<size_t>(base + byte_range(layout).end + guard)) {}
  char* data() { return bytes.data() + base; }

  int64_t base;  // where element 0 lies
  std::vector<char> bytes;
};

void fill(std::vector<char>& bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    const uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, 8);
  }
  for (; i < bytes.size(); ++i) bytes[i] = static_cast<char>(random());
}

// An image's copy in the device's memory.
class DeviceImage {
 public:
  explicit DeviceImage(const Image& image) : image_(image) {
    require_success(infinirtMalloc(&memory_, image.bytes.size()), "infinirtMalloc");
    const infiniStatus_t copied = infinirtMemcpy(memory_, image.bytes.data(), image.bytes.size(),
                                                 INFINIRT_MEMCPY_H2D);
    if (copied == INFINI_STATUS_SUCCESS) return;
    const std::string why = infiniGetLastErrorString();
    infinirtFree(memory_);  // the destructor will not run
    fail(copied, "infinirtMemcpy: ", why);
  }
  ~DeviceImage() { infinirtFree(memory_); }
  DeviceImage(const DeviceImage&) = delete;
  DeviceImage& operator=(const DeviceImage&) = delete;
  char* data() const { return static_cast<char*>(memory_) + image_.base; }
  std::vector<char> read() const {
    std::vector<char> bytes(image_.bytes.size());
    require_success(infinirtMemcpy(bytes.data(), memory_, bytes.size(), INFINIRT_MEMCPY_D2H),
                    "infinirtMemcpy");
    return bytes;
  }

 private:
  const Image& image_;
  void* memory_ = nullptr;
};

// The C objects of one run, destroyed whatever happens.
struct Objects {
  infiniopHandle_t handle = nullptr;
  infiniopTensorDescriptor_t dst = nullptr, src = nullptr;
  infiniopRearrangeDescriptor_t desc = nullptr;
  ~Objects() {
    if (desc) infiniopDestroyRearrangeDescriptor(desc);
    if (dst) infiniopDestroyTensorDescriptor(dst);
    if (src) infiniopDestroyTensorDescriptor(src);
    if (handle) infiniopDestroyHandle(handle);
  }
};

infiniopTensorDescriptor_t describe(const Layout& layout) {
  const std::vector<size_t> shape(layout.shape, layout.shape + layout.rank);
  const std::vector<ptrdiff_t> strides(layout.strides, layout.strides + layout.rank);
  infiniopTensorDescriptor_t desc = nullptr;
  require_success(infiniopCreateTensorDescriptor(&desc, shape.size(), shape.data(), strides.data(),
                                                 layout.dtype), "infiniopCreateTensorDescriptor");
  return desc;
}

void run_on_device(const RearrangeProblem& problem, void* dst, const void* src,
                   infinirtStream_t stream) {
  Objects objects;
  require_success(infiniopCreateHandle(&objects.handle), "infiniopCreateHandle");
  objects.dst = describe(problem.dst);
  objects.src = describe(problem.src);
  require_success(infiniopCreateRearrangeDescriptor(objects.handle, &objects.desc, objects.dst,
                                                    objects.src),
                  "infiniopCreateRearrangeDescriptor");
  require_success(infiniopRearrange(objects.desc, dst, src, stream), "infiniopRearrange");
  require_success(infinirtStreamSynchronize(stream), "infinirtStreamSynchronize");
}

// Empty when equal, else the first difference in words.
std::string difference(const std::vector<char>& expected, const std::vector<char>& actual,
                       int64_t base, const char* side) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == actual[i]) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%s byte %+lld from its base is 0x%02x, expected 0x%02x", side,
                  static_cast<long long>(i) - static_cast<long long>(base),
                  static_cast<unsigned char>(actual[i]), static_cast<unsigned char>(expected[i]));
    return text;
  }
  return "";
}

std::string reproducer(const RearrangeProblem& problem) {
  infiniDevice_t kind = INFINI_DEVICE_CPU;
  infinirtGetDevice(&kind, nullptr);
  return std::string("\n  infini check --device ") + device_kind_name(kind) + " \"" +
         to_text(problem) + "\"";
}

}  // namespace

Verdict check(const RearrangeProblem& problem, uint64_t seed, infinirtStream_t stream) {
  try {
    Image dst(problem.dst, problem.dst_at), src(problem.src, problem.src_at);
    fill(dst.bytes, seed);
    fill(src.bytes, seed ^ 0x5eed);
    const DeviceImage device_dst(dst), device_src(src);
    run_on_device(problem, device_dst.data(), device_src.data(), stream);
    naive_rearrange(dst.data(), problem.dst, src.data(), problem.src);
    std::string wrong = difference(dst.bytes, device_dst.read(), dst.base, "dst");
    if (wrong.empty()) wrong = difference(src.bytes, device_src.read(), src.base, "src");
    if (wrong.empty()) return {true, ""};
    return {false, wrong + reproducer(problem)};
  } catch (const std::exception& error) {
    return {false, error.what() + reproducer(problem)};
  }
}

}  // namespace infini::harness
