// Gemm on the CPU: the ordered candidates, and what surrounds each run.
#include "backends/cpu/gemm/gemm.h"

#include "backends/cpu/backend.h"
#include "backends/cpu/runtime/stream.h"
#include "base/dtype.h"
#include "contract/candidate.h"

namespace infini::cpu {

#if !defined(__x86_64__)
bool fits_amx(const GemmPlan&) { return false; }
std::unique_ptr<GemmKernel> make_amx(const infini::Device&, const GemmPlan&) { return nullptr; }
bool dpbf16_works() { return false; }
bool prefers_dpbf16(const infini::Device&, const GemmPlan&) { return false; }
std::unique_ptr<GemmKernel> make_dpbf16(const infini::Device&, const GemmPlan&) { return nullptr; }
#endif

namespace {

bool any(const infini::Device&, const GemmPlan&) { return true; }
bool wants_sweep(const infini::Device&, const GemmPlan& plan) {
  return prefers_sweep(plan) && !fits_amx(plan);
}
bool wants_amx(const infini::Device&, const GemmPlan& plan) { return fits_amx(plan); }
bool wants_dpbf16(const infini::Device& device, const GemmPlan& plan) {
  return prefers_dpbf16(device, plan) && !fits_amx(plan);
}

template <int rank, auto accepts, auto make>
constexpr auto rule = bid_by_rule<rank, accepts, make, GemmKernel, infini::Device, GemmPlan>;

constexpr Candidate<GemmKernel, infini::Device, GemmPlan> candidates[] = {
    {"dpbf16", rule<0, wants_dpbf16, make_dpbf16>}, {"sweep", rule<1, wants_sweep, make_sweep>},
    {"direct", rule<2, is_small, make_direct>},     {"amx", rule<3, wants_amx, make_amx>},
    {"skinny", rule<4, is_skinny, make_skinny>},    {"onednn", rule<5, any, make_onednn>},
    {"openblas", rule<6, any, make_openblas>},      {"blocked", rule<7, any, make_blocked>},
};

}  // namespace

// C = beta·C; with beta == 0 it is written, not read.
template <class T>
void CpuGemm::scale(char* c, T beta) const {
  const T zeros[64] = {};
  FinishCall<T> call{zeros, 0, plan_.m, 0, nullptr, plan_.c.row_step, plan_.c.col_step, 0, beta};
  const auto finish = kernels<T>().finish[memory_index(plan_.c.dtype)];
  for (int64_t batch = 0; batch < plan_.batch; ++batch)
    for (int64_t column = 0; column < plan_.n; column += 64) {
      call.cols = plan_.n - column < 64 ? plan_.n - column : 64;
      call.c = c + batch * plan_.c.batch_step + column * plan_.c.col_step;
      finish(call);
    }
}

void CpuGemm::execute(const Pointers& p, double alpha, double beta) const {
  if (alpha != 0 && plan_.k != 0) return multiply(p, alpha, beta);
  if (beta == 1) return;
  is_f64(plan_) ? scale<double>(p.c, beta) : scale<float>(p.c, static_cast<float>(beta));
}

void CpuGemm::run(void* workspace, void* c, const void* a, const void* b, double alpha, double beta,
                  void* stream) const {
  const Pointers p{static_cast<char*>(workspace), static_cast<char*>(c),
                   static_cast<const char*>(a), static_cast<const char*>(b)};
  if (stream != nullptr) [[unlikely]] {
    if (const auto recording = capture_of(stream)) {
      recording->add(
          [self = shared_from_this(), this, p, alpha, beta] { execute(p, alpha, beta); });
      return;
    }
  }
  execute(p, alpha, beta);
}

std::string CpuGemm::chain_arithmetic(const std::string& how) const {
  std::string text = std::string(candidate()) + " " + isa_name(isa_) + " " +
                     dtype_name(plan_.a.dtype) + " to " + dtype_name(plan_.c.dtype);
  for (const int64_t extent : {plan_.batch, plan_.m, plan_.n, plan_.k})
    text += " " + std::to_string(extent);
  return text + how;
}

std::unique_ptr<GemmKernel> make_gemm(infini::Device& device, const GemmPlan& plan,
                                      const GemmOptions&, const Choice& choice) {
  const infini::Device& context = device;
  return cheapest(candidates, context, fold_batch(plan), choice,
                  {"INFINI_CPU_GEMM", "INFINI_GEMM"});
}

}  // namespace infini::cpu
