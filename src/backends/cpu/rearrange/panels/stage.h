// How panels of more rows than the hardware follows at once are walked past the cache: 64 and 32 rows of 1-
// and 2-byte words, and twice as many rows as a line has where lines are written in pairs.
//
// Rows of most pitches compete for the same sets of L1, too. So a few lines of every row are read, row
// after row, into one of two tiles in L1 while the other one is transposed: a line is read for every line
// that is written, as a copy does, and fetched some lines before. Tile follows tile into the next panel
// without a gap.
#pragma once

#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/panels/lanes.h"

namespace infini::cpu {

// depth: lines of each column; width: bytes of each row; ahead: lines from asking for one to reading it.
template <class V, int word, int depth, int width, int ahead>
struct StagedTile {
  static constexpr int L = 16 / word;
  static constexpr int columns = width / word;
  static constexpr int lines = depth * columns;  // read, and as many written
  static constexpr int per_row = width / 64;
  // Of many rows not even what is asked for stays in L1 until it is read.
  static constexpr int locality = word < 4 ? 2 : 3;
  static_assert(lines * 64 <= Stage::tile_bytes && ahead <= lines);

  struct Place {
    const char* src;
    const int64_t* row;  // the rows' offsets from there
    const char* line(int i) const { return src + row[i / per_row] + i % per_row * 64; }
  };

  static void read(char* tile, const Place& from, int i) {
    V::store(tile + i * 64, V::load(from.line(i)));
  }
  // The same, and asks for a line that comes later; of unaligned rows the first one is there already.
  // (One function: g++ removes calls of one that only prefetches.)
  [[gnu::always_inline]] static void read_and_fetch(char* tile, const Place& next,
                                                    const Place& after, int i) {
    const int j = i + ahead;
    __builtin_prefetch((j < lines ? next.line(j) : after.line(j - lines)) + 63, 0, locality);
    read(tile, next, i);
  }
  // Block b, transposed: L vectors for the columns' upper lines, then as many for the lower ones.
  [[gnu::always_inline]] static void load_block(typename V::type* v, const char* tile, int b) {
    for (int d = 0; d < depth; ++d, v += L, tile += 64 / word * width) {
      for (int r = 0; r < L; ++r) {
        const char* p[V::lanes];
        for (int l = 0; l < V::lanes; ++l) p[l] = tile + (l * L + r) * width + b * 16;
        v[r] = V::gather(p);
      }
      if constexpr (L > 1) transpose_lanes<V, word>(v);
    }
  }
};

// Calls emit(first column, vectors of L columns, between) for whole tiles of a panel that has all its
// rows; emit calls between(i) before it writes line i of them. Returns the columns that were done.
template <class V, int word, int depth, int width, int ahead = 64, class Emit>
inline int64_t walk_tiles_of(const Panel& p, Emit emit) {
  using Tile = StagedTile<V, word, depth, width, ahead>;
  using Place = typename Tile::Place;
  const int64_t tiles = p.columns / Tile::columns;
  // Tile t from the panel's beginning; where nothing comes any more, something harmless.
  const auto place = [&](int64_t t) -> Place {
    if (t < tiles) return {p.src + t * width, p.src_of_row};
    if (p.next_of_row == nullptr) return {p.src, p.src_of_row};
    if (t < 2 * tiles) return {p.src + (t - tiles) * width, p.next_of_row};
    return {p.src, p.after_of_row == nullptr ? p.next_of_row : p.after_of_row};
  };
  Stage& stage = *p.stage;
  int turn = stage.turn;
  if (!stage.ready)
    for (int i = 0; i < Tile::lines; ++i) Tile::read(stage.tile[turn], place(0), i);
  for (int64_t t = 0; t < tiles; ++t, turn ^= 1) {
    const Place next = place(t + 1), after = place(t + 2);
    const char* const from = stage.tile[turn];
    char* const to = stage.tile[turn ^ 1];
    for (int b = 0; b < width / 16; ++b) {
      typename V::type v[depth * Tile::L];
      Tile::load_block(v, from, b);
      const int first = b * depth * Tile::L;
      emit(t * Tile::columns + b * Tile::L, v,
           [=](int i) { Tile::read_and_fetch(to, next, after, first + i); });
    }
  }
  stage.turn = turn;
  stage.ready = p.next_of_row != nullptr;
  return tiles * Tile::columns;
}

constexpr int least_tile_width = 128;

// Single lines: four lines of a row at a time, or two where a strip has no more. Pairs: two, or as many as
// make 64 lines; rows of 256 bytes, which often lie side by side, are read whole.
template <class V, int word, int depth, class Emit>
inline int64_t walk_tiles(const Panel& p, Emit emit) {
  constexpr int width = depth == 1 ? 256 : paired_width(word);
  const int64_t bytes = p.columns * word;
  if constexpr (word == 4 && depth == 2) {
    if (bytes == 256) return walk_tiles_of<V, word, depth, 256>(p, emit);
    if (bytes >= width && p.soon) return walk_tiles_of<V, word, depth, width, 16>(p, emit);
  }
  if (bytes >= width) return walk_tiles_of<V, word, depth, width>(p, emit);
  if constexpr (depth == 1)
    if (bytes >= least_tile_width) return walk_tiles_of<V, word, depth, least_tile_width>(p, emit);
  return 0;
}

}  // namespace infini::cpu
