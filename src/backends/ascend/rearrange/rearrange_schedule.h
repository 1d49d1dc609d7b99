// How a rearrange plan is carried out on an Ascend chip, as plain data: pure host code, no SDK.
//
// The chip offers no kernel for arbitrary strides. It has copy engines (flat and 2-D) and operators
// on strided views, which run on the fast AI Core only for some destinations and on the slow AI CPU
// for the rest. A schedule is a short list of steps, each one vendor call repeated over outer
// loops, that stays with the fast ones; where no single step can, it goes through dense memory in
// between.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/ascend/chip_model.h"
#include "contract/choice.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini::ascend {

// The vendor calls. `view_copy` is aclnnInplaceCopy; `flip` is aclnnFlip, for negative source
// steps.
enum class Method { copy, copy_2d, view_copy, flip };
// Where a step writes and reads: the client's memory, or one of two dense buffers.
enum class Place { client, stage_0, stage_1 };

// A rearrange plan whose loops may stand in any order.
struct Nest {
  int64_t atom_bytes = 0, dst_offset = 0, src_offset = 0;
  std::vector<Loop> loops;  // outermost first
};

struct Step {
  Method method = Method::copy;
  Place to = Place::client, from = Place::client;
  Nest nest;
  size_t outer = 0;     // this many outermost loops are run by the host, one call per point
  int64_t element = 1;  // bytes of the integers that an operator sees: 1, 2, 4 or 8
};

struct Schedule {
  const char* candidate = "";
  std::vector<Step> steps;
  int64_t stage_bytes[2] = {0, 0};
};

// What operators see of a step's inner part: dims and strides in elements, innermost last.
struct OperatorView {
  int rank = 0;
  int64_t dims[8], dst_strides[8], src_dims[8],
      src_strides[8];  // src_dims is 1 where src broadcasts
  bool flipped[8];
  int64_t src_low = 0;  // bytes from the source's first element to the lowest one, <= 0
  int64_t dst_elements = 0, src_elements = 0;  // from the lowest element to one past the highest
};

constexpr int max_operator_rank = 8;

// The largest of 1, 2, 4, 8 that divides the atom and every step.
int64_t natural_element(const RearrangePlan& plan);

// The cheapest of the candidates, by calls and bytes; one of them takes everything. `alignment` (1, 2, 4 or 8) divides
// both sides' first addresses.
Schedule make_schedule(const RearrangePlan& plan, int64_t alignment, const Choice& choice = {});
// With copy engines and dense operators alone: what is left when the operators refuse a source.
Schedule make_engine_schedule(const RearrangePlan& plan, int64_t alignment);

// Expected on such a chip; and what no schedule can be below: bytes are written once.
double nanoseconds(const ChipModel& chip, const Schedule& schedule);
double least_ns(const ChipModel& chip, const Nest& nest);

OperatorView operator_view(const Step& step);
int64_t launches(const Step& step);
int64_t launches(const Schedule& schedule);
// Whether the AI Core writes this destination (rank <= 8, dims >= 1, strides in elements).
bool ai_core_writes(int rank, const int64_t* dims, const int64_t* strides);

std::string to_string(const Schedule& schedule);

}  // namespace infini::ascend
