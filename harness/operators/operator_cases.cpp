// Random and curated problems of the operators.
#include <algorithm>
#include <numeric>

#include "base/dtype.h"
#include "harness/operators/operator_table.h"

namespace infini::harness {
namespace {

using Shape = std::vector<size_t>;

constexpr infiniDtype_t floats[] = {INFINI_DTYPE_F16, INFINI_DTYPE_BF16, INFINI_DTYPE_F32,
                                    INFINI_DTYPE_F64};

constexpr infiniDtype_t converted[] = {INFINI_DTYPE_U8,  INFINI_DTYPE_I8,  INFINI_DTYPE_U16,
                                       INFINI_DTYPE_I16, INFINI_DTYPE_F8,  INFINI_DTYPE_F8,
                                       INFINI_DTYPE_F16, INFINI_DTYPE_F32, INFINI_DTYPE_I32,
                                       INFINI_DTYPE_U32, INFINI_DTYPE_F64, INFINI_DTYPE_BF16};

size_t any(Random& random, int64_t low, int64_t high) {
  return static_cast<size_t>(random.between(low, high));
}

infiniDtype_t random_dtype(Random& random, Takes takes) {
  if (takes == Takes::floats || (takes == Takes::numbers && !random.one_in(3)))
    return floats[random.between(0, 3)];
  const auto integer =
      static_cast<infiniDtype_t>(random.between(INFINI_DTYPE_I8, INFINI_DTYPE_U64));
  if (takes == Takes::numbers) return integer;
  if (random.one_in(6)) return random.one_in(2) ? INFINI_DTYPE_BOOL : INFINI_DTYPE_BYTE;
  return random.one_in(2) ? integer : floats[random.between(0, 3)];
}

// Up to `most` elements; every magnitude of the last dim is as likely.
Shape random_shape(Random& random, int64_t least_rank, int64_t most_rank, int64_t most) {
  Shape shape(any(random, least_rank, most_rank));
  int64_t left = most;
  for (size_t i = shape.size(); i-- > 0;) {
    const int64_t reach = i + 1 == shape.size() ? left : std::min<int64_t>(left, 12);
    int64_t limit = 1;
    while (limit < reach && !random.one_in(5)) limit *= 2;
    shape[i] = any(random, 1, std::min(limit, reach));
    left = std::max<int64_t>(1, left / static_cast<int64_t>(shape[i]));
  }
  if (!shape.empty() && random.one_in(40))
    shape[any(random, 0, static_cast<int64_t>(shape.size()) - 1)] = 0;
  return shape;
}

// Gaps, other orders of dims, reversals.
Layout scattered(Random& random, const Layout& dense) {
  if (random.one_in(3)) return dense;
  std::vector<size_t> order(static_cast<size_t>(dense.rank));
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = order.size(); i > 1 && random.one_in(2); --i)
    std::swap(order[i - 1], order[any(random, 0, static_cast<int64_t>(i) - 1)]);
  Shape shape(dense.shape, dense.shape + dense.rank);
  std::vector<ptrdiff_t> strides(shape.size());
  ptrdiff_t step = random.one_in(3) ? random.between(2, 3) : 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = random.one_in(6) ? -step : step;
    step = step * static_cast<ptrdiff_t>(std::max<size_t>(shape[order[i]], 1)) +
           (random.one_in(3) ? random.between(1, 9) : 0);
  }
  return make_layout(dense.dtype, shape.size(), shape.data(), strides.data());
}

// The same with some dims of size 1, or without its first one.
Layout repeated(Random& random, const Layout& dense) {
  Shape shape(dense.shape, dense.shape + dense.rank);
  for (auto& extent : shape)
    if (random.one_in(4)) extent = 1;
  if (!shape.empty() && random.one_in(4)) shape.erase(shape.begin());
  return make_layout(dense.dtype, shape.size(), shape.data(), nullptr);
}

