// Schedules of plans whose innermost loops move little: the bytes of a few blocks of dst are found once, when the
// schedule is made, in a few windows of src, and every vector of dst is then shuffled together from those.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/rearrange/schedule.h"
#include "base/checked.h"

namespace infini::cpu {

constexpr int64_t most_period_bytes = 8 << 10;
constexpr int64_t most_strip = 512;
constexpr int64_t most_copied = 32 << 10;  // a copy of src and the room around it

// A program makes `blocks` blocks of dst from one place in src: vector v of `width` bytes (the last one may be cut
// short) is put together from picks v * depth .. v * depth + depth - 1.
//
// Law: every byte of the vector that is not in a gap between blocks is taken by exactly one pick (its mask bit is set), from byte index of the window
// that begins `offset` bytes behind the place in src.
struct ShuffleProgram {
  struct alignas(64) Bytes {
    uint8_t byte[64];
  };

  int64_t blocks = 0, bytes = 0;  // of dst, with the gaps
  int64_t gap = 0;                // behind each block, shorter than a vector
  int width = 0;                  // of a vector and of a window: 16 or 64
  int depth = 0;                  // picks of each vector
  bool shared = false;            // vectors have their windows together
  bool counted = true;  // of an outline: depth is that of this very period, not of a shorter one
  std::vector<int64_t> offsets;  // of the picks' windows
  std::vector<uint64_t> masks;   // bytes of the vector that a pick gives
  std::vector<uint64_t> stores;  // with gaps: bytes of each vector that may be written
  // `width` indices for each pick; 128 where it gives nothing. Of 64: the first pick of each two has there what the
  // second one gives, 64 higher.
  std::vector<Bytes> tables;
  int64_t reach_begin = 0, reach_end = 0;  // of all windows

  int64_t vectors() const { return (bytes - gap + width - 1) / width; }
  const uint8_t* indices(int64_t pick) const {
    return reinterpret_cast<const uint8_t*>(tables.data()) + pick * width;
  }
};

// Law: the points of all blocks are exactly the plan's points, each once. Rows of blocks follow one another in dst's
// order, but `near` ones in turns; within a row every `program.blocks` blocks are a period.
struct ShuffleSchedule {
  int64_t dst_offset = 0, src_offset = 0;
  std::vector<Loop> outer;    // outermost first: rows
  Loop along{1, 0, 0};        // the blocks of a row
  Loop near{1, 0, 0};         // rows that share lines of src, or pages
  int64_t strip = 1;          // rows of a task
  bool side_by_side = false;  // a period of each of them in turns; else a piece
  ShuffleProgram program;
  int64_t outer_count = 1;
  int level = 0;      // the plan's loop that walks along
  int64_t piece = 0;  // blocks of a task: whole periods, unless it is the row
  ByteRange span{};   // of src, counted from its base: nothing outside may be read
  int64_t room =
      0;  // where src is small: bytes before and behind a copy of it, which is read instead
  int64_t overreach = 0;  // of the windows of a row beyond its own bytes, where there is no room
  int64_t ahead = 0;      // bytes of src from asking for a window to reading it
  bool streamed = false;

  int64_t pieces() const { return ceil_div(along.extent, piece); }
  int64_t strips() const { return ceil_div(near.extent, strip); }
  int64_t tasks() const { return outer_count * strips() * pieces(); }
};

// `width` is what the machine shuffles at once: 16 or 64 bytes. Null when blocks are too long, or when their
// bytes come from too many places. The program is an outline, which is enough to say how long it takes.
std::optional<ShuffleSchedule> make_shuffle_schedule(const RearrangePlan& plan,
                                                     const Policy& policy, int width);

// Makes the program itself, and what follows from how far its windows reach.
void complete_program(ShuffleSchedule& schedule, const RearrangePlan& plan);

// The windows that the first vector needs: no program needs fewer.
int least_windows(const RearrangePlan& plan, int width);

// How long it takes; at least, before anything is made.
double least_shuffle_time(const RearrangePlan& plan, const Setting& setting, int width);
double shuffle_ns(const ShuffleSchedule& schedule, const RearrangePlan& plan,
                  const Setting& setting);

std::unique_ptr<RearrangeKernel> make_shuffle(ShuffleSchedule schedule, const RearrangePlan& plan,
                                              const Policy& policy);

std::string to_string(const ShuffleSchedule& schedule);

}  // namespace infini::cpu
