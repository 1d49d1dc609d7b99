// Piece schedules: over all blocks and threads every unit of every piece exactly once, each where the plan has it.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "backends/gpu/pages/make_schedule.h"
#include "backends/gpu/pages/make_staged.h"

namespace infini::gpu {
namespace {

// The src byte of each dst byte from the lowest one on, piece after piece; -1: it is not written.
struct Moves {
  Moves(const RearrangePlan& plan, uint32_t pieces)
      : low(dst_range(plan).begin),
        span(dst_range(plan).end - low),
        from(static_cast<size_t>(span * pieces), -1) {}
  void add(uint32_t piece, int64_t dst, int64_t src) {
    int64_t& place = from.at(static_cast<size_t>(span * piece + dst - low));
    twice += place != -1;
    place = src;
  }
  bool operator==(const Moves& other) const { return twice == 0 && from == other.from; }
  int64_t low, span;
  std::vector<int64_t> from;
  int twice = 0;
};

// What the kernel's threads do, with the kernel's own functions.
Moves walk(const RearrangePlan& plan, const PieceSchedule& s, uint32_t pieces) {
  Moves moves(plan, pieces);
  for (uint32_t block = 0; block < blocks_for(s, pieces); ++block) {
    const BlockShare share = share_of(s, block, pieces);
    EXPECT_LE(share.count, block_units);
    for (uint32_t i = 0; i < share.count; ++i) {
      const UnitOfPiece which = unit_of_share(s, share, i);
      const UnitPlace place = place_in_piece(s, which.unit);
      for (int b = 0; b < s.unit; ++b) moves.add(which.piece, place.dst + b, place.src + b);
    }
  }
  return moves;
}

Moves expected(const RearrangePlan& plan, uint32_t pieces) {
  Moves moves(plan, pieces);
  const int64_t atoms = atom_count(plan);
  for (int64_t n = 0; n < atoms; ++n) {
    int64_t rest = n, dst = plan.dst_offset, src = plan.src_offset;
    for (int i = plan.depth; i-- > 0; rest /= plan.loops[i].extent) {
      dst += rest % plan.loops[i].extent * plan.loops[i].dst_step;
      src += rest % plan.loops[i].extent * plan.loops[i].src_step;
    }
    for (uint32_t piece = 0; piece < pieces; ++piece)
      for (int64_t b = 0; b < plan.atom_bytes; ++b) moves.add(piece, dst + b, src + b);
  }
  return moves;
}

RearrangePlan plan_of(const std::vector<size_t>& shape, const std::vector<ptrdiff_t>& dst,
                      const std::vector<ptrdiff_t>& src, infiniDtype_t dtype) {
  return make_rearrange_plan(make_layout(dtype, shape.size(), shape.data(), dst.data()),
                             make_layout(dtype, shape.size(), shape.data(), src.data()));
}

TEST(PieceSchedule, EveryUnitExactlyOnce) {
  const RearrangePlan plans[] = {
      plan_of({512}, {1}, {1}, INFINI_DTYPE_U8),
      plan_of({20000}, {1}, {1}, INFINI_DTYPE_U8),
      plan_of({16, 8, 128}, {1024, 128, 1}, {128, 2048, 1}, INFINI_DTYPE_F16),
      plan_of({16, 128}, {128, 1}, {1, 16}, INFINI_DTYPE_F16),
      plan_of({3, 5, 7}, {35, 7, 1}, {-1, 30, 4}, INFINI_DTYPE_U8),
      plan_of({1}, {1}, {1}, INFINI_DTYPE_F32),
      plan_of({33, 1000}, {1001, 1}, {0, 1}, INFINI_DTYPE_F32),
  };
  for (const RearrangePlan& plan : plans)
    for (const int unit : {16, 8, 4, 2, 1})
      for (const uint32_t pieces : {1u, 2u, 9u}) {
        const auto schedule = make_piece_schedule(plan, unit);
        ASSERT_TRUE(schedule.has_value());
        EXPECT_LE(schedule->unit, unit);
        EXPECT_TRUE(walk(plan, *schedule, pieces) == expected(plan, pieces))
            << to_string(*schedule);
      }
}

TEST(PieceSchedule, TooManyLoopsOrUnitsAreDeclined) {
  std::vector<size_t> shape(10, 2);
  std::vector<ptrdiff_t> up, down;
  for (int i = 0; i < 10; ++i) {
    up.push_back(1 << (9 - i));
    down.push_back(1 << i);
  }
  EXPECT_FALSE(make_piece_schedule(plan_of(shape, up, down, INFINI_DTYPE_U8), 16).has_value());
  const auto huge = plan_of({size_t{1} << 32}, {2}, {1}, INFINI_DTYPE_U8);
  EXPECT_FALSE(make_piece_schedule(huge, 16).has_value());
}

// The kernel's way from ids to offsets, beside the plan's.
TEST(PieceSchedule, IdsLeadWhereThePlanSays) {
  std::mt19937_64 random(5);
  const size_t shape[] = {8};
  const Layout piece = make_layout(INFINI_DTYPE_U8, 1, shape, nullptr);
  for (int trial = 0; trial < 2000; ++trial) {
    PagedSideOptions options;
    options.pages = random() % 2 * (1 + static_cast<int64_t>(random() % 9));
    options.pieces = 1 + static_cast<int64_t>(random() % 4);
    options.whole_pages = random() % 2 == 0;
    PagedPlan plan = make_paged_plan(piece, piece, options, options);
    plan.id_bytes = 8;
    std::vector<int64_t> ids(16);
    for (auto& id : ids)
      id = static_cast<int64_t>(random() >> (random() % 64)) - (random() % 4 == 0 ? 3 : 0);
    const bool has_ids = random() % 4 != 0;
    const PieceSide side = make_piece_side(plan.dst, has_ids ? ids.data() : nullptr);
    const auto read = [](const void* p, uint32_t i) { return static_cast<const int64_t*>(p)[i]; };
    for (uint32_t copy = 0; copy < 16; ++copy) {
      bool bad = false;
      const int64_t place = place_on_side(side, copy, bad, read);
      const int64_t wanted = place_piece(plan, plan.dst, side.ids, copy);
      ASSERT_EQ(wanted == no_piece, bad) << to_string(plan) << ids[copy];
      if (!bad) {
        ASSERT_EQ(wanted, place);
      }
    }
  }
}

TEST(PieceSchedule, BlocksFindTheirCopies) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const uint32_t copies = 1 + random() % 20;
    std::vector<uint32_t> first = {0}, owner;
    for (uint32_t i = 0; i < copies; ++i) {
      const uint32_t blocks = random() % 4;
      first.push_back(first.back() + blocks);
      owner.insert(owner.end(), blocks, i);
    }
    const OwnPieces own{nullptr, first.data(), copies};
    for (uint32_t block = 0; block < owner.size(); ++block)
      ASSERT_EQ(owner[block], copy_of_block(own, block));
  }
}

