// Choices that no cost explains yet: each a debt, with the line of a bench that shows it.
#pragma once

#include <span>
#include <string>

#include "plan/rearrange/rearrange_plan.h"

namespace infini::cpu {

struct Pin {
  const char* about;  // the class of plans, in words
  bool (*is_one)(const RearrangePlan& plan);
  const char* candidate;
  const char* machine;   // a profile's name
  const char* shown_by;  // `infini bench --regret` of a problem, and what it said
};

std::span<const Pin> pins();

// The candidate that is pinned for this plan on such a machine, or null.
const char* pinned_candidate(const std::string& machine, const RearrangePlan& plan);

}  // namespace infini::cpu
