// Making reshard plans and the plans of single ranks.
#include "plan/reshard/reshard_plan.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/dtype.h"
#include "base/error.h"
#include "plan/reshard/exchange.h"
#include "plan/reshard/hash.h"

namespace infini {
namespace {

constexpr auto bad = INFINI_STATUS_BAD_PARAM;

enum class Direction { send, receive, local };

// Writes the boxes of exchanges into a rank's plan.
class BoxWriter {
 public:
  BoxWriter(const ReshardPlan& plan, RankPlan& out, std::vector<int64_t> dst_strides,
            std::vector<int64_t> src_strides)
      : plan_(plan),
        out_(out),
        dst_strides_(std::move(dst_strides)),
        src_strides_(std::move(src_strides)) {}

  Message write(const Exchange& exchange, Direction direction) {
    Message message{exchange.peer, exchange.end - exchange.begin, out_.boxes.size(), 0};
    direction_ = direction;
    position_ = 0;
    patterns_.take(plan_, exchange);
    int64_t passed = 0;
    patterns_.each_box(plan_.dims(), [&](const Pattern* const* chosen, int64_t elements) {
      const int64_t begin = std::max<int64_t>(exchange.begin - passed, 0);
      const int64_t end = std::min(exchange.end - passed, elements);
      passed += elements;
      if (begin >= end) return;
      take_nest(chosen);
      write_range(0, dst_start_, src_start_, elements, begin, end);
    });
    message.boxes = out_.boxes.size() - message.first_box;
    return message;
  }

 private:
  void take_nest(const Pattern* const* chosen) {
    nest_.clear();
    dst_start_ = src_start_ = 0;
    for (int i = 0; i < plan_.dims(); ++i) {
      const auto dim = static_cast<size_t>(plan_.wire_order()[static_cast<size_t>(i)]);
      dst_start_ += chosen[i]->dst_start * dst_strides_[dim];
      src_start_ += chosen[i]->src_start * src_strides_[dim];
      for (const Level* level = chosen[i]->levels; level != chosen[i]->levels + chosen[i]->depth;
           ++level)
        nest_.push_back({level->extent, level->dst_stride * dst_strides_[dim],
                         level->src_stride * src_strides_[dim]});
    }
  }

  // Elements begin..end of the nest's loops from `loop` on, which have `elements`: whole nests, cut where the range ends.
  void write_range(size_t loop, int64_t dst, int64_t src, int64_t elements, int64_t begin,
                   int64_t end) {
    if (begin >= end) return;
    if (begin == 0 && end == elements) return write_box(loop, 0, dst, src, elements);
    const BoxLoop& outer = nest_[loop];
    const int64_t inner = elements / outer.extent, first = begin / inner, last = end / inner;
    const auto deeper = [&](int64_t at, int64_t from, int64_t to) {
      write_range(loop + 1, dst + at * outer.dst_stride, src + at * outer.src_stride, inner, from,
                  to);
    };
    if (first == last) return deeper(first, begin % inner, end % inner);
    if (begin % inner != 0) deeper(first, begin % inner, inner);
    const int64_t whole = ceil_div(begin, inner);
    if (last > whole)
      write_box(loop, last - whole, dst + whole * outer.dst_stride, src + whole * outer.src_stride,
                (last - whole) * inner);
    deeper(last, 0, end % inner);
  }

  // `extent` is that of the outermost loop where it is not all of it.
  void write_box(size_t loop, int64_t extent, int64_t dst, int64_t src, int64_t elements) {
    Box box{dst, src, elements, out_.loops.size(), nest_.size() - loop};
    out_.loops.insert(out_.loops.end(), nest_.begin() + static_cast<ptrdiff_t>(loop), nest_.end());
    if (extent > 0) out_.loops[box.first_loop].extent = extent;
    if (direction_ != Direction::local) {
      (direction_ == Direction::send ? box.dst_start : box.src_start) = position_;
      int64_t stride = 1;
      for (size_t i = out_.loops.size(); i-- > box.first_loop;) {
        (direction_ == Direction::send ? out_.loops[i].dst_stride : out_.loops[i].src_stride) =
            stride;
        stride *= out_.loops[i].extent;
      }
    }
    position_ += elements;
    out_.boxes.push_back(box);
  }

