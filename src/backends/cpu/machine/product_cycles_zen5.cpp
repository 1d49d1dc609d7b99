// Cycles of our kernels of products as fitted on Zen 5, see product_cycles.h.
#include "backends/cpu/machine/product_cycles.h"

namespace infini::cpu {

const ProductCycles zen5_products = {
    .fitted_on = "AMD Zen 5, amx on Sapphire Rapids",
    .most_vectors = 2,
    .fma_latency = 4,
    .pair_latency = 6,
    .wide_splat = 0.75,
    .splat = 0.6,
    .seen = 0.4,
    .copied = 3.8,
    .converted = 2.85,
    .turned = 0.48,
    .turned_by_16 = 0.39,
    .turned_halves = 0.48,
    .one_by_one = 2,
    .direct =
        {.call = 30, .tile = 20, .panel = 52, .jump = 0.7, .jumped_bytes = 32 << 10, .again = 2},
    .skinny =
        {.call = 85, .pack_call = 80, .pack = 0.6, .dots = 41, .row = 22, .pieces_share = 0.58},
    .sweep = {.arithmetic_share = 0.95, .call = 210, .row = 6, .pack = 5, .group = 16},
    .blocked = {.tile_share = 0.9, .tile = 52, .call = 225},
    .dpbf16 = {.call = 95,
               .tile = 40,
               .pack = {.by_rows = 0.13, .by_columns = 0.16, .one_by_one = 2},
               .far = 1.7},
    .dots = {.call = 120, .pack = 0.3, .piece = 30, .sums = 60, .arithmetic_share = 0.8},
    .amx = {.call_ns = 300,
            .product = 600,
            .block = 500,
            .pack = {.by_rows = 0.1, .by_columns = 0.4, .one_by_one = 1.5}},
};

}  // namespace infini::cpu
