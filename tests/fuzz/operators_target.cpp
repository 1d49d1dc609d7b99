// Norms, softmax, rope, elementwise operators and casts through the C API: any layouts and places in memory, in place or
// not; every element held against a reference in long double, every other byte compared.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "harness/gemm/gemm_reference.h"
#include "tests/fuzz/arena.h"
#include "tests/fuzz/layouts.h"
#include "tests/fuzz/objects.h"
#include "tests/fuzz/setting.h"

namespace infini::fuzz {
namespace {

using Number = long double;

constexpr int64_t arena_bytes = 1 << 20;
constexpr infiniDtype_t floats[] = {INFINI_DTYPE_F32, INFINI_DTYPE_F16, INFINI_DTYPE_BF16,
                                    INFINI_DTYPE_F64};

Arena& arena(size_t index) {
  static std::deque<Arena> all;
  while (all.size() <= index) all.emplace_back(arena_bytes);
  return all[index];
}

Number read(infiniDtype_t dtype, const char* place) { return harness::read_element(dtype, place); }

// A tensor in an arena of its own.
struct Operand {
  Layout layout;
  Arena* memory = nullptr;
  char* base = nullptr;
  std::vector<char> bytes;  // what its memory holds before the run
  TensorDescriptor desc;

  int64_t count() const { return element_count(layout); }
  char* place(int64_t number) const {
    int64_t at = 0;
    for (int i = layout.rank; i-- > 0; number /= layout.shape[i])
      at += number % layout.shape[i] * layout.strides[i];
    return base + at * dtype_bytes(layout.dtype);
  }
  Number get(int64_t number) const { return read(layout.dtype, place(number)); }
  Number before(int64_t number) const {
    return read(layout.dtype, bytes.data() + (place(number) - memory->first()));
  }
  void keep() { bytes.assign(memory->first(), memory->first() + memory->size()); }
};

// False where there is too little memory.
bool lay(Input& in, Operand& x, infiniDtype_t dtype, const Extents& shape, size_t index,
         bool is_written) {
  const int64_t bytes = dtype_bytes(dtype);
  const Strides strides = choose_nested_strides(in, shape, bytes, !is_written);
  x.layout = make_layout(dtype, shape.size(), shape.data(), strides.data());
  const ByteRange range = byte_range(x.layout);
  if (range.end - range.begin >= arena_bytes - 512) return false;
  x.memory = &arena(index);
  const Place place = choose_place(in, bytes);
  x.base = x.memory->put(range, {place.at_end, place.distance / bytes * bytes}, 31 * index);
  expect_success(create(x.desc, x.layout), "infiniopCreateTensorDescriptor");
  return true;
}

// Numbers between -8 and 8, now and then NaN.
void fill(Input& in, Operand& x) {
  uint32_t state = static_cast<uint32_t>(in.byte()) * 2654435761u + 1;
  const bool with_nan = in.one_in(32);
  for (int64_t i = 0; i < x.count(); ++i) {
    state = state * 1664525u + 1013904223u;
    const bool is_nan = with_nan && state >> 27 == 0;
    harness::write_element(x.layout.dtype, x.place(i),
                           is_nan ? NAN : (static_cast<Number>(state >> 8) / 1048576 - 8));
  }
  x.keep();
}

class Run {
 public:
  Run(std::string name, Operand& dst, std::vector<Operand*> sources)
      : name_(std::move(name)), dst_(dst), sources_(std::move(sources)) {
    dst_.keep();
  }
  // want(number of the element, its scale) is the reference; `roundings` are of the arithmetic.
  template <class Want>
  void judge(double roundings, const Want& want) {
    for (Operand* one : sources_) one->memory->open();
    dst_.memory->open();
    const infiniDtype_t dtype = dst_.layout.dtype;
    const double own = dtype == INFINI_DTYPE_F64 ? 0x1p-53 : 0x1p-24;
    for (int64_t i = 0; i < dst_.count(); ++i) {
      Number scale = 0;
      const Number wanted = want(i, scale), got = dst_.get(i);
      const Number bound = harness::unit_roundoff(dtype) * std::abs(wanted) +
                           roundings * own * scale + harness::half_denormal(dtype) + 0x1p-120L;
      if (std::isnan(wanted) ? !std::isnan(got) : !(std::abs(got - wanted) <= bound))
        finding(text(), "element " + std::to_string(i) + " is " +
                            std::to_string(static_cast<double>(got)) + ", not " +
                            std::to_string(static_cast<double>(wanted)));
      std::memcpy(dst_.bytes.data() + (dst_.place(i) - dst_.memory->first()), dst_.place(i),
                  static_cast<size_t>(dtype_bytes(dtype)));
    }
    if (dst_.memory->difference(dst_.bytes.data()) != Arena::none)
      finding(text(), "bytes outside of the result were changed");
    for (const Operand* one : sources_)
      if (one != &dst_ && one->memory->difference(one->bytes.data()) != Arena::none)
        finding(text(), "a source was changed");
  }
  std::string text() const {
    std::string all = name_;
    for (const Operand* one : sources_) all += ", " + to_string(one->layout);
    return all + " -> " + to_string(dst_.layout);
  }

