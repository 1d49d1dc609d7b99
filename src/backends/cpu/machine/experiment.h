// What the experiments of measure*.cpp share: memory that is there, and the best of a few turns.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "backends/cpu/machine/machine.h"
#include "backends/cpu/rearrange/runs/kernels.h"

namespace infini::cpu {

constexpr int64_t page_bytes = 4096, huge_page = 2 << 20;

// Touched, so that no page is missing when the clock runs.
class Buffer {
 public:
  explicit Buffer(int64_t bytes, bool huge = true)
      : p_(static_cast<char*>(std::aligned_alloc(
               huge_page, static_cast<size_t>((bytes + huge_page - 1) / huge_page * huge_page))),
           std::free) {
    if (p_ == nullptr) return;
    madvise(p_.get(), static_cast<size_t>(bytes),
            huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);  // a wish
    std::memset(p_.get(), 1, static_cast<size_t>(bytes));
  }
  char* get() const { return p_.get(); }

 private:
  std::unique_ptr<char, decltype(&std::free)> p_;
};

// Whatever disturbs makes slower. So many turns at least, and for so long.
template <class Body>
double best_ns(Body body, int turns = 5, double least_ns = 0) {
  double best = 1e18, spent = 0;
  for (int turn = 0; turn < turns || spent < least_ns; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    body();
    const double ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    best = std::min(best, ns);
    spent += ns;
  }
  return best;
}
// Threads that are measured together all have to run in one turn: on cores that others use, too, that takes some of the
// system's time slices to happen.
constexpr double together_ns = 20e6;

// Two tensors of an experiment.
struct Room {
  char* dst;
  const char* src;
};

// `bytes` bytes, or words of them.
inline Line line_of(char* dst, const char* src, int64_t count, bool streamed) {
  Line line{};
  line.dst = dst, line.src = src, line.count = line.length = count, line.repeat = 1;
  line.streamed = streamed;
  return line;
}

// What one unit of each rearrange kernel takes, by these kernels: measure_kernels.cpp.
void measure_kernels(Machine& m, const Room& room);

// The facts of arithmetic and of how products read: measure_products.cpp. `memory`: bytes that no cache holds.
void measure_products(Machine& m, int64_t memory);

}  // namespace infini::cpu