// What the staged kernel's threads do: every byte of a box is loaded once, and stored once from where it was loaded.
struct StagedBlock {
  const StagedSchedule& s;
  uint32_t first, boxes;
  std::vector<std::vector<int64_t>> images;  // of each box, where each byte came from

  // Calls body(unit, box) for all that the threads of a block do.
  template <class Body>
  void walk(const FastDivisor& lanes, uint32_t units, const Body& body) const {
    for (uint32_t thread = 0; thread < piece_threads; ++thread) {
      const BoxThread at = thread_of_box(lanes, thread);
      for (uint32_t unit = at.unit; unit < units; unit += lanes.divisor)
        for (uint32_t box = at.box; box < boxes; box += at.together) body(unit, box);
    }
  }
  void load() {
    images.assign(boxes, std::vector<int64_t>(s.box_bytes, -1));
    walk(s.load_lanes, s.loads.divisor, [&](uint32_t unit, uint32_t box) {
      const StagedPlace place = place_staged(s.load, s.load_depth, unit);
      for (int b = 0; b < s.load_unit; ++b) {
        int64_t& byte = images[box].at(static_cast<size_t>(place.image + b));
        EXPECT_EQ(byte, -1) << "loaded twice";
        byte = place_box(s, first + box).src + place.step + b;
      }
    });
    for (const auto& image : images) EXPECT_EQ(0, std::count(image.begin(), image.end(), -1));
  }
  void store(Moves& moves) const {
    const auto element = static_cast<uint32_t>(s.element);
    walk(s.store_lanes, s.stores.divisor, [&](uint32_t unit, uint32_t box) {
      const StagedPlace place = place_staged(s.store, s.store_depth, unit);
      const BoxPlace at = place_box(s, first + box);
      for (uint32_t b = 0; b < static_cast<uint32_t>(s.store_unit); ++b) {
        const int64_t from = place.image + b / element * s.element_image + b % element;
        moves.add(at.piece, at.dst + place.step + b, images[box].at(static_cast<size_t>(from)));
      }
    });
  }
};

