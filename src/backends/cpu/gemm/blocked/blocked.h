// The blocked gemm's parts and sizes, see gemm_blocked.cpp.
#pragma once

#include <string>

#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/runtime/parallel.h"

namespace infini::cpu {

template <class T>
class Blocked final : public CpuGemm {
 public:
  explicit Blocked(const GemmPlan& original);
  const char* candidate() const override { return "blocked"; }
  std::string schedule() const override;
  // Each element is summed in the order of k, piece by piece; what else is chosen does not matter.
  std::string arithmetic() const override {
    return chain_arithmetic(", pieces of " + std::to_string(depth_) + (pack_a_ ? ", packed" : "") +
                            (swapped_ ? ", transposed" : ""));
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

  void choose_threads();
  void split_rows();
  void split_cols();
  void lay_out_workspace();

  int64_t blocks() const;
  void run_block(Work& work, int64_t block) const;
  void run_by_rows(Work& work, const Region& region) const;
  void run_by_cols(Work& work, const Region& region) const;
  void run_tiles(const Part& part, const Operands& x) const;
  void run_tile(TileCall<T>& call, const Part& part, const Operands& x, int64_t strip, int64_t col,
                int64_t tile) const;
  void look_ahead(TileCall<T>& call, const Operands& x, int64_t col, int64_t tile) const;
  bool strip_stays(const Operands& x) const { return !by_rows_ && x.cols >= many_panels * panel_; }
  void pack_panels(const char* b, int64_t length, int64_t cols, T* dst) const;
  void pack_strips(const char* a, int64_t length, int64_t rows, int64_t first, int64_t last,
                   T* dst) const;
  void finish(const Work& work, char* c, const T* sums, int64_t sum_row, int64_t rows,
              int64_t cols) const;
  Part part_of(const Work& work, const Region& region, int64_t first, int64_t length, T* sums,
               int64_t sum_row) const;
  static constexpr int64_t many_panels = 8;
  // Elements from strip to strip: packing may write less than a vector behind the last row.
  int64_t strip_step(int64_t length) const { return length * strip_ + kernels_.lanes; }
  int64_t strips(int64_t rows) const { return (rows + strip_ - 1) / strip_; }
  // Where a strip begins: their heights differ by one at most, for a last one of few rows takes as long as the others.
  int64_t strip_row(int64_t rows, int64_t strip) const { return rows * strip / strips(rows); }

  const GemmKernels<T>& kernels_;
  bool swapped_ = false, direct_c_ = false, by_rows_ = false, pack_a_ = true;
  int threads_ = 1, team_ = 1;  // all threads, and those that share a block
  int64_t panel_ = 0, strip_ = 0, depth_ = 0;
  int64_t block_rows_ = 0,
          block_cols_ = 0;  // of C, for one team; all of it where there is one team
  int64_t region_rows_ = 0, region_cols_ = 0, group_ = 0;  // group: rows or columns of a task
  int64_t shared_bytes_ = 0, private_bytes_ = 0, sum_bytes_ = 0, team_bytes_ = 0, buffers_ = 1;
};

}  // namespace infini::cpu
