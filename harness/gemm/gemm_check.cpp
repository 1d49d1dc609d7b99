// Checking a gemm problem on the current device.
#include "harness/gemm/gemm_check.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/device_kind.h"
#include "base/dtype.h"
#include "harness/gemm/gemm_reference.h"
#include "harness/rearrange/images.h"
#include "infiniop.h"

namespace infini::harness {
namespace {

constexpr double most_work = 3e7;  // multiply-adds of the reference; beyond, elements are sampled

int64_t extent(const Layout& x, int dim) {
  return dim == 0 && x.rank == 2 ? 1 : x.shape[dim + x.rank - 3];
}

// Values for every element. A broadcast element is written more than once; the last one stays.
void fill_elements(const Layout& layout, char* base, GemmValues values, Random& random) {
  for (int64_t b = 0; b < extent(layout, 0); ++b)
    for (int64_t i = 0; i < extent(layout, 1); ++i)
      for (int64_t j = 0; j < extent(layout, 2); ++j) {
        const double value =
            values == GemmValues::integers
                ? static_cast<double>(random.between(-4, 4))
                : static_cast<double>(random.between(-(1 << 24), 1 << 24)) * 0x1p-24;
        write_element(layout.dtype, base + element_offset(layout, b, i, j), value);
      }
}

void fill_nan(const Layout& layout, char* base) {
  for (int64_t b = 0; b < extent(layout, 0); ++b)
    for (int64_t i = 0; i < extent(layout, 1); ++i)
      for (int64_t j = 0; j < extent(layout, 2); ++j)
        std::memset(base + element_offset(layout, b, i, j), 0xff,
                    static_cast<size_t>(dtype_bytes(layout.dtype)));
}

// The C objects and the workspace of one run, destroyed whatever happens.
struct Objects {
  infiniopHandle_t handle = nullptr;
  infiniopTensorDescriptor_t c = nullptr, a = nullptr, b = nullptr;
  infiniopGemmDescriptor_t desc = nullptr;
  void* workspace = nullptr;
  ~Objects() {
    infinirtFree(workspace);
    if (desc) infiniopDestroyGemmDescriptor(desc);
    for (auto tensor : {c, a, b})
      if (tensor) infiniopDestroyTensorDescriptor(tensor);
    if (handle) infiniopDestroyHandle(handle);
  }
};

void run_on_device(const GemmProblem& p, void* c, const void* a, const void* b,
                   infinirtStream_t stream) {
  Objects o;
  require_success(infiniopCreateHandle(&o.handle), "infiniopCreateHandle");
  o.c = describe(p.c);
  o.a = describe(p.a);
  o.b = describe(p.b);
  require_success(infiniopCreateGemmDescriptor(o.handle, &o.desc, o.c, o.a, o.b),
                  "infiniopCreateGemmDescriptor");
  size_t bytes = 0;
  require_success(infiniopGetGemmWorkspaceSize(o.desc, &bytes), "infiniopGetGemmWorkspaceSize");
  require_success(infinirtMalloc(&o.workspace, bytes), "infinirtMalloc");
  require_success(infinirtMemset(o.workspace, 0xff, bytes), "infinirtMemset");  // NaN everywhere
  const infiniopGemmScales_t scales{sizeof scales, p.alpha, p.beta};
  require_success(infiniopGemmWithScales(o.desc, o.workspace, bytes, c, a, b, &scales, stream),
                  "infiniopGemmWithScales");
  require_success(infinirtStreamSynchronize(stream), "infinirtStreamSynchronize");
}

double accumulator_roundoff(const GemmProblem& p) {
  infiniDevice_t kind = INFINI_DEVICE_CPU;
  infinirtGetDevice(&kind, nullptr);
  if (p.a.dtype == INFINI_DTYPE_F64) return 0x1p-53;
  const char* tf32 = std::getenv("INFINI_ALLOW_TF32");
  if (p.a.dtype == INFINI_DTYPE_F32 && tf32 && !std::strcmp(tf32, "1")) return 0x1p-11;
  const bool truncates = kind != INFINI_DEVICE_CPU && p.a.dtype != INFINI_DTYPE_F32;
  return truncates ? 0x1p-23 : 0x1p-24;
}

class Judge {
 public:
  Judge(const GemmProblem& problem, const Image& a, const Image& b, const Image& before,
        std::vector<char>& after)
      : p_(problem),
        a_(a),
        b_(b),
        before_(before),
        after_(after),
        u_(accumulator_roundoff(problem)) {}

