// The list of pins. It is to get shorter.
#include "backends/cpu/rearrange/pins.h"

namespace infini::cpu {
namespace {

// Every second word of long rows, from memory.
bool is_every_second_word(const RearrangePlan& plan) {
  if (plan.depth == 0) return false;
  const Loop& inner = plan.loops[plan.depth - 1];
  return plan.atom_bytes == 4 && inner.dst_step == 4 && inner.src_step == 8 &&
         moved_bytes(plan) >= 32 << 20;
}

// Long rows into every second place of dst, in memory.
bool is_every_second_place(const RearrangePlan& plan) {
  if (plan.depth == 0) return false;
  const Loop& inner = plan.loops[plan.depth - 1];
  return plan.atom_bytes <= 8 && inner.src_step == plan.atom_bytes &&
         inner.dst_step == 2 * plan.atom_bytes && inner.extent >= 1000 &&
         moved_bytes(plan) >= 8 << 20;
}

constexpr Pin list[] = {
    {"every second word of 4 bytes, from memory", is_every_second_word, "shuffle", "zen4",
     "rearrange f32 4096x4096 src=8192,2: runs 3.73 ms, shuffle 2.89 ms"},
    {"every second place of dst, in memory", is_every_second_place, "shuffle", "zen5",
     "rearrange f32 8192x8192 dst=16384,2: nest 24.5 ms, runs 20.0 ms, shuffle 13.1 ms"},
};

}  // namespace

std::span<const Pin> pins() { return list; }

const char* pinned_candidate(const std::string& machine, const RearrangePlan& plan) {
  for (const Pin& pin : list)
    if (machine == pin.machine && pin.is_one(plan)) return pin.candidate;
  return nullptr;
}

}  // namespace infini::cpu