OperatorProblem random_usual(Random& random, Function function, int64_t most) {
  const infiniDtype_t dtype = random_dtype(random, facts_of(function).takes);
  switch (function) {
    case Function::rope: {
      Shape shape{any(random, 1, 6), any(random, 1, 4), 2 * any(random, 1, 20)};
      if (random.one_in(2)) shape.insert(shape.begin(), any(random, 1, 3));
      return usual_problem(function, dtype, shape);
    }
    case Function::causal_softmax: {
      Shape shape = random_shape(random, 2, 4, most);
      shape[shape.size() - 2] = std::min(shape[shape.size() - 2], shape.back());
      return usual_problem(function, dtype, shape);
    }
    case Function::random_sample: {
      Shape shape{any(random, 1, most)};
      if (random.one_in(3)) shape = {any(random, 1, 4), any(random, 1, most / 4)};
      return usual_problem(function, dtype, shape);
    }
    case Function::rms_norm:
      return usual_problem(function, dtype, random_shape(random, 1, 4, most));
    default: return usual_problem(function, dtype, random_shape(random, 0, 5, most));
  }
}

void choose_options(Random& random, OperatorProblem& p) {
  p.options.epsilon = random.one_in(3) ? 1e-3f : 1e-6f;
  if (p.function == Function::rms_norm && dtype_bytes(p.operands[2].dtype) == 2)
    p.operands[2].dtype = floats[random.between(0, 2)];
  if (p.function == Function::cast) p.operands[1].dtype = random_dtype(random, Takes::anything);
  if (p.function == Function::convert) {
    for (const int k : {0, 1}) {
      p.operands[k].dtype = converted[random.between(0, 11)];
      p.conversion.e5m2[k] = p.operands[k].dtype == INFINI_DTYPE_F8 && random.one_in(2);
    }
    p.conversion.saturates = random.one_in(2);
    if (random.one_in(3)) p.conversion.scale = 0.375, p.conversion.shift = -3;
    set_along(p, static_cast<int>(random.between(-1, p.operands[0].rank - 1)));
  }
  if (p.function == Function::rope) {
    p.options.neox = random.one_in(2);
    Layout& positions = p.operands[2];
    positions.dtype = random.one_in(2) ? INFINI_DTYPE_I32 : INFINI_DTYPE_U8;
    if (p.operands[0].rank == 4 && random.one_in(2)) {
      const Shape shape(p.operands[0].shape, p.operands[0].shape + 2);
      positions = make_layout(positions.dtype, 2, shape.data(), nullptr);
    }
  }
  if (p.function == Function::random_sample) {
    p.operands[0].dtype = random.one_in(2) ? INFINI_DTYPE_I32 : INFINI_DTYPE_I64;
    const auto part = [&] { return static_cast<float>(random.between(0, 64)) / 64; };
    p.sample = {part(), part(), static_cast<int>(random.between(0, 60)),
                random.one_in(8) ? 0 : 0.25f + 2 * part()};
  }
}

}  // namespace

OperatorProblem random_operator_problem(Random& random, Function function, int64_t most) {
  OperatorProblem p = random_usual(random, function, most);
  const FunctionFacts& facts = facts_of(function);
  choose_options(random, p);
  const int alike = facts.elementwise                     ? told_operands(function)
                    : function == Function::random_sample ? 0
                                                          : 2;
  for (int i = 0; i < alike; ++i) {
    if (facts.elementwise && i > 0) p.operands[i] = repeated(random, p.operands[i]);
    p.operands[i] = scattered(random, p.operands[i]);
  }
  for (int i = 0; i < told_operands(function); ++i)
    if (random.one_in(6)) p.at[i] = dtype_bytes(p.operands[i].dtype) * random.between(1, 3);
  if (function == Function::random_sample || function == Function::cast || !random.one_in(4) ||
      dtype_bytes(p.operands[1].dtype) != dtype_bytes(p.operands[0].dtype))
    return p;
  const int last = facts.elementwise ? told_operands(function) - 1 : 1;
  p.in_place = static_cast<int>(random.between(1, last));
  const infiniDtype_t dtype = p.operands[p.in_place].dtype;
  p.operands[p.in_place] = p.operands[0];
  p.operands[p.in_place].dtype = dtype;
  p.at[p.in_place] = p.at[0];
  return p;
}