  // Judges one element.
  void look_at(int64_t batch, int64_t row, int64_t col, GemmValues values, GemmVerdict& verdict) {
    const int64_t offset = before_.base + element_offset(p_.c, batch, row, col);
    char* place = after_.data() + offset;
    const char* old = before_.bytes.data() + offset;
    const bool multiplies = p_.alpha != 0;
    const GemmElement element =
        multiplies ? naive_gemm_element(p_, a_.data(), b_.data(), batch, row, col) : GemmElement{};
    const long double c = p_.beta == 0 ? 0 : read_element(p_.c.dtype, old);
    const long double expected = p_.alpha * element.product + p_.beta * c;
    const long double actual = read_element(p_.c.dtype, place);
    const bool good = values == GemmValues::integers
                          ? equals(actual, expected)
                          : within(actual, expected, element.magnitude, c, verdict);
    if (!good && verdict.message.empty())
      describe_failure(batch, row, col, actual, expected, verdict);
  }

 private:
  long double rounded(long double value) const {
    char place[8];
    write_element(p_.c.dtype, place, value);
    return read_element(p_.c.dtype, place);
  }

  bool equals(long double actual, long double expected) const {
    return same(actual, rounded(expected));
  }

  // Any NaN is as good as another.
  static bool same(long double x, long double y) {
    return x == y || (std::isnan(x) && std::isnan(y));
  }

  bool within(long double actual, long double expected, long double magnitude, long double c,
              GemmVerdict& verdict) const {
    const auto terms = static_cast<double>(p_.a.shape[p_.a.rank - 1] + 2);
    const double gamma = terms * u_ / (1 - terms * u_);
    const double bound = gamma * std::fabs(p_.alpha) * static_cast<double>(magnitude) +
                         2 * u_ * std::fabs(p_.beta * static_cast<double>(c)) +
                         unit_roundoff(p_.c.dtype) * static_cast<double>(std::fabs(expected)) +
                         half_denormal(p_.c.dtype);
    if (!std::isfinite(expected)) return same(actual, expected);
    // Beyond the type's largest number stands infinity, and the bound says how near to that the result may be.
    if (std::isinf(actual) && actual == rounded(expected + std::copysign(bound, expected)))
      return true;
    const double ratio = static_cast<double>(std::fabs(actual - expected)) / bound;
    if (!(ratio <= verdict.error_over_bound)) verdict.error_over_bound = ratio;
    return ratio < 1;
  }

  void describe_failure(int64_t batch, int64_t row, int64_t col, long double actual,
                        long double expected, GemmVerdict& verdict) const {
    char text[200];
    std::snprintf(text, sizeof text,
                  "c[%lld,%lld,%lld] is %.9Lg, expected %.9Lg (error/bound %.3g)",
                  static_cast<long long>(batch), static_cast<long long>(row),
                  static_cast<long long>(col), actual, expected, verdict.error_over_bound);
    verdict.message = text;
  }

