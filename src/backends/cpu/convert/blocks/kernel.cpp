// Convert on the CPU: every thread brings blocks together, converts them in its first cache and puts them into y.
#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/backend.h"
#include "backends/cpu/convert/blocks/schedule.h"
#include "backends/cpu/convert/kernel.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/schedule.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/error.h"

namespace infini::cpu {
namespace {

constexpr int64_t least_line = 32;  // elements of one scale; shorter lines take theirs from a table
constexpr unsigned most_ragged = 4;

// What one thread needs besides its stack frame.
struct Buffers {
  alignas(64) char x[convert_block_bytes];
  alignas(64) char y[convert_block_bytes];
  alignas(64) float tables[2][convert_block_elements];
  LineScratch line;
};

// Blocks of one shape: the kernels that bring them together and apart; null where they lie together.
struct Shape {
  ConvertBlock block;
  std::shared_ptr<RearrangeKernel> gather, scatter;
  ConvertRuns from_x, into_y;                  // instead of the one or the other
  std::shared_ptr<RearrangeKernel> last = {};  // behind from_x
};

bool moves_nothing(const RearrangePlan& plan) { return plan.depth == 0; }

class Blocks final : public ConvertKernel {
 public:
  Blocks(ConvertSchedule schedule, const OperatorPlan& plan, int threads, infini::Device& device)
      : ConvertKernel(plan, threads),
        schedule_(std::move(schedule)),
        ragged_(ragged_sides(schedule_)) {
    require(ragged_.size() <= most_ragged, INFINI_STATUS_INTERNAL_ERROR,
            "convert: ", ragged_.size(), " sides are cut");
    for (unsigned shape = 0; shape < 1u << ragged_.size(); ++shape) {
      shapes_.push_back(make_shape(device, block_of_shape(schedule_, ragged_, shape)));
    }
  }

  const char* candidate() const override { return "blocks"; }
  std::string schedule() const override {
    return with_setting(to_string(schedule_) + (shapes_[0].gather ? ", gathered" : ""));
  }

 private:
  void execute(const OperatorRun& run) const override {
    const int threads = threads_ == 1 ? 1 : std::min(threads_, available_threads());
    parallel_for(schedule_.blocks, static_cast<int>(std::min<int64_t>(threads, schedule_.blocks)),
                 [&](int64_t begin, int64_t end) {
                   Buffers buffers;
                   for (int64_t block = begin; block < end; ++block)
                     run_block(run, block, block + 1 < end, buffers);
                   if (schedule_.streams) streaming_fence();
                 });
  }

  Shape make_shape(infini::Device& device, ConvertBlock block) const {
    const infiniDtype_t y = plan_.dtypes[0], x = plan_.dtypes[1];
    const auto gather = gather_plan(schedule_, block, x),
               scatter = scatter_plan(schedule_, block, y);
    Shape shape{std::move(block), nullptr, nullptr, {}, {}};
    if (!moves_nothing(gather) && line_.y_bytes() < line_.x_bytes())
      shape.from_x = runs_of_x(schedule_, shape.block, line_.y_bytes(), line_.x_bytes());
    if (shape.from_x.elements > 0) {
      shape.last = make_rearrange(device, last_plan(schedule_, shape.block, y), {});
      return shape;
    }
    if (!moves_nothing(gather)) shape.gather = make_rearrange(device, gather, {});
    if (moves_nothing(scatter)) return shape;
    shape.into_y = runs_into_y(schedule_, shape.block, line_.y_bytes(), line_.x_bytes());
    if (shape.into_y.elements == 0) shape.scatter = make_rearrange(device, scatter, {});
    return shape;
  }

  void run_block(const OperatorRun& run, int64_t number, bool more, Buffers& buffers) const {
    char* at[4];
    const int64_t next = number + 1;
    for (int k = 0; k < 4; ++k) at[k] = operand(run, k);
    unsigned shape = 0;
    for (size_t i = schedule_.sides.size(), r = ragged_.size(); i-- > 0;) {
      const auto& side = schedule_.sides[i];
      const int64_t index = number % side.blocks();
      number /= side.blocks();
      for (int k = 0; k < 4; ++k) at[k] += index * side.block * side.steps[k];
      if (r > 0 && ragged_[r - 1] == static_cast<int>(i)) {
        --r;
        if (index == side.blocks() - 1) shape |= 1u << r;
      }
    }
    const Shape& blocks = shapes_[shape];
    const char* x = at[1];
    if (blocks.from_x.elements > 0) {
      convert_runs(blocks.from_x, {buffers.y, at[1], at[2], at[3]}, {schedule_.streams, false},
                   buffers);
      return blocks.last->run(at[0], buffers.y, nullptr);
    }
    if (blocks.gather) {
      blocks.gather->run(buffers.x, x, nullptr);
      x = buffers.x;
    }
    if (blocks.gather && more) fetch(run, next);
    const Flow flow{schedule_.streams && !blocks.gather, schedule_.streams && !blocks.scatter};
    if (blocks.into_y.elements > 0)
      return convert_runs(blocks.into_y, {at[0], const_cast<char*>(x), at[2], at[3]}, flow,
                          buffers);
    convert_block(blocks.block, blocks.scatter ? buffers.y : at[0], x, at, flow, buffers);
    if (blocks.scatter) blocks.scatter->run(at[0], buffers.y, nullptr);
  }