Moves walk_staged(const RearrangePlan& plan, const StagedSchedule& s, uint32_t pieces) {
  Moves moves(plan, pieces);
  const uint32_t all = pieces * s.boxes.divisor;
  for (uint32_t first = 0; first < all; first += s.boxes_per_block) {
    StagedBlock block{s, first, std::min(all - first, s.boxes_per_block), {}};
    block.load();
    block.store(moves);
  }
  return moves;
}

TEST(StagedSchedule, EveryElementExactlyOnce) {
  const RearrangePlan plans[] = {
      plan_of({16, 8, 128}, {1, 2048, 16}, {1024, 128, 1}, INFINI_DTYPE_F16),
      plan_of({16, 128}, {128, 1}, {1, 16}, INFINI_DTYPE_F16),
      plan_of({64, 48}, {1, 64}, {48, 1}, INFINI_DTYPE_U8),
      plan_of({64, 64}, {1, 72}, {80, 1}, INFINI_DTYPE_F32),
      plan_of({6, 32, 64}, {1, 6, 192}, {2048, 64, 1}, INFINI_DTYPE_F32),
      plan_of({4, 32, 32}, {32, 1, 128}, {1024, 32, 1}, INFINI_DTYPE_F64),
  };
  for (const RearrangePlan& plan : plans) {
    const auto schedule = make_staged_schedule(plan, 0);
    ASSERT_TRUE(schedule.has_value()) << plan;
    EXPECT_LE(schedule->boxes_per_block * schedule->box_bytes, static_cast<uint32_t>(staged_bytes));
    EXPECT_TRUE(walk_staged(plan, *schedule, 3) == expected(plan, 3))
        << to_string(*schedule) << plan;
    const auto narrow = make_staged_schedule(plan, 8);  // pages that begin at multiples of 8 bytes
    if (!narrow) continue;
    EXPECT_LE(alignment_of(*narrow), 8);
    EXPECT_TRUE(walk_staged(plan, *narrow, 2) == expected(plan, 2)) << to_string(*narrow);
  }
}

TEST(StagedSchedule, WhatNeedsNoBoxIsDeclined) {
  const RearrangePlan plans[] = {
      plan_of({512}, {1}, {1}, INFINI_DTYPE_U8),
      plan_of({16, 128}, {128, 1}, {0, 1}, INFINI_DTYPE_F16),
      plan_of({64, 64}, {64, 1}, {-1, 64}, INFINI_DTYPE_F16),
      plan_of({64, 64}, {64, 1}, {2, 128}, INFINI_DTYPE_F16),
      plan_of({3, 3}, {1, 3}, {3, 1}, INFINI_DTYPE_F32),
  };
  for (const RearrangePlan& plan : plans)
    EXPECT_FALSE(make_staged_schedule(plan, 0).has_value()) << plan;
}

}  // namespace
}  // namespace infini::gpu