 private:
  static std::string to_string(const Layout& layout) {
    std::string text = std::string(dtype_name(layout.dtype)) + " " + shape_string(layout) + " (";
    for (int i = 0; i < layout.rank; ++i) text += std::to_string(layout.strides[i]) + ",";
    return text + ")";
  }
  std::string name_;
  Operand& dst_;
  std::vector<Operand*> sources_;
};

Number logistic(Number x) { return 1 / (1 + std::exp(-x)); }

struct Binary {
  const char* name;
  infiniStatus_t (*create)(infiniopHandle_t, InfiniopDescriptor**, infiniopTensorDescriptor_t,
                           infiniopTensorDescriptor_t, infiniopTensorDescriptor_t);
  infiniStatus_t (*run)(InfiniopDescriptor*, void*, size_t, void*, const void*, const void*, void*);
  Number (*reference)(Number, Number);
};
const Binary binaries[] = {
    {"add", infiniopCreateAddDescriptor, infiniopAdd, [](Number a, Number b) { return a + b; }},
    {"sub", infiniopCreateSubDescriptor, infiniopSub, [](Number a, Number b) { return a - b; }},
    {"mul", infiniopCreateMulDescriptor, infiniopMul, [](Number a, Number b) { return a * b; }},
    {"swiglu", infiniopCreateSwiGLUDescriptor, infiniopSwiGLU,
     [](Number a, Number b) { return a * b * logistic(b); }},
};
struct Unary {
  const char* name;
  infiniStatus_t (*create)(infiniopHandle_t, InfiniopDescriptor**, infiniopTensorDescriptor_t,
                           infiniopTensorDescriptor_t);
  infiniStatus_t (*run)(InfiniopDescriptor*, void*, size_t, void*, const void*, void*);
  Number (*reference)(Number);
};
const Unary unaries[] = {
    {"silu", infiniopCreateSiluDescriptor, infiniopSilu, [](Number a) { return a * logistic(a); }},
    {"gelu", infiniopCreateGeluDescriptor, infiniopGelu,
     [](Number a) { return a * std::erfc(-a / std::sqrt(Number{2})) / 2; }},
    {"relu", infiniopCreateReluDescriptor, infiniopRelu, [](Number a) { return a < 0 ? 0 : a; }},
    {"sigmoid", infiniopCreateSigmoidDescriptor, infiniopSigmoid, logistic},
};

using Destroy = infiniStatus_t (*)(InfiniopDescriptor*);
constexpr Destroy destroy_binary[] = {infiniopDestroyAddDescriptor, infiniopDestroySubDescriptor,
                                      infiniopDestroyMulDescriptor,
                                      infiniopDestroySwiGLUDescriptor};
constexpr Destroy destroy_unary[] = {infiniopDestroySiluDescriptor, infiniopDestroyGeluDescriptor,
                                     infiniopDestroyReluDescriptor,
                                     infiniopDestroySigmoidDescriptor};

// Of c's elements the number of the one that a repeated operand has there.
int64_t repeated(const Layout& c, const Layout& x, int64_t number) {
  int64_t found = 0, scale = 1;
  for (int i = c.rank; i-- > 0; number /= c.shape[i]) {
    const int at = i - (c.rank - x.rank);
    if (at < 0) continue;
    if (x.shape[at] != 1) found += number % c.shape[i] * scale;
    scale *= x.shape[at];
  }
  return found;
}

void run_binary(Input& in) {
  const int which = in.below(4);
  const Binary& op = binaries[which];
  const infiniDtype_t dtype = in.one_of(floats);
  const Extents shape = choose_extents(in, in.one_in(8) ? 1 << 15 : 1500);
  Extents less = shape;
  for (size_t& extent : less)
    if (in.one_in(5)) extent = 1;
  if (!less.empty() && in.one_in(4)) less.erase(less.begin());
  Operand c, a, b;
  if (!lay(in, c, dtype, shape, 0, true) || !lay(in, a, dtype, shape, 1, false) ||
      !lay(in, b, dtype, less, 2, false))
    return;
  const bool in_place = in.one_in(4);
  Operand& first = in_place ? c : a;
  fill(in, first);
  fill(in, b);
  Run run(op.name, c, {&first, &b});
  if (announces()) announce(run.text());
  InfiniopDescriptor* desc = nullptr;
  expect_success(op.create(cpu_handle(), &desc, c.desc, first.desc, b.desc), op.name);
  const Operand before{c.layout, c.memory, c.base, c.bytes, {}};
  expect_success(op.run(desc, nullptr, 0, c.base, first.base, b.base, nullptr), op.name);
  expect_success(destroy_binary[which](desc), "destroy");
  run.judge(12, [&](int64_t i, Number& scale) {
    const Number wanted = op.reference(in_place ? before.before(i) : a.get(i),
                                       b.get(repeated(c.layout, b.layout, i)));
    scale = std::abs(wanted);
    return wanted;
  });
}

void run_unary(Input& in) {
  const int which = in.below(4);
  const Unary& op = unaries[which];
  const infiniDtype_t dtype = in.one_of(floats);
  const Extents shape = choose_extents(in, in.one_in(8) ? 1 << 15 : 1500);
  Operand y, x;
  if (!lay(in, y, dtype, shape, 0, true) || !lay(in, x, dtype, shape, 1, false)) return;
  fill(in, x);
  Run run(op.name, y, {&x});
  if (announces()) announce(run.text());
  InfiniopDescriptor* desc = nullptr;
  expect_success(op.create(cpu_handle(), &desc, y.desc, x.desc), op.name);
  expect_success(op.run(desc, nullptr, 0, y.base, x.base, nullptr), op.name);
  expect_success(destroy_unary[which](desc), "destroy");
  run.judge(12, [&](int64_t i, Number& scale) {
    const Number at = x.get(i), wanted = op.reference(at);
    // erfc's tail multiplies its argument's rounding by the argument's square.
    scale = std::abs(wanted) * (which == 1 ? 1 + at * at : 1);
    return wanted;
  });
}

void run_norm(Input& in) {
  const infiniDtype_t dtype = in.one_of(floats);
  const bool narrow = dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16;
  Extents shape = choose_extents(in, in.one_in(8) ? 1 << 15 : 1500);
  if (shape.empty()) shape.push_back(1 + static_cast<size_t>(in.below(40)));
  Operand y, x, w;
  if (!lay(in, y, dtype, shape, 0, true) || !lay(in, x, dtype, shape, 1, false) ||
      !lay(in, w, narrow && in.one_in(2) ? INFINI_DTYPE_F32 : dtype, {shape.back()}, 2, false))
    return;
  fill(in, x);
  fill(in, w);
  Run run("rms_norm", y, {&x, &w});
  if (announces()) announce(run.text());
  infiniopRMSNormDescriptor_t desc = nullptr;
  expect_success(
      infiniopCreateRMSNormDescriptor(cpu_handle(), &desc, y.desc, x.desc, w.desc, 1e-3f), "norm");
  expect_success(infiniopRMSNorm(desc, nullptr, 0, y.base, x.base, w.base, nullptr), "norm");
  infiniopDestroyRMSNormDescriptor(desc);
  const auto length = static_cast<int64_t>(shape.back());
  int64_t row = -1;
  Number sum = 0;  // of the squares of this row
  run.judge(16 + static_cast<double>(length) / 8, [&](int64_t i, Number& scale) {
    if (i / length != row) {
      row = i / length;
      sum = 0;
      for (int64_t k = row * length; k < (row + 1) * length; ++k) sum += x.get(k) * x.get(k);
    }
    const Number wanted =
        x.get(i) * w.get(i % length) / std::sqrt(sum / static_cast<Number>(length) + Number{1e-3f});
    scale = std::abs(wanted);
    return wanted;
  });
}

void run_softmax(Input& in) {
  const infiniDtype_t dtype = in.one_of(floats);
  const int64_t rows = 1 + in.below(9), length = rows + in.below(200);
  Extents shape;
  if (in.one_in(2)) shape.push_back(static_cast<size_t>(in.below(4)));
  shape.push_back(static_cast<size_t>(rows));
  shape.push_back(static_cast<size_t>(length));
  Operand y, x;
  if (!lay(in, y, dtype, shape, 0, true) || !lay(in, x, dtype, shape, 1, false)) return;
  fill(in, x);
  Run run("causal_softmax", y, {&x});
  if (announces()) announce(run.text());
  infiniopCausalSoftmaxDescriptor_t desc = nullptr;
  expect_success(infiniopCreateCausalSoftmaxDescriptor(cpu_handle(), &desc, y.desc, x.desc),
                 "make");
  expect_success(infiniopCausalSoftmax(desc, nullptr, 0, y.base, x.base, nullptr), "softmax");
  infiniopDestroyCausalSoftmaxDescriptor(desc);
  run.judge(32 + static_cast<double>(length) / 8, [&](int64_t i, Number& scale) {
    const int64_t first = i / length * length, seen = length - rows + i / length % rows + 1;
    if (i - first >= seen) return Number{0};
    Number sum = 0;
    for (int64_t k = 0; k < seen; ++k) sum += std::exp(x.get(first + k) - x.get(i));
    scale = 1 / sum;
    return 1 / sum;
  });
}

void run_rope(Input& in) {
  const infiniDtype_t dtype = in.one_of(floats);
  const bool neox = in.one_in(2);
  const size_t half = static_cast<size_t>(1 + in.below(40)),
               rows = static_cast<size_t>(in.below(6));
  Extents shape{static_cast<size_t>(1 + in.below(5)), static_cast<size_t>(1 + in.below(4)),
                2 * half};
  if (in.one_in(2)) shape.insert(shape.begin(), static_cast<size_t>(in.below(3)));
  const size_t s = shape.size() - 3;
  Operand y, x, positions, sin, cos;
  if (!lay(in, y, dtype, shape, 0, true) || !lay(in, x, dtype, shape, 1, false) ||
      !lay(in, positions, INFINI_DTYPE_I32, {shape[s]}, 2, false) ||
      !lay(in, sin, dtype, {rows, half}, 3, false) || !lay(in, cos, dtype, {rows, half}, 4, false))
    return;
  fill(in, x);
  fill(in, sin);
  fill(in, cos);
  for (int64_t i = 0; i < positions.count(); ++i) {
    const int32_t position = in.below(7) - 1;
    std::memcpy(positions.place(i), &position, sizeof position);
  }
  positions.keep();
  Run run(neox ? "rope neox" : "rope", y, {&x, &sin, &cos});
  if (announces()) announce(run.text());
  infiniopRoPEDescriptor_t desc = nullptr;
  expect_success(infiniopCreateRoPEDescriptor(
                     cpu_handle(), &desc, y.desc, x.desc, positions.desc, sin.desc, cos.desc,
                     neox ? INFINIOP_ROPE_ALGO_GPT_NEOX : INFINIOP_ROPE_ALGO_GPT_J),
                 "make rope");
  expect_success(
      infiniopRoPE(desc, nullptr, 0, y.base, x.base, positions.base, sin.base, cos.base, nullptr),
      "rope");
  infiniopDestroyRoPEDescriptor(desc);
  positions.memory->open();
  const auto length = static_cast<int64_t>(2 * half), h = static_cast<int64_t>(half);
  run.judge(4, [&](int64_t i, Number& scale) {
    const int64_t at = i % length, pair = neox ? at % h : at / 2;
    const bool is_second = neox ? at >= h : at % 2 == 1;
    const int64_t other = i - at + (neox ? (is_second ? pair : pair + h) : (at ^ 1));
    const int64_t token =
        i / length / static_cast<int64_t>(shape[s + 1]) % static_cast<int64_t>(shape[s]);
    int32_t position;
    std::memcpy(&position, positions.place(token), sizeof position);
    if (position < 0 || position >= static_cast<int64_t>(rows)) return static_cast<Number>(NAN);
    const Number sn = sin.get(position * h + pair), cs = cos.get(position * h + pair);
    scale = std::abs(x.get(i) * cs) + std::abs(x.get(other) * sn);
    return is_second ? x.get(other) * sn + x.get(i) * cs : x.get(i) * cs - x.get(other) * sn;
  });
}

}  // namespace
}  // namespace infini::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace infini::fuzz;
  Input in(data, size);
  static constexpr const char* any[] = {nullptr};
  choose_setting(in, "INFINI_CPU_REARRANGE", any).apply();  // instruction set and threads
  switch (in.below(6)) {
    case 0: run_norm(in); break;
    case 1: run_softmax(in); break;
    case 2: run_rope(in); break;
    case 3: run_unary(in); break;
    default: run_binary(in);
  }
  return 0;
}
