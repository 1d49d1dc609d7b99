// Images of tensors' memory.
#include "harness/rearrange/images.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <string>

#include "base/error.h"
#include "infinirt.h"

namespace infini::harness {
namespace {

// Itself, on the device (which may be the host), and what is read back.
constexpr uint64_t copies_of_image = 3;
constexpr int64_t guard = 256;  // bytes on both sides that nobody may touch; keeps the base aligned

// What the system could give without ending a process; all of it where it does not say.
uint64_t available_bytes() {
  std::ifstream facts("/proc/meminfo");
  uint64_t kilobytes;
  for (std::string name, unit; facts >> name >> kilobytes; std::getline(facts, unit))
    if (name == "MemAvailable:") return kilobytes << 10;
  return std::numeric_limits<uint64_t>::max();
}

// Unsigned: a span that fits into 63 bits need not do so with what is around it. Linux promises more than it has, and ends
// the process that comes for it: where it is much, it is asked whether `copies` are there.
std::vector<char> allocate(uint64_t bytes, uint64_t copies) {
  constexpr uint64_t much = 1 << 28;
  try {
    if (bytes < much || bytes < available_bytes() / copies) return std::vector<char>(bytes);
  } catch (const std::exception&) {
  }
  fail(INFINI_STATUS_OUT_OF_MEMORY, "the comparison needs ", bytes, " bytes of host memory",
       copies == 1 ? "" : " several times", ", which are not there");
}

}  // namespace

void require_success(infiniStatus_t status, const char* call) {
  require(status == INFINI_STATUS_SUCCESS, status, call, ": ", infiniStatusString(status), ": ",
          infiniGetLastErrorString());
}

Image::Image(const Layout& layout, int64_t misalignment)
    : base(guard - byte_range(layout).begin / 64 * 64 + 64 + misalignment),
      bytes(allocate(
          static_cast<uint64_t>(base) + static_cast<uint64_t>(byte_range(layout).end) + guard,
          copies_of_image)) {}

void fill(std::vector<char>& bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    const uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, 8);
  }
  for (; i < bytes.size(); ++i) bytes[i] = static_cast<char>(random());
}

DeviceImage::DeviceImage(const Image& image) : image_(image) {
  require_success(infinirtMalloc(&memory_, image.bytes.size()), "infinirtMalloc");
  const infiniStatus_t copied =
      infinirtMemcpy(memory_, image.bytes.data(), image.bytes.size(), INFINIRT_MEMCPY_H2D);
  if (copied == INFINI_STATUS_SUCCESS) return;
  const std::string why = infiniGetLastErrorString();
  infinirtFree(memory_);  // the destructor will not run
  fail(copied, "infinirtMemcpy: ", why);
}

DeviceImage::~DeviceImage() { infinirtFree(memory_); }

std::vector<char> DeviceImage::read() const {
  std::vector<char> bytes = allocate(image_.bytes.size(), 1);
  require_success(infinirtMemcpy(bytes.data(), memory_, bytes.size(), INFINIRT_MEMCPY_D2H),
                  "infinirtMemcpy");
  return bytes;
}

infiniopTensorDescriptor_t describe(const Layout& layout) {
  const std::vector<size_t> shape(layout.shape, layout.shape + layout.rank);
  const std::vector<ptrdiff_t> strides(layout.strides, layout.strides + layout.rank);
  infiniopTensorDescriptor_t desc = nullptr;
  require_success(infiniopCreateTensorDescriptor(&desc, shape.size(), shape.data(), strides.data(),
                                                 layout.dtype),
                  "infiniopCreateTensorDescriptor");
  return desc;
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

}  // namespace infini::harness
