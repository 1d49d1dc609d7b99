// How Convert is walked on a GPU, as plain data: which dims a kernel takes out of the nest, and the shapes of its tiles.
//
// Seen by device compilers: C++17, and constexpr so that host and device share the code.
#pragma once

#include <cstdint>

#include "plan/operators/convert_plan.h"

namespace infini::gpu {

enum class ConvertWalk : int32_t {
  rows,      // elements lie together on both sides: by packs
  gathered,  // in y alone, if at all; in x perhaps a few planes, of which a thread has all
  joined,    // in x, and in y a few planes
  tiles,     // in y, and in x many planes: these are a side of tiles
};

struct ConvertNumbers {
  Format y = Format::u8, x = Format::u8;
  bool wide = false, computes = false, saturates = false;
  bool along[2] = {};
  double scale = 1, shift = 0;
  // A dim that is not one of the nest's.
  ConvertWalk walk = ConvertWalk::rows;
  uint32_t planes = 1;
  int64_t plane_steps[4] = {};
};

// Tiles have lines of memory on both sides; their elements lie in shared memory by planes, so far apart that a column of them
// meets all banks.
constexpr uint32_t tile_across(int x_size, int y_size) {
  return x_size <= 2 && y_size <= 2 ? 128 : 64;
}
constexpr uint32_t tile_along(int y_size) { return y_size == 1 ? 128 : y_size == 8 ? 32 : 64; }
constexpr uint32_t tile_pitch(int y_size, int along) {
  const int word = y_size * along;
  return tile_along(y_size) / static_cast<uint32_t>(along) + (word < 4 ? 4 / word : 1);
}

// Elements of a thread: of y a word, of x a vector; and so many threads of a block side by side.
constexpr int gathered_elements(int y_size) { return y_size == 1 ? 8 : y_size == 2 ? 8 : 4; }
constexpr int joined_elements(int x_size) { return x_size == 1 ? 8 : x_size == 2 ? 8 : 4; }
constexpr uint32_t joined_units = 256;

}  // namespace infini::gpu
