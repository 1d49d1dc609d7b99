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
    {"tiny", "plain loops, for what is over before anything else has begun"},
    {"nest", "plain loops, in blocks that are short on both sides"},
    {"repeated", "one repetition is made, the others are copied from it"},
    {"shuffle", "vector registers permuted by a program made for this layout"},
    {"runs", "long runs: copied, filled, reversed, strided or interleaved"},
    {"copy", "long runs, each copied"},
    {"flip", "runs that are reversed"},
    {"blocks", "boxes with long runs on both sides, put together in L1"},
    {"tiles", "tiles that are transposed in vector registers"},
    {"rows", "long rows, each a vector copy"},
    {"planes", "planes that are interleaved or taken apart"},
    {"transpose", "tiles that are transposed in shared memory"},
    {"tile", "tiles through shared memory"},
    {"scatter", "an element each thread, in dst's order"},
    {"generic", "an element each thread, any layout"},
    {"direct", "one pass without packing, for small products"},
    {"sweep", "few rows against large weights, at memory's speed"},
    {"amx", "tiles of the matrix unit (AMX)"},
    {"skinny", "few rows or columns, as dot products"},
    {"onednn", "oneDNN's matmul"},
    {"openblas", "OpenBLAS"},
    {"blocked", "panels packed into the caches, outer products in registers"},
    {"weights", "few rows against weights, by one launch"},
    {"lt", "cuBLASLt"},
    {"chunks", "chunks of rows through the cores' local memory"},
    {"packed_chunks", "chunks of rows that were packed first"},
    {"aclnn", "the vendor's operators"},
    {"aclnn_packed", "the vendor's operators on dense copies"},
    {"host", "on the host, copied there and back"},
};

}  // namespace

std::string kernel_words(const std::string& candidate) {
  const auto found = std::find_if(std::begin(table), std::end(table),
                                  [&](const Words& each) { return candidate == each.candidate; });
  return found == std::end(table) ? "" : found->words;
}

}  // namespace infini
