// The peers that speak CBLAS: OpenBLAS, BLIS and MKL.
#include "bench/peers/gemm_peer.h"

#include <dlfcn.h>

#include <cstdlib>

#include "backends/cpu/machine/isa.h"
#include "base/dtype.h"
#include "bench/measure.h"
#include "plan/gemm/gemm_operand.h"

namespace infini::bench {
namespace {

enum { row_major = 101, no_transpose = 111, transpose = 112 };  // of cblas.h

// A library, and the variable that tells it which processor (or threading) this is: each of them
// misjudges virtual machines in its own way. What the user has set stays.
struct Library {
  const char *name, *file, *other_file, *variable, *avx512_value, *set_threads;
};

constexpr Library libraries[] = {
    {"OpenBLAS", "libopenblas.so.0", "libopenblas.so", "OPENBLAS_CORETYPE", "SkylakeX",
     "openblas_set_num_threads"},
    {"BLIS", "libblis.so.4", "libblis.so", "BLIS_ARCH_TYPE", "0", "bli_thread_set_num_threads"},
    {"MKL", "libmkl_rt.so.3", "libmkl_rt.so.2", "MKL_THREADING_LAYER", "GNU",
     "MKL_Set_Num_Threads"},
};
constexpr size_t library_count = sizeof libraries / sizeof *libraries;

void* open_library(const Library& library) {
  if (cpu::isa() == cpu::Isa::avx512) setenv(library.variable, library.avx512_value, 0);
  void* handle = dlopen(library.file, RTLD_NOW | RTLD_LOCAL);
  return handle ? handle : dlopen(library.other_file, RTLD_NOW | RTLD_LOCAL);
}

// Null where the library or the function is missing.
void* find(size_t index, const char* name) {
  static void* handles[library_count];
  static bool tried[library_count];
  if (!tried[index]) handles[index] = open_library(libraries[index]);
  tried[index] = true;
  return handles[index] ? dlsym(handles[index], name) : nullptr;
}

void set_threads(size_t index) {
  void* function = find(index, libraries[index].set_threads);
  if (function == nullptr) return;
  const auto threads = threads_in_use();
  if (libraries[index].name == std::string("BLIS"))
    reinterpret_cast<void (*)(int64_t)>(function)(threads);
  else
    reinterpret_cast<void (*)(int)>(function)(threads);
}

template <class T>
class BlasPeer final : public GemmPeer {
 public:
  using Function = void (*)(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*,
                            int);
  BlasPeer(const char* name, Function function, const harness::GemmProblem& problem)
      : name_(name),
        function_(function),
        plan_(make_gemm_plan(problem.c, problem.a, problem.b)),
        c_(blas_matrix(plan_.c, shape_of_c(plan_))),
        a_(blas_matrix(plan_.a, shape_of_a(plan_))),
        b_(blas_matrix(plan_.b, shape_of_b(plan_))),
        alpha_(problem.alpha),
        beta_(problem.beta) {}

  bool usable() const {
    return c_.addressable && !c_.columns_first && a_.addressable && b_.addressable;
  }
  const char* name() const override { return name_; }
  void run(void* c, const void* a, const void* b) override {
    for (int64_t i = 0; i < plan_.batch; ++i)
      function_(row_major, a_.columns_first ? transpose : no_transpose,
                b_.columns_first ? transpose : no_transpose, static_cast<int>(plan_.m),
                static_cast<int>(plan_.n), static_cast<int>(plan_.k), alpha_,
                static_cast<const T*>(a) + i * a_.batch_stride, static_cast<int>(a_.leading),
                static_cast<const T*>(b) + i * b_.batch_stride, static_cast<int>(b_.leading), beta_,
                static_cast<T*>(c) + i * c_.batch_stride, static_cast<int>(c_.leading));
  }

 private:
  const char* name_;
  Function function_;
  GemmPlan plan_;
  BlasMatrix c_, a_, b_;
  T alpha_, beta_;
};

template <class T>
std::unique_ptr<GemmPeer> blas_peer(size_t index, const harness::GemmProblem& problem) {
  void* function = find(index, sizeof(T) == 8 ? "cblas_dgemm" : "cblas_sgemm");
  if (function == nullptr) return nullptr;
  set_threads(index);
  auto peer = std::make_unique<BlasPeer<T>>(
      libraries[index].name, reinterpret_cast<typename BlasPeer<T>::Function>(function), problem);
  return peer->usable() ? std::move(peer) : nullptr;
}

}  // namespace

std::vector<std::unique_ptr<GemmPeer>> gemm_peers(const harness::GemmProblem& problem) {
  std::vector<std::unique_ptr<GemmPeer>> peers;
  const auto add = [&](std::unique_ptr<GemmPeer> peer) {
    if (peer) peers.push_back(std::move(peer));
  };
  for (size_t i = 0; i < library_count; ++i) {
    if (problem.a.dtype == INFINI_DTYPE_F64) add(blas_peer<double>(i, problem));
    if (problem.a.dtype == INFINI_DTYPE_F32) add(blas_peer<float>(i, problem));
  }
  add(onednn_peer(problem));
  return peers;
}

}  // namespace infini::bench
