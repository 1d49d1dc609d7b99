// How rows of logits are dealt out to blocks for drawing tokens, and where in the workspace what lies: plain data.
//
// Seen by device compilers: C++17, and constexpr so that host and device share the code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace infini::gpu {

constexpr uint32_t sample_threads = 256;
constexpr uint32_t part_logits = 1024;      // of a block
constexpr uint32_t sample_bins = 2048;      // a row's logits by how far they are from the largest
constexpr uint32_t few_logits = 256;        // that each thread compares its own with
constexpr uint32_t most_sample_rows = 16;   // of a launch: their options travel with it
constexpr uint32_t most_logits = 1u << 21;  // beyond, masses of 2^-40 would add up to 10^-5 lost

// What is drawn from: places in bytes of one row's workspace.
// Law: the arrays lie apart, each at a multiple of its elements' size; `bytes` is a multiple of 256.
struct SampleSchedule {
  uint32_t parts = 0;  // blocks of a row
  size_t largest = 0;  // uint64_t[parts]: each part's largest logit and its place
  size_t masses = 0;   // uint64_t[sample_bins]
  size_t counts = 0;   // uint32_t[sample_bins]
  size_t state = 0;    // a SampleState
  size_t list = 0;     // uint2[logits]: those of one bin
  size_t bytes = 0;    // of a row
  uint32_t rows = 0;   // of a launch
};

// What kernels leave to the next ones. `found`: logits in the list, of the round that looks for the least kept one and of
// that which looks for the token.
struct SampleState {
  uint64_t before_mass[2], whole;  // of all bins before the one in the list, of all logits
  double wanted;
  uint32_t before_count[2], found[2];
  uint32_t most;  // the largest logit as a number
  uint32_t least,
      ties;      // of the kept: the least number, and how many of it are kept; no limit: 0, 0
  uint32_t few;  // all that are kept are in the list of round 0, in which the token is found, too
};

constexpr SampleSchedule make_sample_schedule(uint32_t rows, uint32_t logits) {
  constexpr size_t line = 256;
  const auto behind = [](size_t begin, size_t bytes) {
    return (begin + bytes + line - 1) / line * line;
  };
  SampleSchedule s;
  s.parts = (logits + part_logits - 1) / part_logits;
  s.masses = behind(s.largest, sizeof(uint64_t) * s.parts);
  s.counts = behind(s.masses, sizeof(uint64_t) * sample_bins);
  s.state = behind(s.counts, sizeof(uint32_t) * sample_bins);
  s.list = behind(s.state, sizeof(SampleState));
  s.bytes = behind(s.list, 2 * sizeof(uint32_t) * logits);
  s.rows = rows < most_sample_rows ? rows : most_sample_rows;
  return s;
}

// The bin of a logit that is `apart` from the largest: 0 for that, then 32 for each power of two, ascending with the
// distance. `bits` are those of `apart` as f32, which is positive or infinite.
constexpr uint32_t bin_of_distance(uint32_t bits) {
  constexpr uint32_t shift = 18, first = (127u - 24u) << 5;  // 2^-24 and less share one
  const uint32_t place = bits >> shift;
  if (place <= first) return 1;
  return place - first < sample_bins - 3 ? place - first + 1 : sample_bins - 2;
}
constexpr uint32_t bin_of_nan = sample_bins - 1;

}  // namespace infini::gpu
