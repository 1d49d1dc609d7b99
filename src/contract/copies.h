// Many copies at once, prepared by a backend: batches and pages.
//
// As all kernels these are immutable for their users: many threads may run one at once on different streams. What they
// keep between runs (tables on their way to the device) they guard themselves.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "contract/kernels.h"
#include "plan/rearrange/paged_plan.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini {

// What a batch is made of: one plan for all copies, or one for each. The kernels run one copy each; null where nothing
// moves. Both outlive what is made of them: the kernels; not the plans.
struct BatchParts {
  const std::vector<RearrangePlan>& plans;
  const std::vector<const RearrangeKernel*>& kernels;
};

class BatchKernel {
 public:
  virtual ~BatchKernel() = default;
  // Copy i moves src[i] to dst[i]; no copy overlaps itself or another. The pointers are read before it returns.
  virtual void run(size_t count, void* const* dst, const void* const* src, void* stream) const = 0;
  virtual std::string schedule() const { return {}; }
};

// One run of a paged copy: a base pointer for each layer on both sides. Ids of the host have been checked.
struct PagedRun {
  size_t count = 0;
  void* const* dst = nullptr;
  const void* dst_ids = nullptr;  // null: pieces 0, 1, 2, …
  const void* const* src = nullptr;
  const void* src_ids = nullptr;
  void* stream = nullptr;
};

class PagedKernel : public std::enable_shared_from_this<PagedKernel> {
 public:
  virtual ~PagedKernel() = default;
  virtual void run(const PagedRun& run) const = 0;
  // Waits for the stream and throws BAD_PARAM when a run since the last question met a bad id.
  virtual void check(void* /*stream*/) const {}
  virtual const char* candidate() const = 0;
  virtual std::string schedule() const { return {}; }
};

}  // namespace infini
