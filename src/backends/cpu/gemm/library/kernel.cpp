// Products by other people's libraries: running a schedule.
#include <algorithm>
#include <atomic>
#include <sstream>

#include "backends/cpu/gemm/library/library.h"
#include "backends/cpu/gemm/library/schedule.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/environment.h"
#include "base/error.h"

namespace infini::cpu {
namespace {

using library::LeastBlock, library::Schedule;

template <class T>
class LibraryGemm final : public CpuGemm {
 public:
  using Function = bool (*)(const LibraryCall<T>&);
  LibraryGemm(const char* name, const GemmLibrary& library, Function function,
              const Schedule& schedule)
      : CpuGemm(schedule.plan), name_(name), library_(library), function_(function), s_(schedule) {
    call_.k = plan_.k;
    call_.a_form = blas_matrix(plan_.a, shape_of_a(plan_));
    call_.b_form = blas_matrix(plan_.b, shape_of_b(plan_));
    call_.c_form = blas_matrix(plan_.c, shape_of_c(plan_));
  }

  const char* candidate() const override { return name_; }
  std::string schedule() const override {
    std::ostringstream text;
    text << library_.about << ", blocks of " << s_.rows << "x" << s_.cols << ", " << s_.blocks()
         << " tasks, one thread each" << (s_.swapped ? ", transposed" : "");
    return text.str();
  }

 protected:
  void multiply(const Pointers& given, double alpha, double beta) const override {
    Pointers p = given;
    if (s_.swapped) std::swap(p.a, p.b);
    const int64_t count = s_.blocks();
    const int threads = static_cast<int>(std::min<int64_t>(count, available_threads()));
    std::atomic<int64_t> next{0};
    std::atomic<bool> failed{false};
    parallel_for(threads, threads, [&](int64_t, int64_t) {
      const OneThread alone(library_.openmp);
      for (int64_t block; (block = next.fetch_add(1, std::memory_order_relaxed)) < count;)
        if (!function_(call_of(p, block, alpha, beta)))
          failed.store(true, std::memory_order_relaxed);
    });
    require(!failed, INFINI_STATUS_INTERNAL_ERROR, library_.about,
            " could not compute this product");
  }

 private:
  LibraryCall<T> call_of(const Pointers& p, int64_t block, double alpha, double beta) const {
    const auto [batch, row, col, rows, cols] = s_.block(block);
    LibraryCall<T> call = call_;
    call.m = rows;
    call.n = cols;
    call.alpha = static_cast<T>(alpha);
    call.beta = static_cast<T>(beta);
    call.a = reinterpret_cast<const T*>(p.a + batch * plan_.a.batch_step + row * plan_.a.row_step);
    call.b = reinterpret_cast<const T*>(p.b + batch * plan_.b.batch_step + col * plan_.b.col_step);
    call.c = reinterpret_cast<T*>(p.c + batch * plan_.c.batch_step + row * plan_.c.row_step +
                                  col * plan_.c.col_step);
    return call;
  }

  const char* name_;
  const GemmLibrary& library_;
  Function function_;
  const Schedule s_;
  LibraryCall<T> call_{};  // what is the same in every block
};

// A library is opened when its bid would be the least: neither before nor for others' sake.
Bid<GemmKernel> bid(const char* name, const GemmLibrary& (*open)(), const LeastBlock& least,
                    double rate, const GemmTarget& target, const GemmPlan& plan, double limit) {
  if (target.facts->region_ns > limit) return at_least<GemmKernel>(target.facts->region_ns);
  constexpr double unasked = 1e-3;  // INFINI_CPU_ISA asks for kernels of our own
  const bool may = environment("INFINI_CPU_ISA") == nullptr;
  const auto estimate = library::estimate(target, plan, limit, least, may ? rate : unasked);
  if (!estimate.schedule) return {.nanoseconds = estimate.nanoseconds, .why_not = estimate.why_not};
  const GemmLibrary& library = open();
  const bool computes = is_f64(plan) ? library.f64 != nullptr : library.f32 != nullptr;
  if (!library.why_not.empty() || !computes)
    return cannot<GemmKernel>(computes ? library.why_not.c_str() : "it has no product in f64");
  return would_take<GemmKernel>(
      estimate.nanoseconds,
      [name, &library, s = *estimate.schedule]() -> std::unique_ptr<GemmKernel> {
        if (is_f64(s.plan))
          return std::make_unique<LibraryGemm<double>>(name, library, library.f64, s);
        return std::make_unique<LibraryGemm<float>>(name, library, library.f32, s);
      });
}

}  // namespace

Bid<GemmKernel> bid_openblas(const GemmTarget& target, const GemmPlan& plan, double limit) {
  return bid("openblas", openblas, {64, 256}, target.facts->openblas_rate, target, plan, limit);
}

Bid<GemmKernel> bid_onednn(const GemmTarget& target, const GemmPlan& plan, double limit) {
  return bid("onednn", onednn, {64, 320}, target.facts->onednn_rate, target, plan, limit);
}

}  // namespace infini::cpu
