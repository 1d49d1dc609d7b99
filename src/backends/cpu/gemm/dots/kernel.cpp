// Dot products in pairs: running a schedule.
#include <algorithm>
#include <cstring>
#include <sstream>

#include "backends/cpu/gemm/dots/kernels.h"
#include "backends/cpu/gemm/dots/schedule.h"
#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

using dots::line_elements, dots::piece_elements, dots::Schedule;

class Dots final : public CpuGemm {
 public:
  explicit Dots(const Schedule& schedule) : CpuGemm(schedule.plan), s_(schedule) {
    workspace_bytes_ = s_.workspace_bytes();
  }

  const char* candidate() const override { return "dots"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << "avx512-bf16, stretches of " << s_.cols << " columns, " << s_.height << " of "
         << plan_.m << " rows by " << s_.together << " columns at once, on " << s_.threads
         << " threads" << (s_.swapped ? ", transposed" : "");
    return text.str();
  }

 protected:
  void multiply(const Pointers& given, double alpha, double beta) const override {
    Pointers p = given;
    if (s_.swapped) std::swap(p.a, p.b);
    const int threads = std::min(s_.threads, available_threads());
    for (int64_t batch = 0; batch < plan_.batch; ++batch) {
      pack_a(p.a + batch * plan_.a.batch_step, p.workspace);
      Shares shares(s_.stretches(), threads);
      parallel_for(threads, threads, [&](int64_t first, int64_t) {
        char* const mine = p.workspace + s_.a_bytes + first * s_.thread_bytes;
        shares.take(first, [&](int64_t stretch, bool) {
          run_stretch(p, batch, stretch * s_.cols, reinterpret_cast<float*>(mine),
                      static_cast<float>(alpha), static_cast<float>(beta));
        });
      });
    }
  }

 private:
  static int64_t whole(int64_t k) { return round_up(k, line_elements); }

  // Pieces of k one after the other, each of all rows.
  void pack_a(const char* a, char* workspace) const {
    auto* dst = reinterpret_cast<uint16_t*>(workspace);
    for (int64_t k = 0; k < plan_.k; k += piece_elements) {
      const int64_t length = std::min(piece_elements, plan_.k - k);
      for (int64_t i = 0; i < plan_.m; ++i, dst += whole(length)) {
        const char* const src = a + i * plan_.a.row_step + k * plan_.a.col_step;
        if (plan_.a.col_step == 2)
          std::memcpy(dst, src, static_cast<size_t>(2 * length));
        else
          for (int64_t j = 0; j < length; ++j)
            std::memcpy(dst + j, src + j * plan_.a.col_step, sizeof *dst);
        std::fill(dst + length, dst + whole(length), uint16_t{0});
      }
    }
  }

  void run_stretch(const Pointers& p, int64_t batch, int64_t col, float* memory, float alpha,
                   float beta) const {
    const char* const b = p.b + batch * plan_.b.batch_step + col * plan_.b.col_step;
    const int64_t cols = std::min(s_.cols, plan_.n - col), column = 2 * plan_.k;
    const int64_t calls =
        ceil_div(plan_.k, piece_elements) * ceil_div(cols, s_.together) * s_.turns;
    const int64_t share = round_up(ceil_div(cols * column, calls), int64_t{64});
    dots::Call call{};
    call.b_col = plan_.b.col_step;
    call.ahead_lines = s_.far ? static_cast<int>(ceil_div(share, 2 * piece_elements)) : 0;
    int64_t fetched = 0;
    for (int64_t k = 0; k < plan_.k; k += piece_elements) {
      call.k = std::min(piece_elements, plan_.k - k);
      call.a_row = 2 * whole(call.k);
      call.is_first = k == 0;
      for (int64_t j = 0; j < cols; j += s_.together) {
        const int64_t wide = std::min(s_.together, cols - j);
        call.b = b + j * plan_.b.col_step + 2 * k;
        for (int64_t row = 0; row < plan_.m; row += s_.height, fetched += share) {
          call.a = p.workspace + 2 * plan_.m * k + row * call.a_row;
          call.partial = memory + (j * plan_.m + row * wide) * lanes;
          call.ahead = b + (cols + fetched / column) * plan_.b.col_step + fetched % column;
          dots::dot_products(std::min(s_.height, plan_.m - row), wide, call);
        }
      }
    }
    finish(p, batch, {col, cols}, memory, alpha, beta);
  }

  struct Range {
    int64_t first, count;
  };

  // Sums lie as the lanes did: groups of columns, each [rows][columns].
  void finish(const Pointers& p, int64_t batch, const Range& cols, const float* partial,
              float alpha, float beta) const {
    float* const sums = const_cast<float*>(partial) + s_.partial_bytes / int64_t{sizeof(float)};
    dots::add_lanes(partial, round_up(plan_.m * cols.count, dots::sums_together), sums);
    for (int64_t j = 0; j < cols.count; j += s_.together) {
      const int64_t wide = std::min(s_.together, cols.count - j);
      kernels<float>().finish[memory_index(plan_.c.dtype)](
          {sums + j * plan_.m, wide, plan_.m, wide,
           p.c + batch * plan_.c.batch_step + (cols.first + j) * plan_.c.col_step, plan_.c.row_step,
           plan_.c.col_step, alpha, beta});
    }
  }

  static constexpr int64_t lanes = 16;
  const Schedule s_;
};

}  // namespace

Bid<GemmKernel> bid_dots(const GemmTarget& target, const GemmPlan& plan, double limit) {
  return bid_of<Dots>(dots::estimate(target, plan, limit));
}

}  // namespace infini::cpu
