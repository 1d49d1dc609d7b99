// The table of gemm kernels that each instruction set fills, and the calls they take.
//
// T is the type of the arithmetic, float or double: f16 and bf16 are widened to float on the way in
// and rounded once on the way out. Rows and columns of T count elements, steps count bytes.
#pragma once

#include <cstdint>

#include "backends/cpu/machine/isa.h"
#include "infinicore.h"

namespace infini::cpu {

constexpr int most_tile_rows = 14, most_tile_vectors = 8, most_skinny_rows = 4, most_dot_rows = 6;
constexpr int slim_rows =
    2;  // tiles so low are up to most_tile_vectors wide, or their sums would wait for each other

// For instruction sets that cannot read or write parts of vectors: the names, never called.
struct NoMasks {
  static constexpr bool masks = false;
  struct Mask {};
  static Mask first(int) { return {}; }
  template <class... X>
  static void load(X...);
  template <class... X>
  static void store(X...);
  template <class... X>
  static void load_half(X...);
  template <class... X>
  static void store_half(X...);
};

// A product whose C is one tile of so few vectors of sums is added up in several chains, since one sum after the other would
// wait for the one before it: k goes to the chains in turns, and they are added half to half.
constexpr int most_split_sums = 6;
constexpr int split_chains(int sums) { return sums == 1 ? 8 : sums <= 3 ? 4 : 2; }

// What a tile does beside the arithmetic: nothing, fetch what lies ahead, or that with an A that is a
// packed strip, [k][tile_rows], and a B that comes from the second cache; or fetch rows of a B that no
// tile has read before.
enum class TileKind { plain, fetching, packed, first };

// C[rows, cols] = alpha·A·B + beta·C for one tile. c is not read when beta is 0.
template <class T>
struct TileCall {
  int64_t k;
  const T* a;
  int64_t a_row, a_col;  // not looked at where A is a packed strip
  const T* b;            // rows of the panel, b_row apart
  int64_t b_row;
  const char* ahead;  // what will be needed next comes nearer, a line for each k
  int64_t ahead_step;
  T* c;
  int64_t c_row;
  int cols;  // 1 .. vectors·lanes
  T alpha, beta;
};

// dst[rows, cols] = the elements of src, widened. Rows are written in order, and less than a vector
// behind a row's cols may be written, too.
template <class T>
struct PackCall {
  const char* src;
  int64_t row_step, col_step, rows, cols;
  T* dst;
  int64_t dst_row;
};

// C = alpha·sum + beta·C, rounded once to C's type.
template <class T>
struct FinishCall {
  const T* sum;
  int64_t sum_row, rows, cols;
  char* c;
  int64_t row_step, col_step;
  T alpha, beta;
};

// Columns that meet so many rows at once in dot products: their sums are registers.
constexpr int dot_cols(int rows) { return rows == 1 ? 8 : 4; }
constexpr int piece_cols = 4, wide_piece_cols = 8;

// sum[rows, cols] += A·B (across: sum starts as zeros) or = A·B (along). b_step is the distance of
// the contiguous pieces of B: its rows (across) or its columns (along).
template <class T>
struct SkinnyCall {
  int64_t k, cols;
  const T* a;  // rows contiguous along k
  int64_t a_row;
  const char* b;
  int64_t b_step;
  T* sum;
  int64_t sum_row;
  // What comes next in B is fetched: as many rows or columns as are read side by side, one after the other, since memory
  // answers that faster than lines of each of them in turns.
  bool fetches;
  // Of pieces: rows·cols vectors that they hand on, which piece of k this is, where in B the fetching goes on, and with how
  // many lines for each vector of k.
  T* partial = nullptr;
  bool is_first = true, is_last = true;
  const char* ahead = nullptr;
  int ahead_lines = 0;
};

constexpr int most_sweep_depth = 16;

// sum[rows, cols] += A·B (or = A·B, where it is the first) for up to most_sweep_depth rows of B. A lies in groups of sweep_rows rows, [k][sweep_rows]
// each; sum in pieces of two vectors of columns, [all rows][two vectors] each.
template <class T>
struct SweepCall {
  int64_t k, cols, groups;
  const T* a;
  int64_t a_group;
  const char* b;
  int64_t b_step;
  T* sum;
  const char* ahead;  // rows of B that are fetched, as many as are read, one after the other
  bool is_first;
};

template <class T>
struct SkinnySet {
  void (*across[most_skinny_rows])(const SkinnyCall<T>&) = {};
  void (*along[most_dot_rows])(const SkinnyCall<T>&) = {};
  // Along, for a part of k: piece_cols columns at a time, or wide_piece_cols, which only some rows can meet.
  void (*piece[most_dot_rows])(const SkinnyCall<T>&) = {};
  void (*wide_piece[most_dot_rows])(const SkinnyCall<T>&) = {};
};

// What a table's kernels do at once; all that schedules know of them.
struct KernelShape {
  int bytes = 0;  // of an element of the arithmetic
  int lanes = 0, tile_rows = 0, tile_vectors = 0;
  // Where A is not packed: rows of tiles narrower than tile_vectors, and wider ones (0: there are none).
  int narrow_rows = 0, wide_vectors = 0, wide_rows = 0;
  int dot_rows = 0;         // of the kernels along B's columns
  int wide_piece_rows = 0;  // of those with wide_piece_cols
  int sweep_rows = 0;       // of a group
  bool masks = false;       // parts of vectors can be read and written
};

template <class T>
struct GemmKernels : KernelShape {
  // [kind][whole vectors of B may be read][vectors - 1][rows - 1]; null where there are fewer rows. Without masks they
  // are always read.
  void (*tile[4][2][most_tile_vectors][most_tile_rows])(const TileCall<T>&) = {};
  // In chains: [rows of B are fetched][as above]...; null where there are more sums.
  void (*split[2][2][most_split_sums][most_split_sums])(const TileCall<T>&) = {};
  // Indexed by the type in memory: 0 is T itself, 1 f16, 2 bf16.
  void (*pack[3])(const PackCall<T>&) = {};
  void (*finish[3])(const FinishCall<T>&) = {};
  SkinnySet<T> skinny[3];
  void (*sweep[3])(const SweepCall<T>&) = {};
};

// One instruction set's two tables.
struct GemmTables {
  GemmKernels<float> f32;
  GemmKernels<double> f64;
};

const GemmTables& gemm_tables(Isa isa);

// What gemm_<isa>.cpp provide.
const GemmTables& gemm_tables_portable();
const GemmTables& gemm_tables_avx2();
const GemmTables& gemm_tables_avx512();

}  // namespace infini::cpu
