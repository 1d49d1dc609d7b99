// Elementwise and row operators, prepared: all but the operands' addresses is known when they are made.
#include "backends/gpu/operators/operators.h"

#include <algorithm>
#include <climits>
#include <vector>

#include "backends/gpu/operators/cast.cuh"
#include "backends/gpu/operators/convert.cuh"
#include "backends/gpu/operators/sample.cuh"
#include "backends/gpu/runtime/check.h"
#include "backends/gpu/runtime/device.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::gpu {
namespace {

constexpr int64_t most_units = INT32_MAX;
constexpr int64_t most_blocks = 1 << 16;  // each takes more than one unit then
constexpr int64_t many_blocks = 4096;
constexpr int vector = 16;

template <class Use>
auto with_float(infiniDtype_t dtype, Use use) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return use(Half{});
    case INFINI_DTYPE_BF16: return use(Bfloat{});
    case INFINI_DTYPE_F32: return use(float{});
    default: return use(double{});
  }
}
template <class Use>
auto with_number(infiniDtype_t dtype, Use use) {
  if (dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16 || dtype == INFINI_DTYPE_F32 ||
      dtype == INFINI_DTYPE_F64)
    return with_float(dtype, use);
  switch (dtype_bytes(dtype)) {
    case 1: return use(uint8_t{});
    case 2: return use(uint16_t{});
    case 4: return use(uint32_t{});
    default: return use(uint64_t{});
  }
}

// The kernel for single elements and, where it exists, the one for vectors of them.
struct Kernels {
  const void *single, *vectors;
  int count;  // elements of a vector
};

template <class Use>
auto with_word(int64_t bytes, Use use) {
  switch (bytes) {
    case 1: return use(uint8_t{});
    case 2: return use(uint16_t{});
    case 4: return use(uint32_t{});
    default: return use(uint64_t{});
  }
}

Kernels convert_kernels(const OperatorPlan& plan) {
  const auto single = kernel_address(convert_elements);
  if (plan.row_steps[2] != 0 || plan.row_steps[3] != 0) return {single, nullptr, 1};
  return with_word(dtype_bytes(plan.dtypes[1]), [&](auto x) {
    return with_word(dtype_bytes(plan.dtypes[0]), [&](auto y) {
      using X = decltype(x);
      using Y = decltype(y);
      constexpr int count =
          vector / static_cast<int>(sizeof(X) < sizeof(Y) ? sizeof(Y) : sizeof(X));
      return Kernels{single, kernel_address(convert_packs<X, Y, count>), count};
    });
  });
}

bool is_short_float(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16 || dtype == INFINI_DTYPE_F32;
}

template <class To>
Kernels cast_kernels(infiniDtype_t from) {
  constexpr int narrow = vector / (sizeof(To) == 4 ? 4 : 2), wide = vector / 4;
  const void* const any = kernel_address(cast_elements);
  switch (from) {
    case INFINI_DTYPE_F16: return {any, kernel_address(cast_floats<To, Half, narrow>), narrow};
    case INFINI_DTYPE_BF16: return {any, kernel_address(cast_floats<To, Bfloat, narrow>), narrow};
    default: return {any, kernel_address(cast_floats<To, float, wide>), wide};
  }
}

Kernels kernels_of_cast(const OperatorPlan& plan) {
  if (!is_short_float(plan.dtypes[0]) || !is_short_float(plan.dtypes[1]))
    return {kernel_address(cast_elements), nullptr, 1};
  switch (plan.dtypes[0]) {
    case INFINI_DTYPE_F16: return cast_kernels<Half>(plan.dtypes[1]);
    case INFINI_DTYPE_BF16: return cast_kernels<Bfloat>(plan.dtypes[1]);
    default: return cast_kernels<float>(plan.dtypes[1]);
  }
}

