// Calling OpenBLAS through the CBLAS interface.
#include "bench/gemm_peer.h"

#include <dlfcn.h>

#include <cstdlib>

#include "backends/cpu/isa.h"
#include "base/dtype.h"
#include "base/thread_count.h"
#include "plan/gemm_operand.h"

namespace infini::bench {
namespace {

enum { row_major = 101, no_transpose = 111, transpose = 112 };  // of cblas.h

template <class T>
using GemmFunction = void (*)(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);

void* open_library() {
  if (cpu::isa() == cpu::Isa::avx512) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  for (const char* name : {"libopenblas.so.0", "libopenblas.so"})
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

// Null where the library or the function is missing.
void* find(const char* name) {
  static void* const library = open_library();
  return library ? dlsym(library, name) : nullptr;
}

template <class T>
std::function<void()> calls(const GemmPlan& plan, GemmFunction<T> gemm, T alpha, T beta, void* c,
                            const void* a, const void* b) {
  const BlasMatrix mc = blas_matrix(plan.c, shape_of_c(plan)), ma = blas_matrix(plan.a, shape_of_a(plan)),
                   mb = blas_matrix(plan.b, shape_of_b(plan));
  if (!mc.addressable || mc.columns_first || !ma.addressable || !mb.addressable) return nullptr;
  return [=] {
    for (int64_t i = 0; i < plan.batch; ++i)
      gemm(row_major, ma.columns_first ? transpose : no_transpose,
           mb.columns_first ? transpose : no_transpose, static_cast<int>(plan.m),
           static_cast<int>(plan.n), static_cast<int>(plan.k), alpha,
           static_cast<const T*>(a) + i * ma.batch_stride, static_cast<int>(ma.leading),
           static_cast<const T*>(b) + i * mb.batch_stride, static_cast<int>(mb.leading), beta,
           static_cast<T*>(c) + i * mc.batch_stride, static_cast<int>(mc.leading));
  };
}

}  // namespace

std::function<void()> openblas_peer(const harness::GemmProblem& problem, void* c, const void* a,
                                    const void* b) {
  const bool wide = problem.a.dtype == INFINI_DTYPE_F64;
  if (!wide && problem.a.dtype != INFINI_DTYPE_F32) return nullptr;
  void* function = find(wide ? "cblas_dgemm" : "cblas_sgemm");
  if (function == nullptr) return nullptr;
  using SetThreads = void (*)(int);
  if (auto set = reinterpret_cast<SetThreads>(find("openblas_set_num_threads"))) set(thread_count());
  const GemmPlan plan = make_gemm_plan(problem.c, problem.a, problem.b);
  if (wide)
    return calls<double>(plan, reinterpret_cast<GemmFunction<double>>(function), problem.alpha,
                         problem.beta, c, a, b);
  return calls<float>(plan, reinterpret_cast<GemmFunction<float>>(function), problem.alpha,
                      problem.beta, c, a, b);
}

}  // namespace infini::bench
