// Convert on the CPU: every thread brings blocks together, converts them in its first cache and puts them into y.
#include <algorithm>
#include <cstring>

#include "backends/cpu/backend.h"
#include "backends/cpu/convert/convert.h"
#include "backends/cpu/convert/lanes.h"
#include "backends/cpu/convert/schedule.h"
#include "backends/cpu/rearrange/copy_bytes.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/schedule.h"
#include "backends/cpu/runtime/parallel.h"
#include "backends/cpu/runtime/stream.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "base/error.h"

namespace infini::cpu {
namespace {

constexpr int64_t chunk = 256;  // elements that are computed at once
constexpr int64_t bytes_per_thread = 128 << 10;
constexpr int64_t least_line = 32;  // elements of one scale; shorter lines take theirs from a table
constexpr int64_t least_streamed = 128;  // bytes of a run that goes past the caches
constexpr unsigned most_ragged = 4;

// Asks for the lines of x that a block gathers, a few at a time while the one before it is converted.
class Fetch {
 public:
  // `rows` runs of `run` bytes, `step` apart; none unless there are rows.
  void begin(const char* x, int64_t rows, int64_t step, int64_t run) {
    at_ = x, rows_ = rows, step_ = step, run_ = run;
  }
  [[gnu::always_inline]] void some(int64_t count) {
    for (; count > 0 && rows_ > 0; --count, --rows_, at_ += step_)
      for (int64_t byte = 0; byte < run_; byte += 64) __builtin_prefetch(at_ + byte, 0, 2);
  }

 private:
  const char* at_ = nullptr;
  int64_t rows_ = 0, step_ = 0, run_ = 0;
};

// What one thread needs besides its stack frame.
struct Buffers {
  alignas(64) char x[convert_block_bytes];
  alignas(64) char y[convert_block_bytes];
  alignas(64) float tables[2][convert_block_elements];
  alignas(64) double work[chunk];
  alignas(64) double wide_tables[2][chunk];
  Fetch fetch;
};

// scale and shift of a line of elements: one number each, or one for each element.
struct Numbers {
  const void* of[2];  // one number wherever it lies, or a table of ours
  int steps[2];
  double constants[2];  // where `of` is null
};

// Blocks of one shape: the kernels that bring them together and apart; null where they lie together.
struct Shape {
  ConvertBlock block;
  std::shared_ptr<RearrangeKernel> gather, scatter;
};

bool moves_nothing(const RearrangePlan& plan) { return plan.depth == 0; }

class Convert final : public OperatorKernel {
 public:
  Convert(infini::Device& device, const OperatorPlan& plan)
      : plan_(plan),
        lanes_(convert_lanes(isa())),
        schedule_(make_convert_schedule(
            plan, current_policy().streamed_bytes * std::max(1, current_policy().threads))),
        ragged_(ragged_sides(schedule_)),
        wide_(is_wide(format_in(plan, 0)) || is_wide(format_in(plan, 1))) {
    require(ragged_.size() <= most_ragged, INFINI_STATUS_INTERNAL_ERROR,
            "convert: ", ragged_.size(), " sides are cut");
    for (unsigned shape = 0; shape < 1u << ragged_.size(); ++shape) {
      Shape made{block_of_shape(schedule_, ragged_, shape), nullptr, nullptr};
      const auto gather = gather_plan(schedule_, made.block, plan.dtypes[1]),
                 scatter = scatter_plan(schedule_, made.block, plan.dtypes[0]);
      if (!moves_nothing(gather)) made.gather = make_rearrange(device, gather, {});
      if (!moves_nothing(scatter)) made.scatter = make_rearrange(device, scatter, {});
      runs_.push_back(scatter.atom_bytes);
      shapes_.push_back(std::move(made));
    }
    const int64_t bytes =
        saturating_mul(dtype_bytes(plan.dtypes[0]) + dtype_bytes(plan.dtypes[1]),
                       saturating_mul(schedule_.blocks, shapes_[0].block.elements));
    threads_ = static_cast<int>(std::clamp<int64_t>(bytes / bytes_per_thread, 1, 1024));
  }

  const char* candidate() const override { return "blocks"; }
  std::string schedule() const override {
    return to_string(schedule_) + (shapes_[0].gather ? ", gathered" : "") +
           (wide_ ? ", in f64, " : ", in f32, ") + isa_name(isa()) + ", at most " +
           std::to_string(threads_) + " threads";
  }

  void run(const OperatorRun& run) const override {
    if (run.stream != nullptr) [[unlikely]] {
      if (const auto recording = capture_of(run.stream)) {
        recording->add([self = shared_from_this(), this, run] { execute(run); });
        return;
      }
    }
    execute(run);
  }

