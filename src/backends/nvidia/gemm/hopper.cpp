// Costs of products as fitted on an H200, see fitted_costs.h.
#include "backends/nvidia/gemm/fitted_costs.h"

namespace infini::nvidia {

const GemmCosts hopper_products = {
    .fitted_on = "NVIDIA H200",
    .start = {.weights = 2500,
              .ring = 2540,
              .boxes = 2580,
              .small = 2620,
              .stream = 2660,
              .skinny = 2700,
              .library = 3200,
              .generic = 4000},
    .near_least = 1.1,
    .far_from_least = 50,
    .unmeasured_start = 4000,
    .library_arithmetic = 1.65,
    .library_bytes = 1.26,
    .ragged_arithmetic = 7.1,
    .thin_ragged_arithmetic = 13.4,
    .thin = 1200,
    .copy_bytes = 2.05,
    .pack_start = 1500,
    .packs = 5,
    .plain_arithmetic = 40,
    .skinny_elements = 500e3,
    .ring_bytes = 1.54,
    .pass_bytes = 1.64,
    .pass_start = 2000,
};

}  // namespace infini::nvidia
