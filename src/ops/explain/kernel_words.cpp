// A table of words.
#include "ops/explain/kernel_words.h"

#include <algorithm>
#include <iterator>

namespace infini {
namespace {

struct Words {
  const char *candidate, *words;
};

constexpr Words table[] = {
    // rearrange
    {"ai_cpu", "the vendor's operator on its AI CPU, through dense memory"},
    {"blocks", "boxes with long runs on both sides, gathered in L1"},
    {"buffered", "tiles transposed into a buffer in L1, then stored as whole lines"},
    {"cluster_tiles", "tiles through the shared memory of a cluster of cores"},
    {"copy", "long runs, each copied"},
    {"copy_2d", "the 2-D copy engine"},
    {"core_tiles", "tiles through each core's local memory"},
    {"engine", "copy engines alone, through dense memory"},
    {"fill", "runs that repeat one element, written as whole vectors"},
    {"flip", "runs that are reversed"},
    {"generic", "an element each thread, any layout"},
    {"nest", "plain loops, in blocks that are short on both sides"},
    {"pieces", "pages cut into pieces of equal size, each copied"},
    {"planes", "planes that are interleaved or taken apart"},
    {"repeated", "one repetition is made, the others are copied from it"},
    {"rows", "long rows, each a vector copy"},
    {"runs", "long runs: copied, filled, reversed, strided or interleaved"},
    {"scatter", "an element each thread, in dst's order"},
    {"shift", "long rows, shifted into aligned vectors in shared memory"},
    {"shuffle", "vector registers permuted by a program made for this layout"},
    {"single", "tiles through shared memory, an element at a time"},
    {"staged", "through dense memory on chip, which holds each source byte once"},
    {"tile", "tiles through shared memory"},
    {"tiles", "tiles that are transposed in vector registers"},
    {"tiny", "an element each thread, for what takes less time than its launch"},
    {"transpose", "tiles that are transposed in shared memory"},
    {"view_copy", "the vendor's strided copy"},
    {"words", "tiles through shared memory, read as 4-byte words"},
    // gemm
    {"amx", "tiles of the matrix unit (AMX)"},
    {"batch_matmul", "the vendor's batched matmul"},
    {"blocked", "panels packed into the caches, outer products in registers"},
    {"boxes", "tensor cores fed by the copy engine (TMA), one launch"},
    {"direct", "one pass without packing, for small products"},
    {"dots", "few rows against columns of bf16, as dot products in pairs by vdpbf16ps"},
    {"dpbf16", "panels of bf16 pairs packed into L2, multiplied by vdpbf16ps"},
    {"lt", "cuBLASLt"},
    {"lt_padded", "cuBLASLt on operands packed with an aligned pitch"},
    {"matmul", "the vendor's matmul"},
    {"onednn", "oneDNN's matmul"},
    {"openblas", "OpenBLAS"},
    {"ring", "warpgroup matrix units (wgmma) fed by TMA through a ring of stages"},
    {"skinny", "few rows or columns, as dot products"},
    {"small", "a tile of c each thread block, one launch"},
    {"sweep", "few rows against large weights, at memory's speed"},
    {"weights", "few rows against weights, by one launch"},
    {"xblas", "the vendor's BLAS"},
    {"xblas_packed", "the vendor's BLAS on dense copies"},
    // the others
    {"aclnn", "the vendor's operators"},
    {"aclnn_packed", "the vendor's operators on dense copies"},
    {"bins", "logits counted into bins by many thread blocks, then selected"},
    {"chunks", "chunks of rows through the cores' local memory"},
    {"host", "on the host, copied there and back"},
    {"packed_chunks", "chunks of rows that were packed first"},
    {"row_loop", "row by row, in vectors along each row"},
};

}  // namespace

std::string kernel_words(const std::string& candidate) {
  const auto found = std::find_if(std::begin(table), std::end(table),
                                  [&](const Words& each) { return candidate == each.candidate; });
  return found == std::end(table) ? "" : found->words;
}

}  // namespace infini
