// A prepared operator as it is told to people and programs: its plan, what it moves, which kernel takes it, what that
// expects, and what the others would.
#pragma once

#include <string>
#include <vector>

#include "base/export.h"
#include "base/json.h"
#include "contract/choice.h"
#include "ops/gemm.h"
#include "ops/operator.h"
#include "ops/rearrange.h"

namespace infini {

struct Planned {
  std::string picture;  // lines for people, each ended: axes and steps, what is read and written
  infiniDevice_t kind = INFINI_DEVICE_CPU;
  std::string candidate, schedule;  // empty: nothing to do
  std::vector<BidLine> bids;        // the cheapest first
  double flops = 0;                 // of a product
  double copy_nanoseconds = 0;      // expected of a copy of as many bytes; 0: nobody knows
  JsonObject json;                  // what is known of the plan alone
};

// Asks every candidate again: some microseconds.
INFINI_TOOL_EXPORT Planned planned(const Rearrange& op);
INFINI_TOOL_EXPORT Planned planned(const Gemm& op);
INFINI_TOOL_EXPORT Planned planned(const Operator& op);

// The kernel, what it expects and the next best; empty when there is nothing to do. Lines, each ended.
INFINI_TOOL_EXPORT std::string choice_lines(const Planned& planned);
// Every candidate with its bid, or why it cannot. Lines, each ended.
INFINI_TOOL_EXPORT std::string bid_lines(const Planned& planned);
// All of it, as one object.
INFINI_TOOL_EXPORT JsonObject json_of(const Planned& planned);

// What a product reads and writes at least; a batch that is shared counts once.
double compulsory_bytes(const GemmPlan& plan);

// {"dtype": "f32", "shape": [2, 3], "strides": [3, 1]}
INFINI_TOOL_EXPORT std::string layout_json(const Layout& layout);

}  // namespace infini