 private:
  void execute(const OperatorRun& run) const {
    const int threads = threads_ == 1 ? 1 : std::min(threads_, available_threads());
    parallel_for(schedule_.blocks, static_cast<int>(std::min<int64_t>(threads, schedule_.blocks)),
                 [&](int64_t begin, int64_t end) {
                   Buffers buffers;
                   for (int64_t block = begin; block < end; ++block)
                     run_block(run, block, block + 1 < end, buffers);
                   if (schedule_.streams) streaming_fence();
                 });
  }

  void run_block(const OperatorRun& run, int64_t number, bool more, Buffers& buffers) const {
    char* at[4];
    const int64_t next = number + 1;
    for (int k = 0; k < 4; ++k) at[k] = static_cast<char*>(run.operands[k]) + plan_.offsets[k];
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
    if (blocks.gather) {
      blocks.gather->run(buffers.x, x, nullptr);
      x = buffers.x;
    }
    if (blocks.gather && more) fetch(run, next, buffers);
    const bool dense = !blocks.scatter;
    const Flow flow{schedule_.streams && !blocks.gather, schedule_.streams && dense};
    convert_block(blocks.block, dense ? at[0] : buffers.y, x, at, flow, buffers);
    if (dense) return;
    if (schedule_.streams && runs_[shape] >= least_streamed)
      stream_runs(blocks.block, at[0], buffers.y, runs_[shape]);
    else
      blocks.scatter->run(at[0], buffers.y, nullptr);
  }

  // The rows of the next block: along y's innermost side, each as long as x's innermost side is in a block.
  void fetch(const OperatorRun& run, int64_t number, Buffers& buffers) const {
    const char* x = static_cast<const char*>(run.operands[1]) + plan_.offsets[1];
    int64_t bytes = dtype_bytes(plan_.dtypes[1]);
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
    if (bytes >= 32 && inner.steps[1] >= 1024) buffers.fetch.begin(x, rows, inner.steps[1], bytes);
  }

  size_t y_bytes() const { return static_cast<size_t>(dtype_bytes(plan_.dtypes[0])); }

  // Puts a block's runs into y past the caches.
  void stream_runs(const ConvertBlock& block, char* y, const char* from, int64_t run) const {
    const auto& sides = schedule_.sides;
    // The sides inside a run lie together; those outside are counted.
    size_t outer = sides.size();
    for (int64_t bytes = static_cast<int64_t>(y_bytes()); outer > 0 && bytes < run;)
      bytes *= block.extents[--outer];
    int64_t index[max_rank + 1] = {};
    for (const char* const end = from + block.elements * static_cast<int64_t>(y_bytes());;) {
      copy_streamed(y, from, run);
      from += run;
      if (from == end) return;
      for (size_t i = outer; i-- > 0;) {
        y += sides[i].steps[0];
        if (++index[i] < block.extents[i]) break;
        y -= index[i] * sides[i].steps[0];
        index[i] = 0;
      }
    }
  }

  // The elements of a block, which lie together in x, into y.
  void convert_block(const ConvertBlock& block, char* y, const char* x, char* const* at, Flow flow,
                     Buffers& buffers) const {
    Numbers numbers = one_for_all(at);
    const int axis = schedule_.axis;
    if (axis < 0 || block.extents[static_cast<size_t>(axis)] == 1)
      return convert_line(y, x, block.elements, numbers, flow, buffers);
    int64_t line = 1;
    for (size_t i = static_cast<size_t>(axis) + 1; i < block.extents.size(); ++i)
      line *= block.extents[i];
    const auto& side = schedule_.sides[static_cast<size_t>(axis)];
    const int64_t extent = block.extents[static_cast<size_t>(axis)];
    if (line < least_line) {
      for (int k = 0; k < 2; ++k)
        if (numbers.of[k] != nullptr && side.steps[2 + k] != 0) {
          numbers.steps[k] = 1;
          numbers.of[k] = at[2 + k];
          if (extent == block.elements && side.steps[2 + k] == 4) continue;
          fill(buffers.tables[k], at[2 + k], side.steps[2 + k], extent, line, block.elements);
          numbers.of[k] = buffers.tables[k];
        }
      return convert_line(y, x, block.elements, numbers, flow, buffers);
    }
    const int64_t to = line * static_cast<int64_t>(y_bytes()),
                  from = line * dtype_bytes(plan_.dtypes[1]);
    for (int64_t i = 0, lines = block.elements / line; i < lines; ++i) {
      for (int k = 0; k < 2; ++k)
        if (numbers.of[k] != nullptr) numbers.of[k] = at[2 + k] + i % extent * side.steps[2 + k];
      convert_line(y + i * to, x + i * from, line, numbers, flow, buffers);
    }
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

  static const float* tables(const Numbers& numbers, int k) {
    return static_cast<const float*>(numbers.of[k]);
  }

  Numbers one_for_all(char* const* at) const {
    Numbers numbers{};
    const Conversion& c = plan_.conversion;
    numbers.constants[0] = c.scale;
    numbers.constants[1] = c.shift;
    for (int k = 0; k < 2; ++k)
      if (c.along[k]) numbers.of[k] = at[2 + k];
    return numbers;
  }

  // What goes past the caches begins with a whole line of y; the elements before it do not.
  void convert_line(char* y, const char* x, int64_t count, const Numbers& numbers, Flow flow,
                    Buffers& buffers) const {
    const int64_t x_bytes = dtype_bytes(plan_.dtypes[1]), to = static_cast<int64_t>(y_bytes());
    const auto before = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(y) % line_bytes);
    const int64_t head = flow.past && before % to == 0 ? std::min(before / to, count) : 0;
    for (int64_t i = 0, now; i < count; i += now) {
      now = i < head ? head : std::min(chunk, count - i);
      buffers.fetch.some(4);
      if (wide_)
        convert_wide(y + i * to, x + i * x_bytes, i, now, numbers, flow, buffers);
      else
        convert_narrow(y + i * to, x + i * x_bytes, i, now, numbers, flow, buffers);
    }
  }

