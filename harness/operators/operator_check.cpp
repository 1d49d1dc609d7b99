// Checking operators on the current device.
#include "harness/operators/operator_check.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>

#include "base/device_kind.h"
#include "base/dtype.h"
#include "harness/operators/operator_table.h"
#include "harness/rearrange/images.h"

namespace infini::harness {
namespace {

struct Objects {
  infiniopHandle_t handle = nullptr;
  infiniopTensorDescriptor_t tensors[max_operands] = {};
  infiniopOperatorDescriptor_t desc = nullptr;
  void* workspace = nullptr;
  ~Objects() {
    infiniopDestroyOperatorDescriptor(desc);
    for (const auto tensor : tensors)
      if (tensor) infiniopDestroyTensorDescriptor(tensor);
    infinirtFree(workspace);
    if (handle) infiniopDestroyHandle(handle);
  }
};

// Convert has options of its own; everything else is made by name.
void create(const OperatorProblem& p, Objects& o) {
  const FunctionFacts& facts = facts_of(p.function);
  if (p.function == Function::convert) {
    const Conversion& c = p.conversion;
    const infiniopConvertOptions_t options{
        sizeof options, (c.saturates ? 1u : 0u) | (c.e5m2[1] ? 2u : 0u) | (c.e5m2[0] ? 4u : 0u),
        c.scale, c.shift};
    return require_success(
        infiniopCreateConvertDescriptor(o.handle, &o.desc, o.tensors[0], o.tensors[1],
                                        c.along[0] ? o.tensors[2] : nullptr,
                                        c.along[1] ? o.tensors[3] : nullptr, &options),
        "infiniopCreateConvertDescriptor");
  }
  const infiniopOperatorOptions_t options{
      sizeof options, p.options.epsilon,
      p.options.neox ? INFINIOP_ROPE_ALGO_GPT_NEOX : INFINIOP_ROPE_ALGO_GPT_J};
  require_success(infiniopCreateOperatorDescriptor(o.handle, &o.desc, facts.name, o.tensors,
                                                   static_cast<size_t>(facts.operands), &options),
                  "infiniopCreateOperatorDescriptor");
}

void run_on_device(const OperatorProblem& p, void* const* operands, infinirtStream_t stream) {
  Objects o;
  const FunctionFacts& facts = facts_of(p.function);
  const auto count = static_cast<size_t>(facts.operands);
  require_success(infiniopCreateHandle(&o.handle), "infiniopCreateHandle");
  for (size_t i = 0; i < count; ++i) o.tensors[i] = describe(p.operands[i]);
  create(p, o);
  size_t bytes = 0;
  require_success(infiniopGetOperatorWorkspaceSize(o.desc, &bytes),
                  "infiniopGetOperatorWorkspaceSize");
  require_success(infinirtMalloc(&o.workspace, bytes), "infinirtMalloc");
  const auto rows = static_cast<size_t>(std::max<int64_t>(1, element_count(p.operands[0])));
  const std::vector<infiniopSampleOptions_t> samples(
      p.function == Function::random_sample ? rows : 0, p.sample);
  require_success(
      infiniopRunOperator(o.desc, o.workspace, bytes, operands, count, samples.data(), stream),
      "infiniopRunOperator");
  require_success(infinirtStreamSynchronize(stream), "infinirtStreamSynchronize");
}

// Bytes from the base of an element, by its number.
int64_t offset_of(const Layout& layout, int64_t number) {
  int64_t at = 0;
  for (int d = layout.rank; d-- > 0; number /= layout.shape[d])
    at += number % layout.shape[d] * (layout.shape[d] == 1 ? 0 : layout.strides[d]);
  return at * dtype_bytes(layout.dtype);
}

bool is_exact(Function function) {
  return function == Function::cast || function == Function::convert;
}

double unit_of(infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return 0x1p-11;
    case INFINI_DTYPE_BF16: return 0x1p-8;
    case INFINI_DTYPE_F32: return 0x1p-24;
    default: return 0x1p-53;
  }
}

// Holds the result against what is expected.
class Judge {
 public:
  Judge(const OperatorProblem& problem, const Values& values) : p_(problem), values_(values) {}

  // The first element that is wrong in words; empty: none.
  std::string look(const char* result, OperatorVerdict& verdict) const {
    const Layout& layout = p_.operands[0];
    const bool draws = p_.function == Function::random_sample;
    const auto expected = draws ? std::vector<Expected>(static_cast<size_t>(element_count(layout)))
                                : naive_operator(p_, values_);
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto number = static_cast<int64_t>(i);
      const double got = read_element(p_, 0, result + offset_of(layout, number));
      if (draws) {
        if (!may_be_drawn(p_, values_[1], number, static_cast<int64_t>(got)))
          return words(number, got) + ", a token that cannot have been drawn";
      } else if (!within(got, expected[i], verdict)) {
        std::ostringstream wanted;
        wanted.precision(9);
        wanted << ", expected " << expected[i].value;
        return words(number, got) + wanted.str();
      }
    }
    return "";
  }

