// Convert's kernels, by the sizes of its elements.
#include "backends/gpu/convert/convert.h"

#include <algorithm>
#include <climits>

#include "backends/gpu/convert/tiles.cuh"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::gpu {
namespace {

constexpr int64_t most_planes = 8, least_side = 16, most_joined_bytes = 32 << 10;

template <int bytes>
struct Bytes {
  static constexpr int value = bytes;
};
template <class Use>
auto with_bytes(int64_t bytes, Use use) {
  switch (bytes) {
    case 1: return use(Bytes<1>{});
    case 2: return use(Bytes<2>{});
    case 4: return use(Bytes<4>{});
    default: return use(Bytes<8>{});
  }
}

int64_t y_bytes(const OperatorPlan& plan) { return dtype_bytes(plan.dtypes[0]); }
int64_t x_bytes(const OperatorPlan& plan) { return dtype_bytes(plan.dtypes[1]); }

// More than there are, whichever dim is a side of them.
int64_t tiles_of(const OperatorPlan& plan) {
  int64_t tiles = ceil_div(plan.length, int64_t{tile_along(8)});
  for (int i = 0; i < plan.depth; ++i) tiles = saturating_mul(tiles, plan.loops[i].extent);
  return tiles;
}

// The walk that wants loop i of the plan; rows: none does.
ConvertWalk walk_of(const OperatorPlan& plan, int i) {
  const OperatorLoop& loop = plan.loops[i];
  const bool together = plan.row_steps[0] == y_bytes(plan);
  if (loop.steps[1] != x_bytes(plan) || loop.extent > INT32_MAX) return ConvertWalk::rows;
  if (together && plan.length <= most_planes && loop.extent >= least_side &&
      loop.steps[0] == plan.length * y_bytes(plan) &&
      int64_t{joined_units} * joined_elements(static_cast<int>(x_bytes(plan))) * loop.steps[0] <=
          most_joined_bytes)
    return ConvertWalk::joined;
  if (loop.extent <= most_planes) return ConvertWalk::gathered;
  const bool tiles = together && loop.extent >= least_side && plan.length >= least_side;
  return tiles && tiles_of(plan) <= INT32_MAX ? ConvertWalk::tiles : ConvertWalk::rows;
}

// Vectors are of x as it lies: none of what is repeated.
bool is_packed(const OperatorPlan& plan) {
  const auto lies = [&](int k) { return plan.row_steps[k] == 0 || plan.row_steps[k] == 4; };
  return plan.row_steps[0] == y_bytes(plan) && plan.row_steps[1] == x_bytes(plan) && lies(2) &&
         lies(3);
}

template <int x, int y>
Kernels packs(bool wide) {
  const auto single = kernel_address(convert_elements);
  constexpr int count = pack_elements(x, y);
  if constexpr (x == 8 || y == 8)
    return {single, kernel_address(convert_packs<double, x, y>), count};
  if constexpr (x == 4 || y == 4) {
    if (wide) return {single, kernel_address(convert_packs<double, x, y>), count};
  }
  if constexpr (x < 8 && y < 8) return {single, kernel_address(convert_packs<float, x, y>), count};
}

template <class Number, int x, int y>
Kernels tiles() {
  constexpr int across = x < 4 ? 4 / x : 1, along = y < 4 ? 4 / y : 1;
  return {kernel_address(convert_tiles<Number, x, y, 1, 1>),
          kernel_address(convert_tiles<Number, x, y, across, along>), 1};
}
template <int x, int y>
Kernels tiles_for(bool wide) {
  if constexpr (x == 8 || y == 8) return tiles<double, x, y>();
  if constexpr (x == 4 || y == 4) {
    if (wide) return tiles<double, x, y>();
  }
  if constexpr (x < 8 && y < 8) return tiles<float, x, y>();
}

}  // namespace

ConvertNumbers take_convert_walk(OperatorPlan& plan) {
  const Conversion& c = plan.conversion;
  ConvertNumbers numbers;
  numbers.y = format_in(plan, 0);
  numbers.x = format_in(plan, 1);
  numbers.wide = is_wide(numbers.x) || is_wide(numbers.y);
  numbers.computes = computes(c);
  numbers.saturates = c.saturates;
  std::copy_n(c.along, 2, numbers.along);
  numbers.scale = c.scale;
  numbers.shift = c.shift;
  for (int i = 0; i < plan.depth && plan.row_steps[1] != x_bytes(plan); ++i) {
    const OperatorLoop loop = plan.loops[i];
    numbers.walk = walk_of(plan, i);
    if (numbers.walk == ConvertWalk::rows) continue;
    const bool joined = numbers.walk == ConvertWalk::joined;
    numbers.planes = static_cast<uint32_t>(joined ? plan.length : loop.extent);
    std::copy_n(joined ? plan.row_steps : loop.steps, 4, numbers.plane_steps);
    if (joined) {
      plan.length = loop.extent;
      std::copy_n(loop.steps, 4, plan.row_steps);
    }
    std::copy(plan.loops + i + 1, plan.loops + plan.depth, plan.loops + i);
    --plan.depth;
    break;
  }
  if (numbers.walk == ConvertWalk::rows && !is_packed(plan)) numbers.walk = ConvertWalk::gathered;
  return numbers;
}

