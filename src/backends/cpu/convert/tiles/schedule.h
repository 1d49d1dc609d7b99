// Transposing conversions: rows of x are converted into a buffer in L1, from which lines of y are transposed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/convert/move.h"
#include "backends/cpu/rearrange/tiles/schedule.h"
#include "contract/kernels.h"

namespace infini::cpu {

// Tiles as of a rearrangement of y's elements, with x's own steps; and for each of their loops those of scale and shift.
// Law: its points, with the offsets of all four operands, are those of the plan's nest, each once.
struct ConvertTiles {
  TileSchedule tiles;
  // Steps of scale (dst) and shift (src), in the order of the tiles' loops.
  std::vector<Loop> outer, rows, columns;
  int64_t offsets[2] = {};  // of scale and shift, where the tiles begin
};

// Null when the plan is no transposition.
std::optional<ConvertTiles> make_convert_tiles(const OperatorPlan& plan, const Policy& policy);

double convert_tiles_ns(const ConvertTiles& schedule, const OperatorPlan& plan,
                        const Setting& setting);

std::unique_ptr<OperatorKernel> make_tile_converter(ConvertTiles schedule, const OperatorPlan& plan,
                                                    const Policy& policy);

std::string to_string(const ConvertTiles& schedule);

}  // namespace infini::cpu
