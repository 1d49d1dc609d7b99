// The paged plan against its definition: every copy's bytes, ids good and bad.
#include "plan/rearrange/paged_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"

namespace infini {
namespace {

using Pairs = std::map<int64_t, int64_t>;  // src byte of each dst byte

// A layout of this shape whose dims lie in a random order, with gaps.
Layout random_layout(std::mt19937& random, const std::vector<size_t>& shape, int64_t& span) {
  std::vector<size_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  std::vector<ptrdiff_t> strides(shape.size());
  span = 1 + static_cast<int64_t>(random() % 2);
  for (const size_t dim : order) {
    strides[dim] = span;
    span = span * static_cast<int64_t>(shape[dim]) + static_cast<int64_t>(random() % 3);
  }
  return make_layout(INFINI_DTYPE_U16, shape.size(), shape.data(), strides.data());
}

PagedSideOptions random_side(std::mt19937& random, int64_t span) {
  PagedSideOptions side;
  side.pages = static_cast<int64_t>(random() % 5);
  side.pieces = 1 + static_cast<int64_t>(random() % 3);
  side.piece_stride = span + static_cast<int64_t>(random() % 3);
  side.pitch = side.pieces * side.piece_stride + static_cast<int64_t>(random() % 3);
  side.whole_pages = random() % 2 == 0;
  return side;
}

// The definition, element by element; -1: a bad id.
int64_t element_of(const PagedSideOptions& side, const std::vector<int64_t>& ids, int64_t copy) {
  int64_t number = copy;
  if (!ids.empty() && side.whole_pages) {
    const int64_t page = ids[static_cast<size_t>(copy / side.pieces)];
    if (page < 0) return -1;
    number = page * side.pieces + copy % side.pieces;
  } else if (!ids.empty()) {
    number = ids[static_cast<size_t>(copy)];
  }
  if (number < 0) return -1;
  if (side.pages > 0 && number / side.pieces >= side.pages) return -1;
  return number / side.pieces * side.pitch + number % side.pieces * side.piece_stride;
}

void add_element(const Layout& dst, const Layout& src, const std::vector<int64_t>& index,
                 int64_t to, int64_t from, Pairs& pairs) {
  for (int d = 0; d < dst.rank; ++d) {
    to += index[static_cast<size_t>(d)] * dst.strides[d];
    from += index[static_cast<size_t>(d)] * src.strides[d];
  }
  for (int64_t b = 0; b < 2; ++b) pairs[to * 2 + b] = from * 2 + b;
}

Pairs by_definition(const Layout& dst, const Layout& src, int64_t to, int64_t from) {
  Pairs pairs;
  std::vector<int64_t> index(static_cast<size_t>(dst.rank), 0);
  for (int64_t left = element_count(dst); left > 0; --left) {
    add_element(dst, src, index, to, from, pairs);
    for (int d = dst.rank; d-- > 0;) {
      if (++index[static_cast<size_t>(d)] < dst.shape[d]) break;
      index[static_cast<size_t>(d)] = 0;
    }
  }
  return pairs;
}

Pairs by_plan(const RearrangePlan& plan, int64_t to, int64_t from) {
  Pairs pairs;
  const int64_t atoms = atom_count(plan);
  for (int64_t n = 0; n < atoms; ++n) {
    int64_t rest = n, dst = to + plan.dst_offset, src = from + plan.src_offset;
    for (int i = plan.depth; i-- > 0; rest /= plan.loops[i].extent) {
      dst += rest % plan.loops[i].extent * plan.loops[i].dst_step;
      src += rest % plan.loops[i].extent * plan.loops[i].src_step;
    }
    for (int64_t b = 0; b < plan.atom_bytes; ++b) pairs[dst + b] = src + b;
  }
  return pairs;
}

TEST(PagedPlan, MovesWhatItsDefinitionSays) {
  std::mt19937 random(21);
  int bad = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<size_t> shape(1 + random() % 3);
    for (auto& extent : shape) extent = 1 + random() % 4;
    int64_t dst_span = 0, src_span = 0;
    const Layout dst = random_layout(random, shape, dst_span);
    const Layout src = random_layout(random, shape, src_span);
    const PagedSideOptions to = random_side(random, dst_span), from = random_side(random, src_span);
    PagedPlan plan = make_paged_plan(dst, src, to, from);
    plan.id_bytes = 8;
    std::vector<int64_t> to_ids(random() % 2 * 12), from_ids(random() % 2 * 12);
    for (auto& id : to_ids) id = static_cast<int64_t>(random() % 8) - 1;
    for (auto& id : from_ids) id = static_cast<int64_t>(random() % 8) - 1;
    const auto ids = [](const auto& list) { return list.empty() ? nullptr : list.data(); };
    for (int64_t i = 0; i < 12; ++i) {
      const int64_t d = element_of(to, to_ids, i), s = element_of(from, from_ids, i);
      const int64_t placed = place_piece(plan, plan.dst, ids(to_ids), i);
      const int64_t taken = place_piece(plan, plan.src, ids(from_ids), i);
      ASSERT_EQ(d < 0, placed == no_piece) << to_string(plan);
      ASSERT_EQ(s < 0, taken == no_piece) << to_string(plan);
      bad += d < 0 || s < 0;
      if (d < 0 || s < 0) continue;
      ASSERT_EQ(by_definition(dst, src, d, s), by_plan(plan.piece, placed, taken))
          << to_string(plan);
    }
  }
  EXPECT_GT(bad, 100);
}

Layout dense(const std::vector<size_t>& shape) {
  return make_layout(INFINI_DTYPE_F16, shape.size(), shape.data(), nullptr);
}

infiniStatus_t status_of(const PagedSideOptions& dst, const PagedSideOptions& src) {
  try {
    make_paged_plan(dense({4, 8}), dense({4, 8}), dst, src);
    return INFINI_STATUS_SUCCESS;
  } catch (const Error& error) {
    return error.status();
  }
}

TEST(PagedPlan, PagesThatOverlapAreRefused) {
  EXPECT_EQ(INFINI_STATUS_SUCCESS, status_of({}, {}));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, status_of({.pages = 3, .pitch = 32}, {}));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, status_of({}, {.pitch = 8}));  // windows of src may
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_STRIDES, status_of({.pages = 3, .pitch = 31}, {}));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_STRIDES, status_of({.pitch = 31}, {}));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_STRIDES, status_of({.pitch = 64, .pieces = 3}, {}));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, status_of({.pages = 1, .pitch = 1}, {}));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, status_of({.pages = -1}, {}));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, status_of({}, {.pieces = -1}));
  EXPECT_NE(INFINI_STATUS_SUCCESS, status_of({.pieces = INT64_MAX / 4}, {}));
  EXPECT_NE(INFINI_STATUS_SUCCESS, status_of({}, {.pages = INT64_MAX / 4}));
}

