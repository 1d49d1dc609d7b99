// Assigning recorded steps to lanes by what they read and write.
#include "tensor/graph/lanes.h"

#include <algorithm>
#include <array>

namespace infinicore::detail {
namespace {

constexpr size_t none = SIZE_MAX;
constexpr size_t most_steps = 4096;  // comparing all pairs of more would take too long

// What a step writes, and all that it touches.
struct Touch {
  explicit Touch(const Step& step) {
    for (const Tensor& tensor : step.operands()) touched.push_back(span_of(*tensor.operator->()));
    if (!touched.empty()) written.push_back(touched.front());  // the destination comes first
    if (const auto workspace = step.workspace_span(); workspace.begin != workspace.end) {
      written.push_back(workspace);
      touched.push_back(workspace);
    }
  }
  bool writes_into(const Touch& other) const {
    return std::any_of(written.begin(), written.end(), [&](const Span& own) {
      return std::any_of(other.touched.begin(), other.touched.end(),
                         [&](const Span& theirs) { return overlap(own, theirs); });
    });
  }
  std::vector<Span> written, touched;
};

class Planner {
 public:
  explicit Planner(const std::vector<const Step*>& steps) {
    for (const Step* step : steps) touches_.emplace_back(*step);
    last_.fill(none);
    for (auto& row : seen_) row.fill(none);
    find_heirs(steps);
  }

  std::vector<LaneStep> plan() {
    for (size_t i = 0; i < touches_.size(); ++i) place(i);
    return std::move(lanes_);
  }

 private:
  using PerLane = std::array<size_t, most_lanes>;  // the index of a step, or none

  bool depend(size_t i, size_t j) const {
    return touches_[i].writes_into(touches_[j]) || touches_[j].writes_into(touches_[i]);
  }

  // Of all steps that need step i its heir begins the longest way to the end: what follows in the
  // same lane begins sooner than what waits in another one. Products of small matrices take about
  // twice as long as copies of them.
  void find_heirs(const std::vector<const Step*>& steps) {
    std::vector<size_t> ways(steps.size());  // from the beginning of a step to the end of all
    heirs_.assign(steps.size(), none);
    for (size_t i = steps.size(); i-- > 0;) {
      size_t longest = 0;
      for (size_t j = i + 1; j < steps.size(); ++j) {
        if (ways[j] <= longest || !depend(i, j)) continue;
        longest = ways[j];
        heirs_[i] = j;
      }
      ways[i] = longest + (steps[i]->is_copy() ? 1 : 2);
    }
  }

  // The latest step of each lane that must be done before step i.
  PerLane needs_of(size_t i) const {
    PerLane needs;
    needs.fill(none);
    for (size_t j = 0; j < i; ++j)
      if (depend(i, j)) needs[lanes_[j].lane] = j;
    return needs;
  }

  // Behind the latest step whose heir it is, if nothing came after that one; else where it is longest
  // quiet.
  size_t choose(size_t i, const PerLane& needs) const {
    size_t best = none;
    for (size_t lane = 0; lane < most_lanes; ++lane)
      if (needs[lane] != none && needs[lane] == last_[lane] && heirs_[needs[lane]] == i)
        if (best == none || needs[lane] > needs[best]) best = lane;
    if (best != none) return best;
    return static_cast<size_t>(std::min_element(last_.begin(), last_.end(),
                                                [](size_t a, size_t b) {
                                                  return a + 1 < b + 1;
                                                }) -  // none counts as least
                               last_.begin());
  }

  void place(size_t i) {
    const PerLane needs = needs_of(i);
    const size_t lane = choose(i, needs);
    LaneStep step{lane, {}};
    for (size_t other = 0; other < most_lanes; ++other) {
      size_t& seen = seen_[lane][other];
      if (other == lane || needs[other] == none || (seen != none && seen >= needs[other])) continue;
      step.waits.push_back(needs[other]);
      seen = needs[other];
    }
    last_[lane] = i;
    lanes_.push_back(std::move(step));
  }

  std::vector<Touch> touches_;
  std::vector<size_t> heirs_;  // by step; none where nothing needs it
  std::vector<LaneStep> lanes_;
  PerLane last_;                          // of each lane
  std::array<PerLane, most_lanes> seen_;  // what each lane has waited for in the others
};

}  // namespace

std::vector<LaneStep> plan_lanes(const std::vector<const Step*>& steps) {
  if (steps.size() > most_steps) return std::vector<LaneStep>(steps.size(), LaneStep{0, {}});
  return Planner(steps).plan();
}

}  // namespace infinicore::detail