  void convert_narrow(char* y, const char* x, int64_t first, int64_t count, const Numbers& numbers,
                      Flow flow, Buffers& buffers) const {
    const Format from = format_in(plan_, 1), to = format_in(plan_, 0);
    const bool scales = computes(plan_.conversion), saturates = plan_.conversion.saturates;
    auto* const work = reinterpret_cast<float*>(buffers.work);
    // f32 that are not computed with, and f32 that are the result, need no stop in between.
    if (from == Format::f32 && !scales)
      return lanes_.narrow[static_cast<int>(to)](y, reinterpret_cast<const float*>(x), saturates,
                                                 count, flow);
    const bool last =
        to == Format::f32 && !saturates && reinterpret_cast<uintptr_t>(y) % alignof(float) == 0;
    float* const f = last && !(scales && flow.past) ? reinterpret_cast<float*>(y) : work;
    const bool aligned = reinterpret_cast<uintptr_t>(x) % alignof(float) == 0;
    const float* wide = from == Format::f32 && aligned ? reinterpret_cast<const float*>(x) : f;
    // Only the first step reads what is far, only the last one writes past the caches.
    const Flow writes{false, flow.past};
    const bool widens = wide == f;
    if (widens)
      lanes_.widen[static_cast<int>(from)](f, x, count, {flow.far, flow.past && last && !scales});
    if (scales) {
      float one[2];
      const float* of[2];
      for (int k = 0; k < 2; ++k) {
        one[k] = static_cast<float>(numbers.constants[k]);
        if (numbers.of[k] != nullptr) std::memcpy(&one[k], numbers.of[k], sizeof(float));
        of[k] = numbers.steps[k] == 0 ? &one[k] : tables(numbers, k) + first;
      }
      lanes_.scale(last ? reinterpret_cast<float*>(y) : f, wide, of[0], numbers.steps[0], of[1],
                   numbers.steps[1], count, {flow.far && !widens, flow.past && last});
    }
    if (!last) lanes_.narrow[static_cast<int>(to)](y, f, saturates, count, writes);
  }

  void convert_wide(char* y, const char* x, int64_t first, int64_t count, const Numbers& numbers,
                    Flow flow, Buffers& buffers) const {
    lanes_.widen_wide[static_cast<int>(format_in(plan_, 1))](buffers.work, x, count,
                                                             {flow.far, false});
    if (computes(plan_.conversion)) {
      const double* of[2];
      for (int k = 0; k < 2; ++k) {
        double* const table = buffers.wide_tables[k];
        table[0] = numbers.constants[k];
        if (numbers.of[k] != nullptr && numbers.steps[k] == 0) {
          float one;
          std::memcpy(&one, numbers.of[k], sizeof one);
          table[0] = one;
        } else if (numbers.of[k] != nullptr) {
          std::copy_n(tables(numbers, k) + first, count, table);
        }
        of[k] = table;
      }
      lanes_.scale_wide(buffers.work, buffers.work, of[0], numbers.steps[0], of[1],
                        numbers.steps[1], count, {});
    }
    lanes_.narrow_wide[static_cast<int>(format_in(plan_, 0))](
        y, buffers.work, plan_.conversion.saturates, count, {false, flow.past});
  }

  OperatorPlan plan_;
  const ConvertLanes& lanes_;
  ConvertSchedule schedule_;
  std::vector<int> ragged_;
  bool wide_;
  std::vector<Shape> shapes_;
  std::vector<int64_t> runs_;  // of each shape: bytes that lie together in y
  int threads_;
};

}  // namespace

std::unique_ptr<OperatorKernel> make_convert(infini::Device& device, const OperatorPlan& plan) {
  return std::make_unique<Convert>(device, plan);
}

}  // namespace infini::cpu
