// A backend: one constant table that says what a kind of device offers.
//
// The CPU's is built in; each other backend is a module libinfini-<name>.so that exports
// `extern "C" const infini::Backend* infini_backend()`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/environment.h"
#include "contract/choice.h"
#include "contract/copies.h"
#include "contract/device.h"
#include "contract/kernels.h"
#include "plan/gemm/gemm_plan.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini {

// Raised whenever Backend, Device, the kernels or the plans change: a module made for another
// version is not used.
constexpr uint32_t contract_version = 7;

struct GemmOptions {
  bool allow_tf32 = false;  // f32 products may lose mantissa bits for speed
};

// A null slot: the backend does not offer this operator. A returned null: it declines this plan.
struct KernelTable {
  std::unique_ptr<RearrangeKernel> (*rearrange)(Device&, const RearrangePlan&,
                                                const Choice&) = nullptr;
  // Optional: without it, or where it declines, the copies of a batch run one after another.
  std::unique_ptr<BatchKernel> (*rearrange_batch)(Device&, const BatchParts&) = nullptr;
  // Optional: without it, or where it declines, pieces run one after another, and ids must be the host's.
  std::unique_ptr<PagedKernel> (*rearrange_paged)(Device&, const PagedPlan&) = nullptr;
  std::unique_ptr<GemmKernel> (*gemm)(Device&, const GemmPlan&, const GemmOptions&,
                                      const Choice&) = nullptr;
  std::unique_ptr<OperatorKernel> (*operators)(Device&, const OperatorPlan&,
                                               const Choice&) = nullptr;
};

struct Backend {
  uint32_t version = contract_version;
  const char* name = "";
  infiniDevice_t kind = INFINI_DEVICE_CPU;
  // Never throws; when it is 0, why_none says in words why there is no device.
  int (*device_count)(std::string& why_none) = nullptr;
  std::unique_ptr<Device> (*open)(int id) = nullptr;
  KernelTable kernels;
  // A module reads the environment through the library that opens it.
  void (*adopt_environment)(const EnvironmentSource&) = &infini::adopt_environment;
};

}  // namespace infini

// What a module exports.
extern "C" INFINI_EXPORT const infini::Backend* infini_backend();
