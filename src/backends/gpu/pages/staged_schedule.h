// The staged schedule: pieces whose elements lie in another order, through shared memory.
//
// A box is the product of some of the plan's loops, which holds long runs of both sides; the other loops count the boxes of
// a piece. A block loads some boxes into shared memory in the order of src, in vectors, and stores them in the order of
// dst, in vectors that it puts together element by element.
// Law: over all blocks and threads every element of every box is loaded once and stored once, where the plan says.
// C++17, constexpr: shared by kernel and interpreter.
#pragma once

#include "backends/gpu/pages/schedule.h"

namespace infini::gpu {

constexpr int max_staged_loops = 6;
constexpr int staged_bytes = 16 << 10;  // of shared memory

// One loop of a walk through the box: bytes in memory (src or dst), and in the image.
struct StagedLoop {
  FastDivisor extent;
  int32_t image;
  int64_t step;
};

struct StagedSchedule {
  int32_t element, load_unit, store_unit;
  int32_t load_depth, store_depth, outer_depth;
  uint32_t boxes_per_block, box_bytes;
  FastDivisor boxes;          // of a piece
  FastDivisor loads, stores;  // units of a box
  // Threads that share a box; the others are at other boxes. What a thread finds out of a unit serves it in all of them.
  FastDivisor load_lanes, store_lanes;
  int32_t element_image;  // from element to element of a stored unit
  int64_t dst_offset, src_offset;
  StagedLoop load[max_staged_loops], store[max_staged_loops];  // fastest first
  PieceLoop outer[max_staged_loops];
};
static_assert(sizeof(StagedSchedule) + sizeof(PiecePlaces) <= 4032,
              "kernel arguments are at most 4 KB");

// Which box of which piece: number `box` of all.
struct BoxPlace {
  uint32_t piece;
  int64_t dst, src;
};

constexpr BoxPlace place_box(const StagedSchedule& s, uint32_t box) {
  const uint32_t piece = divide(box, s.boxes);
  uint32_t rest = box - piece * s.boxes.divisor;
  BoxPlace place{piece, s.dst_offset, s.src_offset};
  for (int i = 0; i < s.outer_depth; ++i) {
    const uint32_t digit = i + 1 == s.outer_depth ? rest : take_digit(rest, s.outer[i].extent);
    place.dst += digit * s.outer[i].dst_step;
    place.src += digit * s.outer[i].src_step;
  }
  return place;
}

// The unit and the box that a thread begins with. It goes on by the lanes' number of units, and by `together` boxes.
struct BoxThread {
  uint32_t unit, box, together;
};

constexpr BoxThread thread_of_box(const FastDivisor& lanes, uint32_t thread) {
  constexpr uint32_t none = UINT32_MAX;  // where lanes do not divide the block's threads
  const uint32_t box = divide(thread, lanes), together = divide(piece_threads, lanes);
  return {box < together ? thread - box * lanes.divisor : none, box, together};
}

struct StagedPlace {
  int64_t step;
  int32_t image;
};

constexpr StagedPlace place_staged(const StagedLoop* loops, int depth, uint32_t number) {
  StagedPlace place{0, 0};
  for (int i = 0; i < depth; ++i) {
    const uint32_t digit = i + 1 == depth ? number : take_digit(number, loops[i].extent);
    place.step += digit * loops[i].step;
    place.image += static_cast<int32_t>(digit) * loops[i].image;
  }
  return place;
}

}  // namespace infini::gpu
