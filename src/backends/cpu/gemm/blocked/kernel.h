// The blocked gemm's kernel: its parts.
#pragma once

#include <string>

#include "backends/cpu/gemm/blocked/schedule.h"
#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/runtime/parallel.h"

namespace infini::cpu {

template <class T>
class Blocked final : public CpuGemm {
 public:
  explicit Blocked(const blocked::Schedule& schedule)
      : CpuGemm(schedule.plan), kernels_(this->template kernels<T>()), s_(schedule) {
    workspace_bytes_ = s_.workspace_bytes();
  }
  const char* candidate() const override { return "blocked"; }
  std::string schedule() const override;
  // Each element is summed in the order of k, piece by piece; what else is chosen does not matter.
  std::string arithmetic() const override {
    return chain_arithmetic(", pieces of " + std::to_string(s_.depth) +
                            (s_.pack_a ? ", packed" : "") + (s_.swapped ? ", transposed" : ""));
  }

 protected:
  void multiply(const Pointers& p, double alpha, double beta) const override;

 private:
  struct Work {  // one thread's view of a run
    Pointers p;
    T alpha, beta;
    Team& team;
    int64_t step = 0;  // which of the buffers is packed
  };
  struct Region {  // the part of C for which an operand is packed together
    char* c;
    const char *a, *b;
    int64_t rows, cols;
  };
  struct Part {  // one piece of k, and where its tiles go
    int64_t length;
    T* c;
    int64_t c_row;
    T alpha, beta;
  };
  struct Operands {  // packed strips and panels
    const T *a, *b;
    int64_t rows, cols;
  };

  void run_block(Work& work, int64_t index) const;
  void run_by_rows(Work& work, const Region& region) const;
  void run_by_cols(Work& work, const Region& region) const;
  void run_tiles(const Part& part, const Operands& x) const;
  void run_tile(TileCall<T>& call, const Part& part, const Operands& x, int64_t strip, int64_t col,
                int64_t tile) const;
  void look_ahead(TileCall<T>& call, const Operands& x, int64_t col, int64_t tile) const;
  void pack_panels(const char* b, int64_t length, int64_t cols, T* dst) const;
  void pack_strips(const char* a, int64_t length, int64_t rows, int64_t first, int64_t last,
                   T* dst) const;
  void finish(const Work& work, char* c, const T* sums, int64_t sum_row, int64_t rows,
              int64_t cols) const;
  Part part_of(const Work& work, const Region& region, int64_t first, int64_t length, T* sums,
               int64_t sum_row) const;

  const GemmKernels<T>& kernels_;
  const blocked::Schedule s_;
};

}  // namespace infini::cpu