Kernels kernels_of(const OperatorPlan& plan) {
  switch (plan.function) {
    case Function::cast: return kernels_of_cast(plan);
    case Function::convert: return convert_kernels(plan);
    case Function::causal_softmax:
      return with_float(plan.dtypes[0], [](auto x) {
        using T = decltype(x);
        constexpr int count = vector / static_cast<int>(sizeof(T));
        return Kernels{kernel_address(softmax_rows<T, 1>), kernel_address(softmax_rows<T, count>),
                       count};
      });
    case Function::rope:
      return with_float(plan.dtypes[0], [](auto x) {
        using T = decltype(x);
        constexpr int count = vector / static_cast<int>(sizeof(T));
        return Kernels{kernel_address(rotate_pairs<T, 1>), kernel_address(rotate_pairs<T, count>),
                       count};
      });
    case Function::random_sample:
      return with_float(plan.dtypes[1], [](auto x) {
        using T = decltype(x);
        constexpr int count = vector / static_cast<int>(sizeof(T));
        return Kernels{kernel_address(sample_row<T, 1>), kernel_address(sample_row<T, count>),
                       count};
      });
    case Function::rms_norm:
      return with_float(plan.dtypes[0], [&](auto x) {
        using T = decltype(x);
        constexpr int count = vector / static_cast<int>(sizeof(T));
        if constexpr (sizeof(T) == 2) {
          if (plan.dtypes[2] == INFINI_DTYPE_F32)
            return Kernels{kernel_address(norm_rows<T, float, 1>),
                           kernel_address(norm_rows<T, float, 4>), 4};
          if (plan.dtypes[2] == INFINI_DTYPE_F16)
            return Kernels{kernel_address(norm_rows<T, Half, 1>),
                           kernel_address(norm_rows<T, Half, count>), count};
          return Kernels{kernel_address(norm_rows<T, Bfloat, 1>),
                         kernel_address(norm_rows<T, Bfloat, count>), count};
        } else {
          return Kernels{kernel_address(norm_rows<T, T, 1>), kernel_address(norm_rows<T, T, count>),
                         count};
        }
      });
    default:
      return with_number(plan.dtypes[0], [&](auto x) {
        using T = decltype(x);
        constexpr int count = vector / static_cast<int>(sizeof(T));
        if (plan.operands == 2)
          return Kernels{kernel_address(map_elements<T, 1, 2>),
                         kernel_address(map_elements<T, count, 2>), count};
        return Kernels{kernel_address(map_elements<T, 1, 3>),
                       kernel_address(map_elements<T, count, 3>), count};
      });
  }
}

ConvertNumbers convert_numbers(const OperatorPlan& plan) {
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
  return numbers;
}

// Few elements that lie together in x but not in y, as a pixel's channels, are one thread's.
void take_planes(OperatorPlan& plan, ConvertNumbers& numbers) {
  constexpr int64_t most_planes = 8;
  const int64_t bytes = dtype_bytes(plan.dtypes[1]);
  if (plan.row_steps[1] == bytes) return;
  for (int i = 0; i < plan.depth; ++i) {
    const OperatorLoop loop = plan.loops[i];
    if (loop.steps[1] != bytes || loop.extent > most_planes) continue;
    numbers.planes = static_cast<uint32_t>(loop.extent);
    std::copy_n(loop.steps, 4, numbers.plane_steps);
    std::copy(plan.loops + i + 1, plan.loops + plan.depth, plan.loops + i);
    --plan.depth;
    return;
  }
}

// What a launch sees, and the loops that are left for the host.
struct Split {
  RowNest nest{};
  std::vector<OperatorLoop> outer;
};