Kernels convert_kernels(const OperatorPlan& plan, const ConvertNumbers& numbers) {
  const Kernels elements{kernel_address(convert_elements), nullptr, 1};
  return with_bytes(x_bytes(plan), [&](auto of_x) {
    return with_bytes(y_bytes(plan), [&](auto of_y) {
      constexpr int x = decltype(of_x)::value, y = decltype(of_y)::value;
      if (numbers.walk == ConvertWalk::tiles) return tiles_for<x, y>(numbers.wide);
      if (numbers.walk == ConvertWalk::rows) return packs<x, y>(numbers.wide);
      if constexpr (x < 8 && y < 8) {
        if (numbers.wide) return elements;
        if (numbers.walk == ConvertWalk::joined)
          return Kernels{elements.single, kernel_address(convert_joined<x, y>), joined_elements(x)};
        return Kernels{elements.single, kernel_address(convert_gathered<x, y>),
                       gathered_elements(y)};
      }
      return elements;
    });
  });
}

int64_t convert_unit(const ConvertNumbers& numbers, const infiniDtype_t* dtypes,
                     const int64_t* row_steps, int operand) {
  constexpr int64_t word = 4, vector_of_numbers = 16;
  const auto y = static_cast<int>(dtype_bytes(dtypes[0])),
             x = static_cast<int>(dtype_bytes(dtypes[1]));
  const int64_t bytes = operand == 0 ? y : operand == 1 ? x : word;
  switch (numbers.walk) {
    case ConvertWalk::rows: {
      const int64_t pack = bytes * pack_elements(x, y);
      return operand < 2               ? pack
             : row_steps[operand] == 0 ? word
                                       : std::min(pack, vector_of_numbers);
    }
    case ConvertWalk::gathered: return operand == 0 ? bytes * gathered_elements(y) : bytes;
    case ConvertWalk::joined: return operand == 1 ? bytes * joined_elements(x) : word;
    case ConvertWalk::tiles: break;
  }
  return std::max(bytes, word);
}

bool converts_in_vectors(const OperatorPlan& plan, const ConvertNumbers& numbers) {
  const int64_t y = convert_unit(numbers, plan.dtypes, plan.row_steps, 0),
                x = convert_unit(numbers, plan.dtypes, plan.row_steps, 1);
  for (int k = 0; k < plan.operands; ++k) {
    const int64_t unit = convert_unit(numbers, plan.dtypes, plan.row_steps, k);
    for (int i = 0; i < plan.depth; ++i)
      if (plan.loops[i].steps[k] % unit != 0) return false;
  }
  switch (numbers.walk) {
    case ConvertWalk::rows: return plan.length * y_bytes(plan) % y == 0;
    case ConvertWalk::gathered:
      return plan.row_steps[0] == y_bytes(plan) && plan.length * y_bytes(plan) % y == 0 &&
             numbers.plane_steps[0] % y == 0;
    case ConvertWalk::joined:
      // Under one scale and shift for each plane of a row.
      return plan.length * x_bytes(plan) % x == 0 && numbers.plane_steps[1] % x == 0 &&
             plan.row_steps[2] == 0 && plan.row_steps[3] == 0;
    case ConvertWalk::tiles: break;
  }
  return plan.length * y_bytes(plan) % y == 0 && numbers.planes * x_bytes(plan) % x == 0 &&
         plan.row_steps[1] % x == 0 && numbers.plane_steps[0] % y == 0;
}

uint32_t convert_blocks(const ConvertNumbers& numbers, const RowNest& nest, bool in_vectors) {
  const auto y = static_cast<int>(dtype_bytes(nest.dtypes[0])),
             x = static_cast<int>(dtype_bytes(nest.dtypes[1]));
  if (numbers.walk == ConvertWalk::tiles)
    return ceil_div(nest.length, tile_along(y)) * ceil_div(numbers.planes, tile_across(x, y));
  if (numbers.walk == ConvertWalk::joined && in_vectors)
    return ceil_div(nest.length, joined_units * static_cast<uint32_t>(joined_elements(x)));
  return 0;
}

size_t convert_shared_bytes(const ConvertNumbers& numbers, const RowNest& nest) {
  const auto y = static_cast<int>(dtype_bytes(nest.dtypes[0])),
             x = static_cast<int>(dtype_bytes(nest.dtypes[1]));
  const auto bytes = static_cast<size_t>(y);
  if (numbers.walk == ConvertWalk::joined)
    return joined_units * static_cast<size_t>(joined_elements(x)) * numbers.planes * bytes;
  if (numbers.walk != ConvertWalk::tiles) return 0;
  const int along = y < 4 ? 4 / y : 1;
  return tile_across(x, y) * bytes *
         std::max(tile_pitch(y, 1), tile_pitch(y, along) * static_cast<uint32_t>(along));
}

}  // namespace infini::gpu