  const ReshardPlan& plan_;
  RankPlan& out_;
  const std::vector<int64_t> dst_strides_, src_strides_;  // by dims of the source
  Direction direction_ = Direction::local;
  Patterns patterns_;
  std::vector<BoxLoop> nest_;
  int64_t dst_start_ = 0, src_start_ = 0, position_ = 0;
};

std::vector<int64_t> strides_or_row_major(const std::vector<int64_t>& given,
                                          const std::vector<int64_t>& shape, const char* name) {
  if (!given.empty()) {
    require(given.size() == shape.size(), bad, name, " has ", given.size(), " strides for ",
            shape.size(), " dims");
    return given;
  }
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

int64_t end_of_piece(const ReshardPlan& plan, const Exchange& whole, int64_t begin,
                     const LongestMessage& longest) {
  if (!longest.elements) return whole.end;
  const int64_t most = longest.elements(whole.peer);
  require(most > 0, bad, "messages have ", most, " elements; expected at least 1");
  if (most >= whole.end - begin) return whole.end;
  const int64_t rounded = round_cut(plan, whole, begin + most, most);
  return rounded > begin ? rounded : begin + most;
}

void require_size(infiniDtype_t dtype, const Placement& destination) {
  require(dtype_bytes(dtype) > 0, INFINI_STATUS_BAD_TENSOR_DTYPE, "dtype is ",
          static_cast<int>(dtype), "; expected a number from 1 (byte) to 19 (bf16)");
  int64_t bytes = saturating_mul(dtype_bytes(dtype), destination.replicas());
  for (const int64_t size : destination.distribution().shape)
    bytes = saturating_mul(bytes, std::max<int64_t>(size, 1));
  require(bytes < INT64_MAX, INFINI_STATUS_BAD_TENSOR_SHAPE,
          "the tensor and its replicas have more than 2^63 - 1 bytes");
}

}  // namespace

ReshardPlan::ReshardPlan(infiniDtype_t dtype, const Distribution& destination,
                         const Distribution& source, std::vector<int> order)
    : dtype_(dtype),
      source_(source, "source"),
      destination_(destination, "destination"),
      order_(std::move(order)) {
  require_size(dtype, destination_);
  require_size(dtype, source_);
  require(source_.rank() == destination_.rank(), INFINI_STATUS_BAD_TENSOR_SHAPE, "the source has ",
          source_.rank(), " dims and the destination ", destination_.rank());
  take_order();
  for (int dim = 0; dim < dims(); ++dim) {
    const int64_t to = destination_.cut(inverse_[static_cast<size_t>(dim)]).size;
    require(to == source_.cut(dim).size, INFINI_STATUS_BAD_TENSOR_SHAPE, "dim ", dim,
            " of the source has ", source_.cut(dim).size, " elements, dim ",
            inverse_[static_cast<size_t>(dim)], " of the destination, which is the same, ", to);
    overlaps_.emplace_back(destination_.cut(inverse_[static_cast<size_t>(dim)]), source_.cut(dim));
  }
  choose_wire_order();
  ranks_ = std::max(source_.highest_rank(), destination_.highest_rank()) + 1;
  hash_ =
      Hash().add(1).add(static_cast<int>(dtype_)).add(order_).add(source).add(destination).value();
}

void ReshardPlan::take_order() {
  if (order_.empty()) {
    order_.resize(static_cast<size_t>(dims()));
    std::iota(order_.begin(), order_.end(), 0);
  }
  require(order_.size() == static_cast<size_t>(dims()), bad, "the order has ", order_.size(),
          " dims, the tensor ", dims());
  inverse_.assign(order_.size(), -1);
  for (size_t i = 0; i < order_.size(); ++i) {
    require(order_[i] >= 0 && order_[i] < dims() && inverse_[static_cast<size_t>(order_[i])] < 0,
            bad, "order[", i, "] is ", order_[i], "; expected each of 0..", dims() - 1, " once");
    inverse_[static_cast<size_t>(order_[i])] = static_cast<int>(i);
  }
}

// In the destination's order the sender transposes and the receiver copies; in the source's the other way round. The source's is
// better where what is sent then lies in one piece and needs no packing at all, and the destination's would not.
void ReshardPlan::choose_wire_order() {
  const auto whole =
      [&](int dim, bool source) {  // does every part of this side meet one of the other at most?
        const int parts = source ? source_.cut(dim).parts
                          : overlaps_.empty()
                              ? 1
                              : destination_.cut(inverse_[static_cast<size_t>(dim)]).parts;
        for (int part = 0; part < parts; ++part)
          if ((source ? overlap(dim).of_source(part) : overlap(dim).of_destination(part)).size() >
              1)
            return false;
        return true;
      };
  bool source_in_one = true, destination_in_one = true;
  for (int i = 1; i < dims(); ++i) {
    source_in_one = source_in_one && whole(i, true);
    destination_in_one = destination_in_one && whole(order_[static_cast<size_t>(i)], false);
  }
  wire_order_ = order_;
  if (source_in_one && !destination_in_one) std::iota(wire_order_.begin(), wire_order_.end(), 0);
}

void ReshardPlan::destination_parts(int place, int* parts) const {
  int own[max_reshard_rank];
  destination_.parts_at(place, own);
  for (size_t i = 0; i < order_.size(); ++i) parts[order_[i]] = own[i];
}

int ReshardPlan::destination_place(const int* parts, int replica) const {
  int own[max_reshard_rank];
  for (size_t i = 0; i < order_.size(); ++i) own[i] = parts[order_[i]];
  return destination_.place_at(own, replica);
}

std::vector<int64_t> ReshardPlan::src_shape(int rank) const {
  const int place = source_.place_of(rank);
  return place < 0 ? std::vector<int64_t>(static_cast<size_t>(dims()), 0)
                   : source_.local_shape(place);
}

std::vector<int64_t> ReshardPlan::dst_shape(int rank) const {
  const int place = destination_.place_of(rank);
  return place < 0 ? std::vector<int64_t>(static_cast<size_t>(dims()), 0)
                   : destination_.local_shape(place);
}

RankPlan ReshardPlan::plan_of(int rank, const ShardStrides& strides,
                              const LongestMessage& longest) const {
  require(rank >= 0 && rank < ranks_, bad, "rank is ", rank, "; the plan has ranks 0..",
          ranks_ - 1);
  const auto own = strides_or_row_major(strides.dst, dst_shape(rank), "dst");
  std::vector<int64_t> dst(own.size());
  for (size_t i = 0; i < order_.size(); ++i) dst[static_cast<size_t>(order_[i])] = own[i];
  RankPlan out;
  BoxWriter writer(*this, out, dst, strides_or_row_major(strides.src, src_shape(rank), "src"));
  Exchange local;
  const bool holds_some = local_exchange(*this, rank, local);
  const auto write = [&](auto append, Direction direction, std::vector<Message>& messages) {
    std::vector<Exchange> exchanges;
    append(*this, rank, exchanges);
    if (longest.to_itself && holds_some) exchanges.push_back(local);
    std::sort(exchanges.begin(), exchanges.end(),
              [](const Exchange& a, const Exchange& b) { return a.peer < b.peer; });
    for (const Exchange& whole : exchanges)
      for (Exchange piece = whole; piece.begin < whole.end; piece.begin = piece.end) {
        piece.end = end_of_piece(*this, whole, piece.begin, longest);
        messages.push_back(writer.write(piece, direction));
      }
  };
  write(append_sends, Direction::send, out.sends);
  write(append_receives, Direction::receive, out.receives);
  if (holds_some) out.local = writer.write(local, Direction::local);
  return out;
}

RearrangePlan plan_of(const Box& box, const BoxLoop* loops, infiniDtype_t dtype) {
  Layout dst, src;
  dst.dtype = src.dtype = dtype;
  require(box.loops <= max_rank, bad, "a box has ", box.loops, " loops; at most ", max_rank,
          " are possible");
  dst.rank = src.rank = static_cast<int>(box.loops);
  for (size_t i = 0; i < box.loops; ++i) {
    const BoxLoop& loop = loops[box.first_loop + i];
    dst.shape[i] = src.shape[i] = loop.extent;
    dst.strides[i] = loop.dst_stride;
    src.strides[i] = loop.src_stride;
  }
  RearrangePlan plan = make_rearrange_plan(dst, src);
  plan.dst_offset += box.dst_start * dtype_bytes(dtype);
  plan.src_offset += box.src_start * dtype_bytes(dtype);
  return plan;
}

}  // namespace infini