  // Each run of a block by itself.
  void convert_runs(const ConvertRuns& runs, std::array<char*, 4> at, Flow flow,
                    Buffers& buffers) const {
    int64_t index[max_rank + 1] = {};
    for (size_t i = 0; i <= runs.outer.size();) {
      ConvertLines line = LineConverter::line(at[0], at[1], runs.elements, flow);
      float one[2];
      for (size_t k = 0; k < 2; ++k)
        if (plan_.conversion.along[k]) line.number[k] = number_at(at[2 + k], one[k]);
      line_.convert(line, buffers.line);
      for (i = runs.outer.size(); i > 0; --i) {
        const OperatorLoop& loop = runs.outer[i - 1];
        for (size_t k = 0; k < 4; ++k) at[k] += loop.steps[k];
        if (++index[i - 1] < loop.extent) break;
        for (size_t k = 0; k < 4; ++k) at[k] -= index[i - 1] * loop.steps[k];
        index[i - 1] = 0;
      }
      if (i == 0) return;
    }
  }

  // The rows of the next block: along y's innermost side, each as long as x's innermost side is in a block.
  void fetch(const OperatorRun& run, int64_t number) const {
    const char* x = static_cast<const char*>(run.operands[1]) + plan_.offsets[1];
    int64_t bytes = line_.x_bytes();
    const auto& inner = schedule_.sides.back();
    int64_t rows = inner.block;
    for (size_t i = schedule_.sides.size(); i-- > 0;) {
      const auto& side = schedule_.sides[i];
      const int64_t index = number % side.blocks();
      number /= side.blocks();
      x += index * side.block * side.steps[1];
      if (&side == &inner) rows = std::min(rows, side.extent - index * side.block);
      if (&side != &inner && side.steps[1] == bytes) bytes *= side.block;
    }
    // Short rows are followed by the hardware, and steps that are no pages are few lines.
    if (bytes < 32 || inner.steps[1] < 1024) return;
    for (; rows > 0; --rows, x += inner.steps[1])
      for (int64_t byte = 0; byte < bytes; byte += line_bytes) __builtin_prefetch(x + byte, 0, 2);
  }

  // The elements of a block, which lie together in x, into y.
  void convert_block(const ConvertBlock& block, char* y, const char* x, char* const* at, Flow flow,
                     Buffers& buffers) const {
    ConvertLines lines = LineConverter::line(y, x, block.elements, flow);
    float one[2];
    for (int k = 0; k < 2; ++k)
      if (plan_.conversion.along[k]) lines.number[k] = number_at(at[2 + k], one[k]);
    const int axis = schedule_.axis;
    if (axis < 0 || block.extents[static_cast<size_t>(axis)] == 1)
      return line_.convert(lines, buffers.line);
    int64_t line = 1;
    for (size_t i = static_cast<size_t>(axis) + 1; i < block.extents.size(); ++i)
      line *= block.extents[i];
    const auto& side = schedule_.sides[static_cast<size_t>(axis)];
    const int64_t extent = block.extents[static_cast<size_t>(axis)];
    if (line < least_line) {
      for (int k = 0; k < 2; ++k) {
        const int64_t step = side.steps[2 + k];
        if (!plan_.conversion.along[k] || step == 0) continue;
        lines.column_step[k] = 1;
        lines.number[k] = reinterpret_cast<const float*>(at[2 + k]);
        if (extent == block.elements && step == sizeof(float)) continue;
        fill(buffers.tables[k], at[2 + k], step, extent, line, block.elements);
        lines.number[k] = buffers.tables[k];
      }
      return line_.convert(lines, buffers.line);
    }
    lines.columns = line;
    for (int64_t i = 0, count = block.elements / line; i < count; ++i) {
      for (int k = 0; k < 2; ++k)
        if (lines.number[k] != nullptr)
          number_at(at[2 + k] + i % extent * side.steps[2 + k], one[k]);
      line_.convert(lines, buffers.line);
      lines.y += line * line_.y_bytes();
      lines.x += line * line_.x_bytes();
    }
  }

  static const float* number_at(const char* from, float& number) {
    std::memcpy(&number, from, sizeof number);
    return &number;
  }

  // Each number `line` times, and all of them again until the table is full.
  static void fill(float* table, const char* from, int64_t step, int64_t extent, int64_t line,
                   int64_t elements) {
    const int64_t period = extent * line;
    for (int64_t i = 0; i < extent; ++i) {
      float number;
      std::memcpy(&number, from + i * step, sizeof number);
      std::fill_n(table + i * line, line, number);
    }
    for (int64_t done = period; done < elements;) {
      const int64_t more = std::min(done, elements - done);
      std::memcpy(table + done, table, static_cast<size_t>(more) * sizeof(float));
      done += more;
    }
  }

  ConvertSchedule schedule_;
  std::vector<int> ragged_;
  std::vector<Shape> shapes_;
};

}  // namespace

std::unique_ptr<OperatorKernel> make_block_converter(ConvertSchedule schedule,
                                                     const OperatorPlan& plan, const Policy& policy,
                                                     infini::Device& device) {
  return std::make_unique<Blocks>(std::move(schedule), plan, convert_threads(plan, policy), device);
}

}  // namespace infini::cpu
