// What all schedules have in common.
#include "backends/cpu/rearrange/schedule.h"

#include <algorithm>
#include <ostream>

#include "base/checked.h"

namespace infini::cpu {

int threads_for(int64_t bytes, const Policy& policy) {
  const int64_t wanted = bytes / policy.bytes_per_thread;
  return wanted <= 1 ? 1 : static_cast<int>(std::min<int64_t>(wanted, policy.threads));
}

bool beyond_caches(const RearrangePlan& plan, const Policy& policy) {
  const int64_t bytes = moved_bytes(plan);
  return saturating_add(bytes, distinct_source_bytes(plan)) / (2 * threads_for(bytes, policy)) >=
         policy.streamed_bytes;
}

void print_loops(std::ostream& text, const char* name, const std::vector<Loop>& loops) {
  text << name;
  if (loops.empty()) text << " none";
  for (const Loop& loop : loops)
    text << " " << loop.extent << "(dst " << loop.dst_step << ", src " << loop.src_step << ")";
  text << "\n";
}

}  // namespace infini::cpu
