// Checking a rearrange problem on the current device.
#include "harness/rearrange/check.h"

#include "base/device_kind.h"
#include "harness/rearrange/images.h"
#include "harness/rearrange/reference.h"
#include "infiniop.h"

namespace infini::harness {
namespace {

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

void run_on_device(const RearrangeProblem& problem, void* dst, const void* src,
                   infinirtStream_t stream) {
  Objects objects;
  require_success(infiniopCreateHandle(&objects.handle), "infiniopCreateHandle");
  objects.dst = describe(problem.dst);
  objects.src = describe(problem.src);
  require_success(
      infiniopCreateRearrangeDescriptor(objects.handle, &objects.desc, objects.dst, objects.src),
      "infiniopCreateRearrangeDescriptor");
  require_success(infiniopRearrange(objects.desc, dst, src, stream), "infiniopRearrange");
  require_success(infinirtStreamSynchronize(stream), "infinirtStreamSynchronize");
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
