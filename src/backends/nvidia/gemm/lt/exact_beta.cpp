// Products that are added to a 16-bit C and rounded once: by a kernel of our own, or by f32 sums in the
// workspace and one pass over C. Large products go in parts, so that the sums stay small.
#include <algorithm>
#include <utility>

#include "backends/nvidia/gemm/gemm.h"
#include "base/checked.h"

namespace infini::nvidia {
namespace {

constexpr int64_t most_sum_bytes = 16 << 20;
constexpr size_t part_workspace = size_t{16} << 20;

// A part: some matrices of the batch, or some rows of one.
struct Part {
  int64_t batches, rows;
};

int64_t sum_row(const GemmPlan& plan) { return round_up(plan.n, 32); }  // aligned for cuBLASLt

Part largest_part(const GemmPlan& plan) {
  const int64_t row_bytes = sum_row(plan) * int64_t{sizeof(float)},
                matrix_bytes = plan.m * row_bytes;
  if (matrix_bytes <= most_sum_bytes)
    return {std::min(plan.batch, most_sum_bytes / matrix_bytes), plan.m};
  const int64_t rows = std::max<int64_t>(1, most_sum_bytes / row_bytes);
  return {1, rows > 128 ? rows / 128 * 128 : rows};
}

// The same product for a part, with f32 sums for C.
GemmPlan sums_of(const GemmPlan& plan, const Part& part) {
  GemmPlan sums = plan;
  sums.batch = part.batches;
  sums.m = part.rows;
  sums.c.dtype = INFINI_DTYPE_F32;
  sums.c = dense_operand({INFINI_DTYPE_F32, 0, 0, 1}, shape_of_c(sums), sum_row(plan), false);
  if (part.rows == 1) sums.a.row_step = 0;
  if (part.batches == 1) sums.a.batch_step = sums.b.batch_step = 0;
  return sums;
}

// f32 sums of a part after the other, each followed by its pass over C.
class InParts final : public GemmKernel {
 public:
  InParts(const GemmContext& context, const GemmPlan& plan, const Part& part,
          std::shared_ptr<GemmKernel> whole, std::shared_ptr<GemmKernel> rest)
      : plan_(plan),
        part_(part),
        whole_(std::move(whole)),
        rest_(std::move(rest)),
        finish_(gpu::make_finish(context.device, plan.c.dtype)),
        sum_bytes_(
            static_cast<size_t>(round_up(part.batches * part.rows * sum_row(plan) * 4, 256))) {}

  size_t workspace_bytes() const override {
    return sum_bytes_ + std::max(whole_->workspace_bytes(), rest_ ? rest_->workspace_bytes() : 0);
  }
  const char* candidate() const override { return whole_->candidate(); }
  std::string schedule() const override {
    return "f32 sums of " + std::to_string(part_.batches) + "x" + std::to_string(part_.rows) +
           " rows at a time";
  }

  void run(void* workspace, void* c, const void* a, const void* b, double alpha, double beta,
           void* stream) const override {
    auto* sums = static_cast<float*>(workspace);
    void* inner = static_cast<char*>(workspace) + sum_bytes_;
    for (int64_t batch = 0; batch < plan_.batch; batch += part_.batches)
      for (int64_t row = 0; row < plan_.m; row += part_.rows) {
        const Part part{std::min(part_.batches, plan_.batch - batch),
                        std::min(part_.rows, plan_.m - row)};
        const bool whole = part.batches == part_.batches && part.rows == part_.rows;
        (whole ? whole_ : rest_)
            ->run(inner, sums,
                  static_cast<const char*>(a) + batch * plan_.a.batch_step + row * plan_.a.row_step,
                  static_cast<const char*>(b) + batch * plan_.b.batch_step, 1, 0, stream);
        GemmPlan place = plan_;
        place.batch = part.batches;
        place.m = part.rows;
        gpu::launch_finish(
            finish_, place,
            static_cast<char*>(c) + batch * plan_.c.batch_step + row * plan_.c.row_step, sums,
            sum_row(plan_), static_cast<float>(alpha), static_cast<float>(beta),
            static_cast<gpu::Stream>(stream));
      }
  }

 private:
  GemmPlan plan_;
  Part part_;
  std::shared_ptr<GemmKernel> whole_, rest_;
  gpu::FinishKernels finish_;
  size_t sum_bytes_;
};

// One kernel where beta is 0, another one where it is not.
class RoundOnce final : public GemmKernel {
 public:
  RoundOnce(std::shared_ptr<GemmKernel> direct, std::shared_ptr<GemmKernel> adding)
      : direct_(std::move(direct)), adding_(std::move(adding)) {}
  size_t workspace_bytes() const override {
    return std::max(direct_->workspace_bytes(), adding_->workspace_bytes());
  }
  const char* candidate() const override { return direct_->candidate(); }
  std::string schedule() const override {
    return direct_->schedule() + "; where beta is not 0, by " + adding_->candidate() + ": " +
           adding_->schedule();
  }
  void run(void* workspace, void* c, const void* a, const void* b, double alpha, double beta,
           void* stream) const override {
    (beta == 0 || alpha == 0 ? direct_ : adding_)->run(workspace, c, a, b, alpha, beta, stream);
  }

 private:
  std::shared_ptr<GemmKernel> direct_, adding_;
};

// Null when there is nothing left over.
std::shared_ptr<GemmKernel> make_rest(const GemmContext& context, const GemmPlan& plan,
                                      const Part& part, bool pad) {
  const Part rest{plan.batch % part.batches, plan.m % part.rows};
  if (rest.batches == 0 && rest.rows == 0) return nullptr;
  return make_bare_lt(context,
                      sums_of(plan, {rest.batches ? rest.batches : part.batches,
                                     rest.rows ? rest.rows : part.rows}),
                      pad, part_workspace);
}

}  // namespace

std::unique_ptr<GemmKernel> round_once(const GemmContext& context, const GemmPlan& plan, bool pad,
                                       std::unique_ptr<GemmKernel> direct) {
  std::shared_ptr<GemmKernel> adding = context.make_adding(context, plan);
  if (!adding) {
    const Part part = largest_part(plan);
    const bool has_rest = plan.batch % part.batches != 0 || plan.m % part.rows != 0;
    std::shared_ptr<GemmKernel> whole =
        make_bare_lt(context, sums_of(plan, part), pad, part_workspace);
    std::shared_ptr<GemmKernel> rest = make_rest(context, plan, part, pad);
    if (!whole || (has_rest && !rest)) return nullptr;
    adding = std::make_shared<InParts>(context, plan, part, std::move(whole), std::move(rest));
  }
  return std::make_unique<RoundOnce>(std::move(direct), std::move(adding));
}

}  // namespace infini::nvidia