 private:
  std::string words(int64_t number, double got) const {
    std::ostringstream text;
    text.precision(9);
    text << "element " << number << " of " << facts_of(p_.function).names[0] << " is " << got;
    return text.str();
  }

  bool within(double got, const Expected& expected, OperatorVerdict& verdict) const {
    const infiniDtype_t dtype = p_.operands[0].dtype;
    if (std::isnan(expected.value)) return std::isnan(got);
    if (!is_float_type(dtype) || is_exact(p_.function) || std::isinf(expected.value))
      return got == expected.value;
    if (std::isinf(got))  // what is too large for the type
      return std::isinf(rounded_to(expected.value * (1 + 8 * unit_of(dtype)), dtype)) &&
             (got > 0) == (expected.value > 0);
    const double own = dtype == INFINI_DTYPE_F64 ? 0x1p-53 : 0x1p-24,
                 least = dtype == INFINI_DTYPE_F16 ? 0x1p-24 : 0x1p-125;
    const double bound = unit_of(dtype) * std::abs(expected.value) + own * expected.slack + least;
    const double share = std::abs(got - expected.value) / bound;
    if (share > verdict.error_over_bound) verdict.error_over_bound = share;
    return share <= 1;
  }

  const OperatorProblem& p_;
  const Values& values_;
};

std::string reproducer(const OperatorProblem& problem) {
  infiniDevice_t kind = INFINI_DEVICE_CPU;
  infinirtGetDevice(&kind, nullptr);
  return std::string("\n  infini check --device ") + device_kind_name(kind) + " \"" +
         to_text(problem) + "\"";
}

// The memory of all operands; one that works in place has the result's.
struct Memories {
  Memories(const OperatorProblem& p, uint64_t seed) {
    Random random(seed);
    const auto count = static_cast<size_t>(facts_of(p.function).operands);
    values.resize(count);
    for (size_t i = 0; i < count; ++i) {
      images.push_back(std::make_unique<Image>(p.operands[i], p.at[i]));
      fill(images[i]->bytes, seed + i);
    }
    for (size_t i = 1; i < count; ++i) {
      const Layout& layout = p.operands[i];
      Image& image = *images[is_shared(p, i) ? 0 : i];
      const auto operand = static_cast<int>(i);
      for (int64_t k = 0; k < element_count(layout); ++k)
        write_element(p, operand, image.data() + offset_of(layout, k),
                      random_value(random, p, operand));
      for (int64_t k = 0; k < element_count(layout); ++k)  // elements may share memory
        values[i].push_back(read_element(p, operand, image.data() + offset_of(layout, k)));
    }
    for (size_t i = 0; i < count; ++i)
      on_device.push_back(std::make_unique<DeviceImage>(*images[i]));
    for (size_t i = 0; i < count; ++i) pointers[i] = on_device[is_shared(p, i) ? 0 : i]->data();
  }
  static bool is_shared(const OperatorProblem& p, size_t i) {
    return p.in_place != 0 && static_cast<size_t>(p.in_place) == i;
  }

  Values values;
  std::vector<std::unique_ptr<Image>> images;
  std::vector<std::unique_ptr<DeviceImage>> on_device;
  void* pointers[max_operands] = {};
};

// What differs outside of the result's elements; empty: nothing.
std::string strays(const OperatorProblem& p, const Memories& memory, std::vector<char>& after) {
  const Image& result = *memory.images[0];
  const auto bytes = static_cast<size_t>(dtype_bytes(p.operands[0].dtype));
  for (int64_t k = 0; k < element_count(p.operands[0]); ++k) {
    const auto at = static_cast<size_t>(result.base + offset_of(p.operands[0], k));
    std::copy_n(result.bytes.data() + at, bytes, after.data() + at);
  }
  const FunctionFacts& facts = facts_of(p.function);
  std::string wrong = difference(result.bytes, after, result.base, facts.names[0]);
  for (size_t i = 1; i < memory.images.size() && wrong.empty(); ++i)
    wrong = difference(memory.images[i]->bytes, memory.on_device[i]->read(), memory.images[i]->base,
                       facts.names[i]);
  return wrong;
}

}  // namespace

OperatorVerdict check(const OperatorProblem& problem, uint64_t seed, infinirtStream_t stream) {
  OperatorVerdict verdict;
  try {
    const Memories memory(problem, seed);
    run_on_device(problem, memory.pointers, stream);
    std::vector<char> after = memory.on_device[0]->read();
    const Judge judge(problem, memory.values);
    std::string wrong = judge.look(after.data() + memory.images[0]->base, verdict);
    if (wrong.empty()) wrong = strays(problem, memory, after);
    verdict.passed = wrong.empty();
    if (!wrong.empty()) verdict.message = wrong + reproducer(problem);
  } catch (const std::exception& error) {
    verdict.message = error.what() + reproducer(problem);
  }
  return verdict;
}

}  // namespace infini::harness
