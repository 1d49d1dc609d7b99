// Parts of destination shards.
#include "plan/reshard/parts.h"

#include <algorithm>

#include "base/error.h"

namespace infini {
namespace {

struct Both {  // of one dim
  IndexRange dst, src;
};

// A pattern as ranges: its innermost loop, once for every turn of the others.
void append_ranges(const Pattern& pattern, std::vector<Both>& out) {
  const size_t first = out.size();
  out.push_back({{pattern.dst_start, 1, 1}, {pattern.src_start, 1, 1}});
  for (int i = 0; i + 1 < pattern.depth; ++i) {
    const Level& outer = pattern.levels[i];
    const std::vector<Both> one(out.begin() + static_cast<ptrdiff_t>(first), out.end());
    for (int64_t turn = 1; turn < outer.extent; ++turn)
      for (Both both : one) {
        both.dst.start += turn * outer.dst_stride;
        both.src.start += turn * outer.src_stride;
        out.push_back(both);
      }
  }
  if (pattern.depth == 0) return;
  const Level& inner = pattern.levels[pattern.depth - 1];
  for (size_t i = first; i < out.size(); ++i) {
    out[i].dst.count = out[i].src.count = inner.extent;
    out[i].dst.step = inner.dst_stride;
    out[i].src.step = inner.src_stride;
  }
}

class PartWriter {
 public:
  PartWriter(const ReshardPlan& plan, int rank) : plan_(plan), rank_(rank) {
    const int place = plan.source().place_of(rank);
    if (place >= 0) plan.source().parts_at(place, own_);
    holds_ = place >= 0;
    plan.destination_parts(plan.destination().place_of(rank), wanted_);
    current_.dst.resize(static_cast<size_t>(plan.dims()));
    current_.src.resize(static_cast<size_t>(plan.dims()));
  }
  std::vector<ShardPart> write() {
    meet(0);
    return std::move(out_);
  }

 private:
  // Every combination of source parts that share something with this destination, dim by dim.
  void meet(int dim) {
    if (dim == plan_.dims()) {
      current_.source = source();
      return range(0);
    }
    for (const Meeting& meeting : plan_.overlap(dim).of_destination(wanted_[dim])) {
      met_[dim] = meeting.part;
      ranges_[dim].clear();
      std::vector<Pattern> patterns;
      plan_.overlap(dim).append_patterns(meeting.part, wanted_[dim], patterns);
      for (const Pattern& pattern : patterns) append_ranges(pattern, ranges_[dim]);
      meet(dim + 1);
    }
  }
  void range(int dim) {
    if (dim == plan_.dims()) return out_.push_back(current_);
    const auto& order = plan_.order();
    size_t to = 0;  // the destination's dim
    while (order[to] != dim) ++to;
    for (const Both& both : ranges_[dim]) {
      current_.dst[to] = both.dst;
      current_.src[static_cast<size_t>(dim)] = both.src;
      range(dim + 1);
    }
  }
  int source() const {
    if (holds_ && std::equal(own_, own_ + plan_.dims(), met_)) return rank_;
    const Placement& from = plan_.source();
    return from.rank_at(from.place_at(met_, rank_ % from.replicas()));
  }

  const ReshardPlan& plan_;
  const int rank_;
  bool holds_;
  int own_[max_reshard_rank] = {}, wanted_[max_reshard_rank] = {}, met_[max_reshard_rank] = {};
  std::vector<Both> ranges_[max_reshard_rank];
  ShardPart current_;
  std::vector<ShardPart> out_;
};

}  // namespace

std::vector<ShardPart> parts_of(const ReshardPlan& plan, int rank) {
  require(rank >= 0 && rank < plan.ranks(), INFINI_STATUS_BAD_PARAM, "rank is ", rank,
          "; the plan has ranks 0..", plan.ranks() - 1);
  if (plan.destination().place_of(rank) < 0) return {};
  return PartWriter(plan, rank).write();
}

}  // namespace infini
