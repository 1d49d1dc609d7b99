// Convert on the host: both tensors cross the link once, and the stream is waited for.
#include <acl/acl.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "backends/ascend/operators/functions.h"
#include "base/dtype.h"
#include "base/float_formats.h"
#include "plan/operators/convert_plan.h"

namespace infini::ascend {
namespace {

template <class T>
T read(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <class T>
void write(char* p, T value) {
  std::memcpy(p, &value, sizeof value);
}

double number_at(const char* p, Format format) {
  switch (format) {
    case Format::u8: return read<uint8_t>(p);
    case Format::i8: return read<int8_t>(p);
    case Format::u16: return read<uint16_t>(p);
    case Format::i16: return read<int16_t>(p);
    case Format::e4m3: return f32_from_f8(read<uint8_t>(p));
    case Format::e5m2: return f32_from_e5m2(read<uint8_t>(p));
    case Format::f16: return f32_from_f16(read<uint16_t>(p));
    case Format::bf16: return f32_from_bf16(read<uint16_t>(p));
    case Format::f32: return read<float>(p);
    case Format::i32: return read<int32_t>(p);
    case Format::u32: return read<uint32_t>(p);
    default: return read<double>(p);
  }
}

// Rounded to nearest even, saturated; NaN is 0.
template <class Integer>
void put_whole(char* p, double x) {
  using Limits = std::numeric_limits<Integer>;
  const double whole = std::isnan(x) ? 0 : std::nearbyint(x);
  write(p, static_cast<Integer>(std::clamp(whole, static_cast<double>(Limits::min()),
                                           static_cast<double>(Limits::max()))));
}

// A code beyond `largest`, the largest finite number's, becomes that one where it saturates.
template <class Code>
void put_code(char* p, Code code, Code largest, bool saturates) {
  const auto magnitude = static_cast<Code>(code & (static_cast<Code>(~Code{0}) >> 1));
  write(p, saturates && magnitude > largest ? static_cast<Code>(code - magnitude + largest) : code);
}

void put_number(char* p, Format format, double x, bool saturates) {
  const bool limited = saturates && !std::isnan(x);
  switch (format) {
    case Format::u8: return put_whole<uint8_t>(p, x);
    case Format::i8: return put_whole<int8_t>(p, x);
    case Format::u16: return put_whole<uint16_t>(p, x);
    case Format::i16: return put_whole<int16_t>(p, x);
    case Format::i32: return put_whole<int32_t>(p, x);
    case Format::u32: return put_whole<uint32_t>(p, x);
    case Format::e4m3: return put_code<uint8_t>(p, f8_from_f32(to_odd(x)), 0x7e, limited);
    case Format::e5m2: return put_code<uint8_t>(p, e5m2_from_f32(to_odd(x)), 0x7b, limited);
    case Format::f16: return put_code<uint16_t>(p, f16_from_f32(to_odd(x)), 0x7bff, limited);
    case Format::bf16: return put_code<uint16_t>(p, bf16_from_f32(to_odd(x)), 0x7f7f, limited);
    case Format::f32:
      return put_code<uint32_t>(p, std::bit_cast<uint32_t>(static_cast<float>(x)), 0x7f7fffff,
                                limited);
    default: return put_code<uint64_t>(p, std::bit_cast<uint64_t>(x), 0x7fefffffffffffff, limited);
  }
}

std::vector<char> fetched(const FunctionRun& run, int operand) {
  std::vector<char> bytes(
      static_cast<size_t>(run.plan.length * dtype_bytes(run.plan.dtypes[operand])));
  check(aclrtMemcpy(bytes.data(), bytes.size(), run.operands[operand], bytes.size(),
                    ACL_MEMCPY_DEVICE_TO_HOST),
        "aclrtMemcpy");
  return bytes;
}

// scale·x + shift in one step, in f32 where all numbers of both formats are.
double computed(double x, double scale, double shift, bool wide) {
  if (wide) return std::fma(x, scale, shift);
  return std::fma(static_cast<float>(x), static_cast<float>(scale), static_cast<float>(shift));
}

}  // namespace

void run_host_convert(const FunctionRun& run) {
  const OperatorPlan& plan = run.plan;  // one dense row of each
  const Conversion& c = plan.conversion;
  const Format to = format_in(plan, 0), from = format_in(plan, 1);
  const bool wide = is_wide(to) || is_wide(from), computing = computes(c);
  const int64_t to_bytes = dtype_bytes(plan.dtypes[0]), from_bytes = dtype_bytes(plan.dtypes[1]);
  check(aclrtSynchronizeStream(run.stream), "aclrtSynchronizeStream");
  const std::vector<char> x = fetched(run, 1);
  std::vector<char> along[2], y(static_cast<size_t>(plan.length * to_bytes));
  for (int k = 0; k < 2; ++k)
    if (c.along[k]) along[k] = fetched(run, 2 + k);
  const auto factor = [&](int k, int64_t i) {
    if (!c.along[k]) return k == 0 ? c.scale : c.shift;
    return static_cast<double>(read<float>(along[k].data() + 4 * i));
  };
  for (int64_t i = 0; i < plan.length; ++i) {
    double value = number_at(x.data() + i * from_bytes, from);
    if (computing) value = computed(value, factor(0, i), factor(1, i), wide);
    put_number(y.data() + i * to_bytes, to, value, c.saturates);
  }
  check(aclrtMemcpy(run.operands[0], y.size(), y.data(), y.size(), ACL_MEMCPY_HOST_TO_DEVICE),
        "aclrtMemcpy");
}

}  // namespace infini::ascend