  const GemmProblem& p_;
  const Image &a_, &b_, &before_;
  std::vector<char>& after_;
  double u_;
};

// All elements, or corners and random places when there are too many.
void judge(const GemmProblem& p, GemmValues values, Judge& judge, Random& random, bool all,
           GemmVerdict& verdict) {
  const int64_t batch = extent(p.c, 0), m = extent(p.c, 1), n = extent(p.c, 2);
  if (all) {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) judge.look_at(b, i, j, values, verdict);
    return;
  }
  const auto samples =
      static_cast<int64_t>(most_work / static_cast<double>(extent(p.a, 2) + 1)) + 4;
  for (int64_t s = 0; s < samples; ++s) {
    const bool corner = s < 4;
    judge.look_at(corner ? 0 : random.between(0, batch - 1),
                  corner ? (s & 1) * (m - 1) : random.between(0, m - 1),
                  corner ? (s >> 1) * (n - 1) : random.between(0, n - 1), values, verdict);
  }
}

// Elements were judged one by one; what remains to compare is everything around them.
std::string outside_difference(const GemmProblem& p, const Image& before, std::vector<char> after) {
  for (int64_t b = 0; b < extent(p.c, 0); ++b)
    for (int64_t i = 0; i < extent(p.c, 1); ++i)
      for (int64_t j = 0; j < extent(p.c, 2); ++j) {
        const auto at = static_cast<size_t>(before.base + element_offset(p.c, b, i, j));
        std::memcpy(after.data() + at, before.bytes.data() + at,
                    static_cast<size_t>(dtype_bytes(p.c.dtype)));
      }
  return difference(before.bytes, after, before.base, "outside c's elements: c");
}

std::string reproducer(const GemmProblem& problem) {
  infiniDevice_t kind = INFINI_DEVICE_CPU;
  infinirtGetDevice(&kind, nullptr);
  return std::string("\n  infini check --device ") + device_kind_name(kind) + " \"" +
         to_text(problem) + "\"";
}

// With the scales that the sums' type has.
GemmProblem rounded(GemmProblem problem) {
  if (problem.a.dtype != INFINI_DTYPE_F64) {
    problem.alpha = static_cast<float>(problem.alpha);
    problem.beta = static_cast<float>(problem.beta);
  }
  return problem;
}

GemmVerdict compare(const GemmProblem& given, GemmValues values, uint64_t seed,
                    infinirtStream_t stream) {
  const GemmProblem p = rounded(given);
  Image c(p.c, p.c_at), a(p.a, p.a_at), b(p.b, p.b_at);
  Random random(seed);
  fill(c.bytes, seed);
  fill(a.bytes, seed ^ 0xa);
  fill(b.bytes, seed ^ 0xb);
  fill_elements(p.a, a.data(), values, random);
  fill_elements(p.b, b.data(), values, random);
  p.beta == 0 ? fill_nan(p.c, c.data()) : fill_elements(p.c, c.data(), values, random);
  if (p.alpha == 0) fill_nan(p.a, a.data());
  const DeviceImage device_c(c), device_a(a), device_b(b);
  run_on_device(given, device_c.data(), device_a.data(), device_b.data(), stream);
  std::vector<char> after = device_c.read();
  GemmVerdict verdict;
  Judge elements(p, a, b, c, after);
  if (element_count(p.c) > 0)
    judge(p, values, elements, random, flops(p) <= 2 * most_work, verdict);
  if (verdict.message.empty()) verdict.message = outside_difference(p, c, after);
  if (verdict.message.empty()) verdict.message = difference(a.bytes, device_a.read(), a.base, "a");
  if (verdict.message.empty()) verdict.message = difference(b.bytes, device_b.read(), b.base, "b");
  return verdict;
}

}  // namespace

GemmVerdict check(const GemmProblem& problem, GemmValues values, uint64_t seed,
                  infinirtStream_t stream) {
  GemmVerdict verdict;
  try {
    verdict = compare(problem, values, seed, stream);
  } catch (const std::exception& error) {
    verdict.message = error.what();
  }
  verdict.passed = verdict.message.empty();
  if (!verdict.passed) verdict.message += reproducer(problem);
  return verdict;
}

}  // namespace infini::harness
