// Gemm on NVIDIA GPUs: the candidates and their bids.
#include "backends/nvidia/gemm/gemm.h"

#include <limits>

#include "contract/candidate.h"

namespace infini::nvidia {
namespace {

std::unique_ptr<GemmKernel> make_generic(const GemmContext& context, const GemmPlan& plan) {
  return gpu::make_generic_gemm(context.device, plan);
}
std::unique_ptr<GemmKernel> make_skinny(const GemmContext& context, const GemmPlan& plan) {
  return gpu::make_skinny_gemm(context.device, plan, "skinny");
}

// What needs aligned bases, and what runs where they are not: with the same order of sums, or as few rows.
std::unique_ptr<GemmKernel> make_weights_of_any_base(const GemmContext& context,
                                                     const GemmPlan& plan) {
  return make_weights(context, plan, make_stream(context, plan));
}
std::unique_ptr<GemmKernel> make_boxes_of_any_base(const GemmContext& context,
                                                   const GemmPlan& plan) {
  return make_boxes(context, plan, make_small(context, plan));
}

std::unique_ptr<GemmKernel> make_adding(const GemmContext& context, const GemmPlan& plan) {
  return ring_adds(context.machine, plan) ? make_ring(context, plan) : nullptr;
}

template <auto estimate, auto make>
Bid<GemmKernel> bid(const GemmContext& context, const GemmPlan& plan, double) {
  const GemmEstimate found = estimate(context.machine, plan);
  if (found.nanoseconds == std::numeric_limits<double>::infinity())
    return cannot<GemmKernel>(found.why_not);
  return would_take<GemmKernel>(found.nanoseconds,
                                [&context, &plan] { return make(context, plan); });
}

constexpr Candidate<GemmKernel, GemmContext, GemmPlan> candidates[] = {
    {"weights", bid<estimate_weights, make_weights_of_any_base>},
    {"ring", bid<estimate_ring, make_ring>},
    {"boxes", bid<estimate_boxes, make_boxes_of_any_base>},
    {"small", bid<estimate_small, make_small>},
    {"stream", bid<estimate_stream, make_stream>},
    {"skinny", bid<estimate_skinny, make_skinny>},
    {"lt_padded", bid<estimate_padded, make_padded>},
    {"lt", bid<estimate_lt, make_lt>},
    {"generic", bid<estimate_generic, make_generic>},
};

}  // namespace

int capability(const gpu::GpuDevice& device) {
  int major = 0, minor = 0;
  const bool known =
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.id()) ==
          cudaSuccess &&
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device.id()) == cudaSuccess;
  return known ? 10 * major + minor : 0;
}

std::unique_ptr<GemmKernel> make_gemm(Device& device, const GemmPlan& plan,
                                      const GemmOptions& options, const Choice& choice) {
  auto& gpu_device = static_cast<gpu::GpuDevice&>(device);
  const GemmContext context{gpu_device,
                            options,
                            {gpu_device.facts().model, capability(gpu_device), options.allow_tf32},
                            make_adding};
  return cheapest(candidates, context, fold_batch(plan), choice,
                  {"INFINI_NVIDIA_GEMM", "INFINI_GEMM"});
}

}  // namespace infini::nvidia
