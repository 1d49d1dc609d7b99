// How a stream gemm is cut into blocks, and whether to take that way at all.
#include <algorithm>

#include "backends/nvidia/gemm/stream/schedule.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::nvidia {
namespace {

constexpr int64_t most_extent = INT32_MAX / 2;
constexpr int64_t most_chunk = 4096, chunk_elements = 16 * 1024;
constexpr int64_t blocks_beside = 2;                                  // on a processor
constexpr int64_t least_bytes = 2'000'000, large_bytes = 60'000'000;  // of B
constexpr int64_t least_extent = 64;  // of B's, else its lines or their number are too small
constexpr int64_t least_part = 256, least_part_per_row = 16;

// All lines begin at multiples of 16 bytes, if the first one does.
bool has_even_lines(const GemmOperand& x) {
  const auto even = [](int64_t step) { return step == 2 || step % gpu::vector_bytes == 0; };
  return even(x.row_step) && even(x.col_step) && x.batch_step % gpu::vector_bytes == 0;
}

}  // namespace

std::optional<gpu::SkinnySchedule> make_stream_schedule(const GemmPlan& plan, int processors) {
  if (dtype_bytes(plan.a.dtype) != 2 || plan.m < 1 || plan.m > most_stream_rows || plan.k < 1 ||
      !gpu::has_lines(plan) || std::max({plan.n, plan.k, plan.batch}) > most_extent)
    return std::nullopt;
  gpu::SkinnySchedule s = gpu::make_skinny_schedule(plan);
  s.across = gpu::skinny_threads / stream_warps;
  const int64_t unit = stream_unit(s.k_inside);
  const int64_t groups = plan.batch * ceil_div(plan.n, stream_columns(s.k_inside, false)),
                wanted =
                    std::max<int64_t>(1, blocks_beside * processors / std::max<int64_t>(groups, 1)),
                least = std::max(least_part, round_up(least_part_per_row * plan.m, unit));
  s.part = std::max(least, round_up(ceil_div(plan.k, wanted), unit));
  s.parts = ceil_div(plan.k, s.part);
  const int64_t chunk = std::min(most_chunk, chunk_elements / plan.m / unit * unit);
  s.chunk = round_up(ceil_div(s.part, ceil_div(s.part, chunk)), unit);
  return s;
}

// Where lines and extents are no multiples of 16 bytes, there cuBLASLt is at a quarter of what
// memory gives. It has kernels for one row and lines that begin anywhere, which are slow with large
// matrices only.
bool stream_gemm_pays(const GemmPlan& plan, int processors) {
  const auto s = make_stream_schedule(plan, processors);
  const int64_t bytes = 2 * plan.batch * plan.n * plan.k;
  if (!s || plan.m > unit_rows || bytes < least_bytes || std::min(plan.n, plan.k) < least_extent)
    return false;
  const bool lines = has_even_lines(plan.b), others = has_even_lines(plan.a) &&
                                                      has_even_lines(plan.c) &&
                                                      (plan.n | plan.k) % 8 == 0;
  return plan.m > 1 ? !lines || !others : lines ? !others : bytes >= large_bytes;
}

}  // namespace infini::nvidia
