// What our kernels of products cost beside their arithmetic and their bytes: cycles of a core, fitted to measurements. The
// formulas are in gemm/costs.cpp and in each candidate's cost.cpp; bytes, rates and the clock are facts of the machine.
#pragma once

namespace infini::cpu {

// Of elements that are packed, by how they lie: along the panel's rows, along its columns, neither.
struct PackCycles {
  double by_rows, by_columns, one_by_one;
};

struct ProductCycles {
  const char* fitted_on;
  // Of a core: the most vectors that it multiplies and adds in a cycle, the cycles that a sum waits for the one before it (a
  // sum of pairs of bf16, too), and those of a broadcast: to 64 bytes, to fewer.
  double most_vectors, fma_latency, pair_latency, wide_splat, splat;
  double seen;  // of what goes on beside the longer of arithmetic and bytes
  // A vector of an operand that is copied; of one whose 16-bit elements are widened, by a call for each row.
  double copied, converted;
  // An element that is copied by transposing vectors: of a type in memory as wide as the lanes, on 8 lanes and on 16; of 16
  // bits. One of which no direction is contiguous.
  double turned, turned_by_16, turned_halves, one_by_one;
  struct {
    double call, tile;
    double panel;  // that is copied, or whose sums are
    // Of a tile for each k of an A that is not contiguous along k, and larger than that.
    double jump, jumped_bytes;
    double again;  // of A from memory for one more panel: times the reading of it
  } direct;
  struct {
    double call;             // of a stretch
    double pack_call, pack;  // of A; for an element of it
    double dots, row;        // to add the lanes of 4×4 sums, of 1×8
    double pieces_share;     // of its arithmetic that a core reaches where B comes in pieces
  } skinny;
  struct {
    double arithmetic_share;  // of its arithmetic that a core reaches
    double call, row;         // of a product; of a row of A, in pieces that are packed
    double pack;              // of an element of A
    double group;             // of rows of A, at two vectors of B
  } sweep;
  struct {
    double tile_share;  // of its arithmetic that a core reaches in tiles
    double tile, call;
  } blocked;
  struct {
    double call, tile;
    PackCycles pack;
    double
        far;  // of a B beyond the second cache that is packed row by row: times the reading of it
  } dpbf16;
  struct {
    double call, pack;   // of a product; of an element of A
    double piece, sums;  // of rows by columns at once: for each piece of k, and to add the lanes
    double arithmetic_share;  // of its arithmetic that a core reaches
  } dots;
  struct {
    double call_ns;  // to configure the tile registers and release them
    double product;  // of a batch
    double block;    // of 32×32 sums: stored, rounded, their lines of C fetched
    PackCycles pack;
  } amx;
};

// Zen 4 (on one thread; `amx` on Sapphire Rapids): 126 random products of `infini bench --regret --op gemm --random 200 --seed
// 101`, and 28 of few rows (docs/lab/gemm-choice.md). Chips that nobody fitted costs to take these.
extern const ProductCycles zen4_products;
// Zen 5: `--random 150` with seeds 7101 to 7105 on two threads and 7101 to 7103 on one, and 218 products of
// gemm/choices/zen5.txt (docs/lab/gemm-choice.md).
extern const ProductCycles zen5_products;

}  // namespace infini::cpu