bool split(const OperatorPlan& plan, Split& out) {
  RowNest& nest = out.nest;
  nest.function = plan.function;
  nest.operands = plan.operands;
  nest.epsilon = plan.epsilon;
  nest.table_rows = plan.table_rows;
  std::copy_n(plan.dtypes, max_operands, nest.dtypes);
  std::copy_n(plan.row_steps, max_operands, nest.row_steps);
  std::copy_n(plan.pair_steps, 2, nest.pair_steps);
  std::copy_n(plan.table_steps, 2, nest.table_steps);
  if (plan.length > most_units) return false;
  nest.length = static_cast<uint32_t>(plan.length);
  int64_t rows = 1;
  int i = plan.depth;
  for (; i > 0 && nest.depth < max_row_loops; --i) {
    const OperatorLoop& loop = plan.loops[i - 1];
    int64_t more, units;
    if (!checked_mul(rows, loop.extent, more) || !checked_mul(more, plan.length, units) ||
        units > most_units)
      break;
    nest.extents[nest.depth] = make_fast_divisor(static_cast<uint32_t>(loop.extent));
    std::copy_n(loop.steps, max_operands, nest.steps[nest.depth++]);
    rows = more;
  }
  nest.rows = static_cast<uint32_t>(rows);
  out.outer.assign(plan.loops, plan.loops + i);
  return plan.function != Function::causal_softmax || nest.depth > 0;
}

class GpuOperator final : public OperatorKernel {
 public:
  GpuOperator(const GpuDevice& device, const OperatorPlan& plan, Split split,
              const ConvertNumbers& numbers)
      : device_(device),
        split_(std::move(split)),
        elementwise_(facts_of(plan.function).elementwise || plan.function == Function::rope),
        kernels_(kernels_of(plan)),
        single_(make_ready(kernels_.single, device.facts().early_launch)),
        vectors_(make_ready(kernels_.vectors != nullptr ? kernels_.vectors : kernels_.single,
                            device.facts().early_launch)),
        may_be_vectors_(kernels_.vectors != nullptr && numbers.planes == 1 && lie_together(plan)),
        numbers_(numbers) {
    std::copy_n(plan.offsets, max_operands, offsets_);
  }
  const char* candidate() const override { return "row_loop"; }
  std::string schedule() const override {
    return std::to_string(split_.nest.rows) + " rows of " + std::to_string(split_.nest.length) +
           (may_be_vectors_ ? ", in vectors of " + std::to_string(kernels_.count) : "");
  }

  void run(const OperatorRun& run) const override {
    const Stream stream = device_.live(run.stream);
    RowPointers base{};
    for (int i = 0; i < split_.nest.operands; ++i) {
      if (is_absent(i)) continue;
      require_reachable(device_, run.operands[i], "an operand");
      base.at[i] = static_cast<char*>(run.operands[i]) + offsets_[i];
    }
    const SampleOptions* samples = run.samples;
    walk(0, base, samples, stream);
  }

 private:
  bool is_absent(int operand) const {
    return split_.nest.function == Function::convert && operand >= 2 &&
           !numbers_.along[operand - 2];
  }
  // Operands of which every row has one element: positions, drawn tokens.
  bool is_single(int operand) const {
    const Function function = split_.nest.function;
    return (function == Function::rope && operand == 2) ||
           (function == Function::random_sample && operand == 0);
  }
  // Elements of every operand lie together or are all the same, and all rows begin at whole vectors if the bases do.
  bool lie_together(const OperatorPlan& plan) const {
    const int count = kernels_.count;
    const bool pairs = plan.function == Function::rope;
    if (plan.function != Function::random_sample && plan.length % count != 0) return false;
    for (int k = 0; k < plan.operands; ++k) {
      if (is_single(k)) continue;
      const int64_t bytes = dtype_bytes(plan.dtypes[k]), unit = bytes * count;
      const bool repeated = plan.row_steps[k] == 0 && k > 0;
      if (pairs && k < 2 && plan.pair_steps[k] % unit != 0) return false;
      if (pairs && k > 2 && plan.table_steps[k - 3] % unit != 0) return false;
      if (!repeated && plan.row_steps[k] != bytes) return false;
      for (int i = 0; i < plan.depth && !repeated; ++i)
        if (plan.loops[i].steps[k] % unit != 0) return false;
    }
    return true;
  }
  bool bases_allow(const RowPointers& base) const {
    for (int k = 0; k < split_.nest.operands; ++k) {
      if (is_single(k)) continue;
      const auto unit = static_cast<uintptr_t>(dtype_bytes(split_.nest.dtypes[k]) * kernels_.count);
      if (split_.nest.row_steps[k] != 0 && reinterpret_cast<uintptr_t>(base.at[k]) % unit != 0)
        return false;
    }
    return true;
  }

