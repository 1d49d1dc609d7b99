// The tiny gemm: a few dozen multiplications straight from strided memory. Preparing tiles for them
// would cost more than the product.
#include "backends/cpu/gemm.h"

namespace infini::cpu {
namespace {

constexpr int64_t most_products = 64;

template <class T>
class Tiny final : public CpuGemm {
 public:
  using CpuGemm::CpuGemm;
  const char* candidate() const override { return "tiny"; }

 protected:
  void multiply(const Pointers& p, float alpha, float beta) const override {
    for (int64_t batch = 0; batch < plan_.batch; ++batch)
      for (int64_t row = 0; row < plan_.m; ++row)
        for (int64_t col = 0; col < plan_.n; ++col) {
          const char* a = p.a + batch * plan_.a.batch_step + row * plan_.a.row_step;
          const char* b = p.b + batch * plan_.b.batch_step + col * plan_.b.col_step;
          char* c =
              p.c + batch * plan_.c.batch_step + row * plan_.c.row_step + col * plan_.c.col_step;
          const T sum = T(alpha) * dot(a, b);
          store(c, beta == 0 ? sum : sum + T(beta) * load(c));
        }
  }

 private:
  T dot(const char* a, const char* b) const {
    T sum = 0;
    for (int64_t k = 0; k < plan_.k; ++k)
      sum += load(a + k * plan_.a.col_step) * load(b + k * plan_.b.row_step);
    return sum;
  }
  // Elements may lie at any address.
  static T load(const char* p) {
    T value;
    __builtin_memcpy(&value, p, sizeof value);
    return value;
  }
  static void store(char* p, T value) { __builtin_memcpy(p, &value, sizeof value); }
};

}  // namespace

bool is_tiny(const infini::Device&, const GemmPlan& plan) {
  const int64_t most = most_products;  // no extent is larger, so the products below do not overflow
  if (plan.batch > most || plan.m > most || plan.n > most || plan.k > most) return false;
  const bool wide = plan.a.dtype == INFINI_DTYPE_F32 || plan.a.dtype == INFINI_DTYPE_F64;
  return wide && plan.c.dtype == plan.a.dtype && plan.batch * plan.m * plan.n * plan.k <= most;
}

std::unique_ptr<GemmKernel> make_tiny(const infini::Device&, const GemmPlan& plan) {
  if (is_f64(plan)) return std::make_unique<Tiny<double>>(plan);
  return std::make_unique<Tiny<float>>(plan);
}

}  // namespace infini::cpu
