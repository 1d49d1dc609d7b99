// Cycles of our kernels of products as fitted, see product_cycles.h.
#include "backends/cpu/machine/product_cycles.h"

namespace infini::cpu {

const ProductCycles zen4_products = {
    .fitted_on = "AMD Zen 4, amx on Sapphire Rapids",
    .most_vectors = 2,
    .fma_latency = 4,
    .pair_latency = 6,
    .wide_splat = 1,
    .splat = 0.5,
    .seen = 0.3,
    .copied = 2,
    .converted = 5,
    .turned = 0.4,
    .turned_by_16 = 0.5,
    .turned_halves = 1.2,
    .one_by_one = 2,
    .direct =
        {.call = 100, .tile = 40, .panel = 60, .jump = 6, .jumped_bytes = 32 << 10, .again = 1},
    .skinny =
        {.call = 150, .pack_call = 120, .pack = 1.5, .dots = 90, .row = 50, .pieces_share = 0.66},
    .sweep = {.arithmetic_share = 0.92, .call = 4000, .row = 40, .pack = 1.5, .group = 20},
    .blocked = {.tile_share = 0.95, .tile = 40, .call = 300},
    .dpbf16 = {.call = 150,
               .tile = 40,
               .pack = {.by_rows = 0.25, .by_columns = 0.3, .one_by_one = 2},
               .far = 1},
    .dots = {.call = 120, .pack = 0.3, .piece = 30, .sums = 60, .arithmetic_share = 0.8},
    .amx = {.call_ns = 300,
            .product = 600,
            .block = 500,
            .pack = {.by_rows = 0.1, .by_columns = 0.4, .one_by_one = 1.5}},
};

}  // namespace infini::cpu