  // One launch, but for plans of more loops or elements than one can number.
  void walk(size_t level, const RowPointers& base, const SampleOptions*& samples,
            Stream stream) const {
    if (level == split_.outer.size()) return launch_rows(base, samples, stream);
    const OperatorLoop& loop = split_.outer[level];
    RowPointers at = base;
    for (int64_t i = 0; i < loop.extent; ++i) {
      walk(level + 1, at, samples, stream);
      for (int k = 0; k < split_.nest.operands; ++k) at.at[k] += loop.steps[k];
    }
  }

  void launch_rows(const RowPointers& base, const SampleOptions*& samples, Stream stream) const {
    const RowNest& nest = split_.nest;
    const bool in_vectors = may_be_vectors_ && bases_allow(base);
    const ReadyKernel& kernel = in_vectors ? vectors_ : single_;
    if (nest.function == Function::random_sample) {
      for (uint32_t row = 0; row < nest.rows; ++row) {
        const void* arguments[] = {&nest, &base, &row, samples++};
        start(kernel, 1, arguments, stream);
      }
      return;
    }
    if (!elementwise_) {
      const void* arguments[] = {&nest, &base};
      return start(kernel, std::min<int64_t>(nest.rows, INT32_MAX), arguments, stream);
    }
    const auto count = static_cast<uint32_t>(in_vectors ? kernels_.count : 1);
    const FastDivisor per_row = make_fast_divisor(nest.length / count);
    const uint32_t units = nest.rows * per_row.divisor;
    const void* arguments[] = {&nest, &base, &per_row, &units, &numbers_};
    start(kernel, blocks_for(units), arguments, stream);
  }

  // Where there is enough for all processors, each thread of map_elements fetches several units at once.
  int64_t blocks_for(uint32_t units) const {
    const int64_t blocks = ceil_div(int64_t{units}, operator_threads);
    const Function function = split_.nest.function;
    const bool ahead = function != Function::rope && facts_of(function).takes != Takes::anything;
    return std::min(ahead && blocks >= many_blocks ? ceil_div(blocks, units_at_once) : blocks,
                    most_blocks);
  }

  void start(const ReadyKernel& kernel, int64_t blocks, const void** arguments,
             Stream stream) const {
    check(launch(kernel, static_cast<unsigned>(blocks), operator_threads, arguments,
                 operator_threads * sizeof(double), stream),
          "cannot launch ", facts_of(split_.nest.function).name);
  }

  const GpuDevice& device_;
  Split split_;
  bool elementwise_;
  Kernels kernels_;
  ReadyKernel single_, vectors_;
  bool may_be_vectors_;
  int64_t offsets_[max_operands];
  ConvertNumbers numbers_;  // of convert alone
};

}  // namespace

std::unique_ptr<OperatorKernel> make_operator(Device& device, const OperatorPlan& given,
                                              const Choice&) {
  Split parts;
  ConvertNumbers numbers;
  OperatorPlan plan = given;
  if (plan.function == Function::convert) {
    numbers = convert_numbers(plan);
    take_planes(plan, numbers);
  }
  if (!split(plan, parts)) return nullptr;
  return std::make_unique<GpuOperator>(static_cast<const GpuDevice&>(device), plan,
                                       std::move(parts), numbers);
}

}  // namespace infini::gpu
