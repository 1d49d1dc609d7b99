// The gemm cases.
#include "harness/gemm/gemm_cases.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/dtype.h"

namespace infini::harness {
namespace {

// `$` stands for every dtype.
constexpr const char* forms[] = {
    // nothing to multiply, nothing to write
    "gemm $ m=0 n=4 k=3",
    "gemm $ m=4 n=0 k=3",
    "gemm $ m=3 n=4 k=0",
    "gemm $ m=3 n=4 k=0 beta=2",
    "gemm $ m=3 n=4 k=5 batch=0",
    "gemm $ m=3 n=70 k=5 alpha=0",
    "gemm $ m=3 n=70 k=5 alpha=0 beta=-2",
    "gemm $ m=5 n=6 k=7 batch=3 alpha=0 beta=1",
    // vectors
    "gemm $ m=1 n=1 k=1",
    "gemm $ m=1 n=1 k=100",
    "gemm $ m=1 n=100 k=1",
    "gemm $ m=100 n=1 k=1",
    "gemm $ m=1 n=300 k=200",
    "gemm $ m=300 n=1 k=200",
    "gemm $ m=2 n=1030 k=65",
    "gemm $ m=3 n=130 k=257 b=t",
    "gemm $ m=4 n=129 k=100 b=t beta=1",
    "gemm $ m=130 n=4 k=100 c=t alpha=0.5",
    "gemm $ m=11 n=200 k=90 b=t",
    "gemm $ m=1 n=300 k=200 c=77,3 a=5,2",
    "gemm $ m=16 n=67 k=129 b=t",
    "gemm $ m=1 n=128 k=128 batch=3",
    "gemm $ m=14 n=75 k=1100 b=t beta=1",
    "gemm $ m=16 n=256 k=384",
    "gemm $ m=1 n=4096 k=512",
    "gemm $ m=1 n=512 k=4100 b=t",
    // few rows against lines of any pitch, with gaps or without, in parts of k and not
    "gemm $ m=1 n=203 k=1301",
    "gemm $ m=5 n=75 k=1301 b=t beta=1",
    "gemm $ m=8 n=67 k=2050 b=t",
    "gemm $ m=7 n=130 k=1100 b=133,1",
    "gemm $ m=2 n=65 k=900 b=1,903 alpha=2",
    "gemm $ m=1 n=70 k=600 batch=3 b=t",
    "gemm $ m=300 n=3 k=700 a=t c=t",
    "gemm $ m=4 n=90 k=70 b=1,-70",
    "gemm $ m=24 n=171 k=530 b=t",
    "gemm $ m=32 n=200 k=1029 beta=-1",
    "gemm $ m=17 n=64 k=640 a=1,17",
    // tiles, edges and pieces of k
    "gemm $ m=8 n=8 k=8",
    "gemm $ m=14 n=32 k=16",
    "gemm $ m=15 n=33 k=17",
    "gemm $ m=28 n=64 k=384",
    "gemm $ m=29 n=65 k=385",
    "gemm $ m=64 n=96 k=128",
    "gemm $ m=128 n=128 k=128 beta=1",
    "gemm $ m=100 n=90 k=800 alpha=2 beta=-1",
    "gemm $ m=257 n=131 k=65",
    "gemm $ m=64 n=64 k=64 alpha=-1",
    // every transposition
    "gemm $ m=37 n=41 k=43 a=t",
    "gemm $ m=37 n=41 k=43 b=t",
    "gemm $ m=37 n=41 k=43 c=t",
    "gemm $ m=37 n=41 k=43 a=t b=t",
    "gemm $ m=37 n=41 k=43 a=t c=t",
    "gemm $ m=37 n=41 k=43 b=t c=t",
    "gemm $ m=64 n=72 k=80 a=t b=t c=t beta=1",
    "gemm $ m=64 n=64 k=64 a=t",
    "gemm $ m=64 n=64 k=64 b=t",
    // leading dimensions, strides no BLAS reads, reversals, broadcasts
    "gemm $ m=33 n=34 k=35 a=40,1 b=48,1 c=64,1",
    "gemm $ m=33 n=34 k=35 a=90,2 b=3,105 c=80,2 beta=1",
    "gemm $ m=33 n=34 k=35 a=-35,1 b=34,-1 c=-34,-1 beta=0.5",
    "gemm $ m=33 n=34 k=35 a=1,1 b=2,1",
    "gemm $ m=33 n=34 k=35 a=0,1 b=1,0",
    "gemm $ m=33 n=34 k=35 a=0,0 b=0,0 beta=1",
    "gemm $ m=20 n=30 k=40 c=1,20 a=-1,21",
    "gemm $ m=20 n=30 k=40 c=30,1 b=1,41",
    // lines at multiples of 16 bytes around odd extents, as copy engines want them; tiles of all sizes
    "gemm $ m=133 n=75 k=67 a=72,1 b=80,1 c=80,1 beta=1",
    "gemm $ m=133 n=75 k=67 a=1,136 b=1,72 c=75,1",
    "gemm $ m=133 n=75 k=67 a=1,136 b=80,1 c=1,136 alpha=2 beta=-1",
    "gemm $ m=133 n=75 k=67 a=72,1 b=1,72 c=80,1",
    "gemm $ m=150 n=200 k=136 a=t b=t",
    "gemm $ m=260 n=520 k=40 beta=1",
    "gemm $ m=264 n=520 k=43 a=t b=520,1 c=t",
    "gemm $ m=70 n=72 k=88 batch=3 a=t",
    "gemm $ m=70 n=72 k=88 batch=3 b_batch=1 c=t beta=0.5",
    "gemm $ m=8 n=400 k=1000",
    "gemm $ m=20 n=200 k=1000 b=t",
    "gemm $ m=1 n=520 k=64",
    "gemm $ m=520 n=1 k=64",
    // batches
    "gemm $ m=9 n=10 k=11 batch=4",
    "gemm $ m=9 n=10 k=11 batch=4 a_batch=1",
    "gemm $ m=9 n=10 k=11 batch=4 b_batch=1",
    "gemm $ m=9 n=10 k=11 batch=4 a_batch=1 b_batch=1 beta=1",
    "gemm $ m=9 n=10 k=11 batch=4 a=0,11,1",
    "gemm $ m=9 n=10 k=11 batch=4 b=-110,10,1",
    "gemm $ m=9 n=10 k=11 batch=4 c=10,40,1",
    "gemm $ m=64 n=96 k=128 batch=8",
    "gemm $ m=16 n=24 k=32 batch=5 a=t b=t c=t alpha=3",
    "gemm $ m=9 n=10 k=11 batch=1 c=-5,10,1 a=7,11,1",
};
constexpr const char* dtypes[] = {"f16", "bf16", "f32", "f64", "f16 out=f32", "bf16 out=f32"};

// "f16 out=f32" puts its second word at the end.
std::string with_dtype(std::string form, const std::string& dtype) {
  const size_t space = dtype.find(' ');
  form.replace(form.find('$'), 1, dtype.substr(0, space));
  return space == std::string::npos ? form : form + dtype.substr(space);
}

int64_t random_extent(Random& random, int64_t most) {
  static constexpr int64_t favourites[] = {1,  1,  2,  3,  4,  8,  14, 15,
                                           16, 17, 28, 31, 32, 33, 64, 65};
  if (random.one_in(60)) return 0;
  const int64_t value = random.one_in(2) ? random.between(1, most)
                                         : favourites[random.between(0, std::size(favourites) - 1)];
  return std::min(value, most);
}

// The dims lie in memory in any order, with gaps, reversals and (if allowed) broadcasts.
Layout random_matrix(Random& random, infiniDtype_t dtype, std::vector<size_t> shape, bool written) {
  std::vector<size_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (random.one_in(2)) std::swap(order[order.size() - 1], order[order.size() - 2]);
  if (order.size() == 3 && random.one_in(5))
    std::swap(order[0], order[static_cast<size_t>(random.between(1, 2))]);
  std::vector<ptrdiff_t> strides(shape.size());
  ptrdiff_t step = random.one_in(5) ? random.between(2, 3) : 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto extent = static_cast<ptrdiff_t>(std::max<size_t>(shape[order[i]], 1));
    strides[order[i]] = random.one_in(6) ? -step : step;
    if (extent == 1)
      strides[order[i]] = static_cast<ptrdiff_t>(random.next());
    else if (!written && random.one_in(12))
      strides[order[i]] = 0;
    else
      step = step * extent + (random.one_in(3) ? random.between(0, 9) : 0);
  }
  return make_layout(dtype, shape.size(), shape.data(), strides.data());
}

}  // namespace

