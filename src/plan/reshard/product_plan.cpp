// Making the plans of products over ranks.
#include "plan/reshard/product_plan.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/dtype.h"
#include "base/error.h"
#include "plan/reshard/hash.h"

namespace infini {
namespace {

// Wide enough that a panel's product hides the next panel's messages and C's own traffic.
constexpr int64_t usual_panel = 512;
constexpr int64_t most_message_bytes = int64_t{1} << 30;  // transports count bytes in ints

bool same_cut(const Cut& x, const Cut& y) {
  return x.size == y.size && x.parts == y.parts &&
         (x.parts == 1 || (x.block == y.block && x.bounds == y.bounds));
}

int64_t longest_part(const Cut& cut) {
  int64_t longest = 0;
  for (int part = 0; part < cut.parts; ++part) longest = std::max(longest, cut.part_size(part));
  return longest;
}

// Where the part that holds `index` ends, or its block.
int64_t run_end(const Cut& cut, int64_t index, int part) {
  if (cut.cyclic()) return std::min(cut.size, index - index % cut.block + cut.block);
  return cut.bounds.empty() ? cut.size : cut.bounds[static_cast<size_t>(part) + 1];
}

void require_matrix(const Placement& side, const char* name) {
  require(side.rank() == 2, INFINI_STATUS_BAD_TENSOR_SHAPE, name, " has ", side.rank(),
          " dims; expected 2");
}

}  // namespace

ProductPlan::ProductPlan(infiniDtype_t dtype, const Distribution& c, const Distribution& a,
                         const Distribution& b, int64_t panel)
    : dtype_(dtype), c_(c, "c"), a_(a, "a"), b_(b, "b"), panel_(panel) {
  require(dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16 || dtype == INFINI_DTYPE_F32 ||
              dtype == INFINI_DTYPE_F64,
          INFINI_STATUS_BAD_TENSOR_DTYPE, "products are of f16, bf16, f32 or f64, not of ",
          dtype_name(dtype));
  require(panel >= 0, INFINI_STATUS_BAD_PARAM, "panel is ", panel, "; expected how many k, or 0");
  require_fit();
  ranks_ = 1 + std::max({c_.highest_rank(), a_.highest_rank(), b_.highest_rank()});
  choose_panel();
  make_panels();
  hash_ = Hash().add(2).add(static_cast<int>(dtype)).add(panel_).add(c).add(a).add(b).value();
}

void ProductPlan::require_fit() const {
  require_matrix(c_, "c");
  require_matrix(a_, "a");
  require_matrix(b_, "b");
  const auto& c = c_.distribution().shape;
  const auto& a = a_.distribution().shape;
  const auto& b = b_.distribution().shape;
  require(a[1] == b[0] && c[0] == a[0] && c[1] == b[1], INFINI_STATUS_BAD_TENSOR_SHAPE, "a is ",
          a[0], "x", a[1], ", b is ", b[0], "x", b[1], ", c is ", c[0], "x", c[1],
          "; expected mxk, kxn, mxn");
  require(same_cut(c_.cut(0), a_.cut(0)), INFINI_STATUS_BAD_PARAM,
          "a's rows are cut in another way than c's; reshard a first");
  require(same_cut(c_.cut(1), b_.cut(1)), INFINI_STATUS_BAD_PARAM,
          "b's columns are cut in another way than c's; reshard b first");
}

void ProductPlan::choose_panel() {
  const int64_t across = std::max({longest_part(c_.cut(0)), longest_part(c_.cut(1)), int64_t{1}});
  const int64_t most = most_message_bytes / dtype_bytes(dtype_) / across;
  require(most > 0, INFINI_STATUS_BAD_TENSOR_SHAPE, "a part of ", across,
          " rows or columns is too long for one message");
  require(panel_ <= most, INFINI_STATUS_BAD_PARAM, "panel is ", panel_,
          "; messages of that many k would be over 1 GiB: at most ", most);
  if (panel_ == 0) panel_ = std::min(usual_panel, most);
}

void ProductPlan::make_panels() {
  const Cut &of_a = a_.cut(1), &of_b = b_.cut(0);
  std::map<std::pair<int, int>, std::vector<KRun>> shared;
  for (int64_t k = 0; k < of_a.size;) {
    const int a = of_a.part_of(k), b = of_b.part_of(k);
    const int64_t end = std::min(run_end(of_a, k, a), run_end(of_b, k, b));
    const KRun run{of_a.local_index(k), of_b.local_index(k), end - k};
    auto& runs = shared[{a, b}];
    if (!runs.empty() && runs.back().a + runs.back().count == run.a &&
        runs.back().b + runs.back().count == run.b)
      runs.back().count += run.count;
    else
      runs.push_back(run);
    k = end;
  }
  for (const auto& [parts, runs] : shared) {
    int64_t left = 0;
    for (const KRun& run : runs) left += run.count;
    int64_t pieces = (left + panel_ - 1) / panel_, room = 0;
    for (KRun run : runs)
      while (run.count > 0) {
        if (room == 0) {  // panels of one pair of parts differ by one at most
          room = (left + pieces - 1) / pieces;
          --pieces;
          panels_.push_back({parts.first, parts.second, room, runs_.size(), 0});
        }
        const int64_t taken = std::min(room, run.count);
        runs_.push_back({run.a, run.b, taken});
        ++panels_.back().runs;
        run.a += taken, run.b += taken, run.count -= taken;
        room -= taken, left -= taken;
      }
  }
}

std::vector<int64_t> ProductPlan::shape_of(const Placement& side, int rank) const {
  require(rank >= 0 && rank < ranks_, INFINI_STATUS_BAD_PARAM, "rank is ", rank,
          "; the plan has ranks 0..", ranks_ - 1);
  const int place = side.place_of(rank);
  return place < 0 ? std::vector<int64_t>{0, 0} : side.local_shape(place);
}

// Who gives the rank at `place` of C the part (first, second): itself if it can, else one of the replicas.
int ProductPlan::holder(const Placement& side, int first, int second, int place) const {
  const int rank = c_.rank_at(place), own = side.place_of(rank);
  int parts[2];
  if (own >= 0) {
    side.parts_at(own, parts);
    if (parts[0] == first && parts[1] == second) return rank;
  }
  parts[0] = first, parts[1] = second;
  return side.rank_at(side.place_at(parts, place % side.replicas()));
}

ProductStep ProductPlan::step_of(int place, const int* parts, int number) const {
  const auto count = static_cast<int64_t>(panels_.size());
  const int64_t p = c_.cut(0).parts, q = c_.cut(1).parts;
  // Cannon's skew: i/p + j/q of a turn further on.
  const int64_t start = (parts[0] * q + parts[1] * p) % (p * q) * count / (p * q);
  const auto panel = static_cast<int>((start + number) % count);
  const Panel& one = panels_[static_cast<size_t>(panel)];
  return {panel, holder(a_, parts[0], one.a_part, place), holder(b_, one.b_part, parts[1], place)};
}

void ProductPlan::append_sends(int rank, Factor factor, std::vector<ProductSend>& out) const {
  const Placement& from = side(factor);
  const int own = from.place_of(rank), common = factor == Factor::a ? 0 : 1;
  if (own < 0) return;
  int held[2], parts[2];
  from.parts_at(own, held);
  parts[common] = held[common];
  for (int other = 0; other < c_.cut(1 - common).parts; ++other) {
    parts[1 - common] = other;
    for (int replica = 0; replica < c_.replicas(); ++replica) {
      const int place = c_.place_at(parts, replica), peer = c_.rank_at(place);
      if (peer == rank || c_.cut(0).part_size(parts[0]) * c_.cut(1).part_size(parts[1]) == 0)
        continue;
      for (int number = 0; number < static_cast<int>(panels_.size()); ++number) {
        const ProductStep step = step_of(place, parts, number);
        const Panel& panel = panels_[static_cast<size_t>(step.panel)];
        const bool mine = factor == Factor::a ? step.a_from == rank && panel.a_part == held[1]
                                              : step.b_from == rank && panel.b_part == held[0];
        if (mine) out.push_back({number, peer, factor, step.panel});
      }
    }
  }
}

RankProduct ProductPlan::plan_of(int rank) const {
  RankProduct own;
  const std::vector<int64_t> shape = c_shape(rank);
  if (shape[0] > 0 && shape[1] > 0) {
    const int place = c_.place_of(rank);
    int parts[2];
    c_.parts_at(place, parts);
    for (int number = 0; number < static_cast<int>(panels_.size()); ++number)
      own.steps.push_back(step_of(place, parts, number));
  }
  append_sends(rank, Factor::a, own.sends);
  append_sends(rank, Factor::b, own.sends);
  std::sort(own.sends.begin(), own.sends.end(), [](const ProductSend& x, const ProductSend& y) {
    return std::tie(x.step, x.peer, x.factor) < std::tie(y.step, y.peer, y.factor);
  });
  return own;
}

int64_t ProductPlan::bytes_of(const ProductSend& send) const {
  const std::vector<int64_t> shape = c_shape(send.peer);
  return panels_[static_cast<size_t>(send.panel)].k * shape[send.factor == Factor::a ? 0 : 1] *
         dtype_bytes(dtype_);
}

ProductTraffic traffic_of(const ProductPlan& plan, int rank) {
  const RankProduct own = plan.plan_of(rank);
  ProductTraffic all;
  all.steps = static_cast<int64_t>(own.steps.size());
  all.sends = static_cast<int64_t>(own.sends.size());
  for (const ProductSend& send : own.sends) all.sent_bytes += plan.bytes_of(send);
  const auto receive = [&](const ProductStep& step, Factor factor) {
    ++all.receives;
    all.received_bytes += plan.bytes_of({0, rank, factor, step.panel});
  };
  for (const ProductStep& step : own.steps) {
    if (step.a_from != rank) receive(step, Factor::a);
    if (step.b_from != rank) receive(step, Factor::b);
  }
  return all;
}

}  // namespace infini