OperatorProblem random_dense_convert(Random& random, int64_t bytes) {
  infiniDtype_t dtypes[2];
  do
    for (infiniDtype_t& dtype : dtypes) dtype = converted[random.between(0, 11)];
  while (dtypes[0] == dtypes[1]);
  const RearrangeProblem moved = random_dense_problem(
      random, dtypes[0], bytes / (dtype_bytes(dtypes[0]) + dtype_bytes(dtypes[1])));
  const Layout &y = moved.dst, &x = moved.src;
  const Shape shape(y.shape, y.shape + y.rank);
  OperatorProblem p = usual_problem(Function::convert, dtypes[0], shape);
  p.operands[1] = make_layout(dtypes[1], shape.size(), shape.data(), x.strides);
  p.conversion.saturates = random.one_in(2);
  if (random.one_in(4)) p.conversion.scale = 0.375;
  if (random.one_in(4)) set_along(p, static_cast<int>(random.between(0, y.rank - 1)));
  return p;
}

std::vector<std::string> curated_operator_cases(Function function) {
  const std::string name = facts_of(function).name;
  std::vector<std::string> all;
  const auto add = [&](const std::string& rest) { all.push_back(name + " " + rest); };
  if (facts_of(function).elementwise) {
    const char* const to = facts_of(function).names[0];
    for (const char* const dtype : {"f16", "bf16", "f32", "f64"})
      for (const char* const rest : {"scalar", "0x3", "1x1x1", "17x33", "3x70001", "5x7x9"})
        add(std::string(dtype) + " " + rest);
    add(std::string("f32 3x5x8 ") + to + "=80,1,-5");  // negative and crossed strides
    add(std::string("f16 7x9 ") + to + "_at=2");
    add(std::string("bf16 64x64 in_place=") + facts_of(function).names[1]);
  }
  if (function == Function::convert)
    for (const char* const rest :
         {"f32 3x40x50 x_dtype=u8 x=1,150,3 along=0", "u8 40x50x3 x_dtype=f32 x=50,1,2000 along=2",
          "bf16 130x257 x_dtype=f32 x=1,130", "f32 130x257 x_dtype=bf16 x=1,130 scale=0.5",
          "f8 64x65 x_dtype=f32 saturates=1", "i8 200x90 x_dtype=f16 x=1,200 y_at=1 scale=7",
          "f16 5x1000 x_dtype=f8 x_e5m2=1", "f8 5x1000 x_dtype=f64 y_e5m2=1",
          "i32 33x70 x_dtype=bf16 x=1,33", "i32 8 x_dtype=f64 x_shape=scalar",
          "f32 40x41x42 x_dtype=f16 x=1,42,1722 along=1",
          "bf16 1x4x5x16 y=320,80,-1,5 x_dtype=i8 scale=0.375 shift=-3 along=3",
          "u8 3x64x40x3 x_dtype=f32 x=7680,40,1,2560 along=3", "i8 64x48 x_dtype=f32 along=0"})
      add(rest);
  const auto dtypes = {"f16", "bf16", "f32", "f64"};
  for (const char* const dtype : dtypes) {
    const std::string d = std::string(dtype) + " ";
    if (function == Function::rms_norm)
      for (const char* const rest :
           {"1", "3x1", "7x4096", "2x5x64", "4x1000 in_place=x", "0x8", "1x4400", "2x24576"})
        add(d + rest);
    if (function == Function::causal_softmax)
      for (const char* const rest :
           {"1x1", "1x4096", "8x8", "3x5x17", "2x4x2000", "6x10 in_place=x"})
        add(d + rest);
    if (function == Function::rope)
      for (const char* const rest :
           {"1x1x2", "5x3x64", "5x3x64 algo=neox in_place=x", "2x5x3x128 algo=neox",
            "3x2x64 x=64,192,1 y=128,64,1", "3x8x64 x=544,68,1"})
        add(d + rest);
    if (function == Function::random_sample)
      for (const char* const rest : {"1", "257 topk=1", "32000 topk=50 topp=0.8 temperature=0.7",
                                     "3x1000 topk=0 topp=1 random_val=0.99",
                                     "4500 topk=900 topp=1 random_val=0.8 temperature=3",
                                     "5000 topk=5 topp=0.3 random_val=1 result_dtype=u32"})
        add(d + rest);
  }
  if (function == Function::rms_norm) add("f16 5x256 w_dtype=f32 epsilon=0.001");
  return all;
}

}  // namespace infini::harness
