// Making a planes schedule: two loops are the planes and what lies along them, the others the grid.
#include "backends/gpu/rearrange/planes/make_schedule.h"

#include <limits>
#include <sstream>

#include "base/checked.h"

namespace infini::gpu {
namespace {

constexpr int64_t grid_limit = std::numeric_limits<int32_t>::max();

// The loop with these steps, or -1. A step of 0 stands for any.
int find_loop(const UnitNest& nest, int64_t dst_step, int64_t src_step) {
  for (int i = 0; i < nest.depth; ++i)
    if ((dst_step == 0 || nest.loops[i].dst_step == dst_step) &&
        (src_step == 0 || nest.loops[i].src_step == src_step))
      return i;
  return -1;
}

// Which loops number the planes and the units along them.
struct Roles {
  int planes = -1, along = -1;
};

Roles find_roles(const UnitNest& nest, bool joins) {
  const int64_t unit = nest.unit;
  Roles roles;
  roles.planes = joins ? find_loop(nest, unit, 0) : find_loop(nest, 0, unit);
  if (roles.planes < 0) return roles;
  const int64_t apart = nest.loops[roles.planes].extent * unit;
  roles.along = joins ? find_loop(nest, apart, unit) : find_loop(nest, unit, apart);
  return roles;
}

bool add_grid(const UnitNest& nest, const Roles& roles, PlanesSchedule& s) {
  const int64_t units = int64_t{block_chunks} * vector_bytes / nest.unit;
  int64_t blocks = ceil_div(int64_t{s.length}, units);
  s.pieces = make_fast_divisor(static_cast<uint32_t>(blocks));
  for (int i = nest.depth; i-- > 0;) {
    const Loop& loop = nest.loops[i];
    if (i == roles.planes || i == roles.along) continue;
    if (loop.dst_step % vector_bytes != 0 || loop.src_step % vector_bytes != 0 ||
        s.grid_depth == max_grid_loops || loop.extent > grid_limit ||
        !checked_mul(blocks, loop.extent, blocks) || blocks > grid_limit)
      return false;
    s.grid[s.grid_depth++] = {make_fast_divisor(static_cast<uint32_t>(loop.extent)), loop.dst_step,
                              loop.src_step};
  }
  s.blocks = static_cast<uint32_t>(blocks);
  return true;
}

}  // namespace

std::optional<PlanesSchedule> make_planes_schedule(const UnitNest& nest, int64_t least_bytes) {
  if (nest.unit > 4) return std::nullopt;
  for (const bool joins : {false, true}) {
    const Roles roles = find_roles(nest, joins);
    if (roles.planes < 0 || roles.along < 0) continue;
    const Loop &planes = nest.loops[roles.planes], &along = nest.loops[roles.along];
    PlanesSchedule s{};
    s.plane_step = joins ? planes.src_step : planes.dst_step;
    if (planes.extent < min_planes || planes.extent > max_planes ||
        along.extent * nest.unit < least_bytes || along.extent > grid_limit / 4 ||
        s.plane_step % vector_bytes != 0)
      continue;
    s.unit = nest.unit;
    s.planes = static_cast<int32_t>(planes.extent);
    s.joins = joins;
    s.length = static_cast<uint32_t>(along.extent);
    s.shared_bytes = static_cast<uint32_t>(block_chunks * vector_bytes * s.planes);
    s.dst_offset = nest.dst_offset;
    s.src_offset = nest.src_offset;
    if (add_grid(nest, roles, s)) return s;
  }
  return std::nullopt;
}

std::string to_string(const PlanesSchedule& s) {
  std::ostringstream text;
  text << (s.joins ? "joins " : "splits ") << s.planes << " planes of " << s.length << " units of "
       << s.unit << " B in " << s.blocks << " blocks";
  return text.str();
}

}  // namespace infini::gpu