// Ids of an unknown number of pages: whatever is accepted has an offset.
TEST(PagedPlan, HugeIdsHaveNoOffsetThatWraps) {
  PagedPlan plan = make_paged_plan(dense({4, 8}), dense({4, 8}), {.pitch = 1 << 20}, {.pieces = 1});
  plan.id_bytes = 8;
  for (const int64_t id : {INT64_MAX, INT64_MIN, int64_t{-1}, INT64_MAX / (1 << 20)}) {
    EXPECT_EQ(no_piece, place_piece(plan, plan.dst, &id, 0)) << id;
  }
  const int64_t large = int64_t{1} << 36;
  EXPECT_EQ(large << 21, place_piece(plan, plan.dst, &large, 0));
}

TEST(PagedPlan, BadIdsOfTheHostAreNamed) {
  const PagedPlan plan = make_paged_plan(dense({4}), dense({4}), {.pages = 3, .pieces = 2}, {});
  const int32_t ids[] = {0, 5, 6};
  require_good_ids(plan, plan.dst, ids, 2, "dst");
  try {
    require_good_ids(plan, plan.dst, ids, 3, "dst");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(INFINI_STATUS_BAD_PARAM, error.status());
    EXPECT_STREQ("dst_ids[2] is 6; expected at least 0 and below 6", error.what());
  }
  EXPECT_THROW(require_good_ids(plan, plan.dst, nullptr, 7, "dst"), Error);
}

}  // namespace
}  // namespace infini
