// Gemm on the CPU: the candidates, and what surrounds each run.
#include "backends/cpu/gemm/gemm.h"

#include "backends/cpu/backend.h"
#include "backends/cpu/runtime/parallel.h"
#include "backends/cpu/runtime/stream.h"
#include "base/dtype.h"
#include "base/environment.h"
#include "contract/candidate.h"

namespace infini::cpu {

#if !defined(__x86_64__)
bool has_dpbf16() { return false; }
Bid<GemmKernel> bid_amx(const GemmTarget&, const GemmPlan&, double) {
  return cannot<GemmKernel>("this processor has no matrix unit (AMX)");
}
Bid<GemmKernel> bid_dpbf16(const GemmTarget&, const GemmPlan&, double) {
  return cannot<GemmKernel>("this processor lacks AVX512-BF16");
}
Bid<GemmKernel> bid_dots(const GemmTarget&, const GemmPlan&, double) {
  return cannot<GemmKernel>("this processor lacks AVX512-BF16");
}
#endif

namespace {

// Those first that bid cheaply and often least: the others then have a limit.
constexpr Candidate<GemmKernel, GemmTarget, GemmPlan> candidates[] = {
    {"direct", bid_direct},   {"skinny", bid_skinny}, {"sweep", bid_sweep},
    {"dots", bid_dots},       {"dpbf16", bid_dpbf16}, {"amx", bid_amx},
    {"blocked", bid_blocked}, {"onednn", bid_onednn}, {"openblas", bid_openblas},
};

}  // namespace

GemmTarget gemm_target(const GemmPlan& plan) {
  const Isa level = isa();
  const GemmTables& tables = gemm_tables(level);
  GemmTarget target{&machine(), level, &tables.f32, &tables.f64};
#if defined(__x86_64__)
  if (level == Isa::avx512) {
    target.half_f32 = &gemm_tables(Isa::avx2).f32;
    target.half_f64 = &gemm_tables(Isa::avx2).f64;
  }
  // INFINI_CPU_ISA asks for vectors of that set only.
  if (dtype_bytes(plan.a.dtype) == 2 && environment("INFINI_CPU_ISA") == nullptr) {
    target.pairs = plan.a.dtype == INFINI_DTYPE_BF16 && has_dpbf16();
    target.matrix = amx_works();
  }
#endif
  target.threads = available_threads();
  return target;
}

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

std::unique_ptr<GemmKernel> make_gemm(infini::Device&, const GemmPlan& given, const GemmOptions&,
                                      const Choice& choice) {
  const GemmPlan plan = fold_batch(given);
  return cheapest(candidates, gemm_target(plan), plan, choice, {"INFINI_CPU_GEMM", "INFINI_GEMM"});
}

}  // namespace infini::cpu