std::vector<std::string> curated_gemm_cases() {
  std::vector<std::string> cases;
  for (const char* form : forms)
    for (const char* dtype : dtypes) cases.push_back(with_dtype(form, dtype));
  return cases;
}

GemmProblem random_gemm(Random& random, int64_t most) {
  static constexpr infiniDtype_t types[] = {INFINI_DTYPE_F16, INFINI_DTYPE_BF16, INFINI_DTYPE_F32,
                                            INFINI_DTYPE_F64};
  static constexpr float factors[] = {1, 0, 0.5f, -1, 2, 3};
  const infiniDtype_t type = types[random.between(0, 3)];
  const bool narrow = dtype_bytes(type) == 2;
  const auto m = static_cast<size_t>(random_extent(random, most)),
             n = static_cast<size_t>(random_extent(random, most)),
             k = static_cast<size_t>(random_extent(random, 3 * most));
  const auto batch = static_cast<size_t>(random.one_in(3) ? random.between(1, 5) : 0);
  const auto shape = [&](size_t rows, size_t cols, bool may_be_one) {
    std::vector<size_t> dims{rows, cols};
    if (batch > 0) dims.insert(dims.begin(), may_be_one && random.one_in(4) ? 1 : batch);
    return dims;
  };
  GemmProblem p;
  p.c = random_matrix(random, narrow && random.one_in(3) ? INFINI_DTYPE_F32 : type,
                      shape(m, n, false), true);
  p.a = random_matrix(random, type, shape(m, k, true), false);
  p.b = random_matrix(random, type, shape(k, n, true), false);
  p.alpha = random.one_in(2) ? 1 : factors[random.between(0, 5)];
  p.beta = random.one_in(2) ? 0 : factors[random.between(0, 5)];
  const auto place = [&](const Layout& x) {
    return random.one_in(3) ? random.between(0, 7) * dtype_bytes(x.dtype) : 0;
  };
  p.c_at = place(p.c);
  p.a_at = place(p.a);
  p.b_at = place(p.b);
  return p;
}

GemmProblem with_odd_scales(GemmProblem problem) {
  problem.alpha *= 1.1;
  problem.beta /= 3;
  return problem;
}

GemmProblem random_dense_gemm(Random& random) {
  static constexpr const char* types[] = {"f16", "bf16", "f32", "f64"};
  const auto extent = [&](int most_bits) {
    const auto bits = static_cast<int>(random.between(0, most_bits - 1));
    const int64_t value = random.between(int64_t{1} << bits, int64_t{2} << bits);
    return random.one_in(2) && value > 16 ? value / 16 * 16 : value;
  };
  int64_t m, n, k, batch;
  do {
    m = extent(12), n = extent(12), k = extent(12), batch = random.one_in(4) ? extent(7) : 1;
  } while (m * n * k > (int64_t{1} << 34) / batch);
  std::string text = std::string("gemm ") + types[random.between(0, 3)] +
                     " m=" + std::to_string(m) + " n=" + std::to_string(n) +
                     " k=" + std::to_string(k);
  if (batch > 1) text += " batch=" + std::to_string(batch);
  if (random.one_in(3)) text += " a=t";
  if (random.one_in(2)) text += " b=t";
  return parse_gemm(text);
}

}  // namespace infini::harness
