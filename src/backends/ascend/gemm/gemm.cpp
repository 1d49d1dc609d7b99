// Matrix products through CANN's operators: pack -> multiply -> unpack, all queued on the client's
// stream.
#include "backends/ascend/gemm/gemm.h"

#include <acl/acl.h>
#include <aclnnop/aclnn_batch_matmul.h>
#include <aclnnop/aclnn_copy.h>
#include <aclnnop/aclnn_gemm.h>
#include <aclnnop/aclnn_matmul.h>

#include <utility>

#include "backends/ascend/gemm/gemm_schedule.h"
#include "backends/ascend/operators/operators.h"
#include "backends/ascend/rearrange/rearrange.h"
#include "backends/ascend/runtime/device.h"
#include "base/dtype.h"

namespace infini::ascend {
namespace {

// cubeMathType: full f32 unless the client allows less.
constexpr int8_t keep_dtype = 0, allow_down_precision = 1;

bool acl_dtype(infiniDtype_t dtype, aclDataType& out) {
  switch (dtype) {
    case INFINI_DTYPE_F32: out = ACL_FLOAT; return true;
    case INFINI_DTYPE_F16: out = ACL_FLOAT16; return true;
    case INFINI_DTYPE_BF16: out = ACL_BF16; return true;
    default: return false;
  }
}

char* at(const void* base, size_t offset) {
  return static_cast<char*>(const_cast<void*>(base)) + offset;
}

// A dense matrix, or a batch of them one after another, in device memory.
struct Matrices {
  const void* address = nullptr;
  aclDataType dtype = ACL_FLOAT;
  int64_t batch = 1, rows = 0, cols = 0;
  bool columns_first = false;

  int64_t bytes_per_element() const { return dtype == ACL_FLOAT ? 4 : 2; }
  int64_t count() const { return batch * rows * cols; }
  Matrices matrix(int64_t index) const {
    Matrices one = *this;
    one.batch = 1;
    if (batch > 1)
      one.address = at(address, static_cast<size_t>(index * rows * cols * bytes_per_element()));
    return one;
  }
  Tensor tensor(int rank) const {
    const int64_t dims[] = {batch, rows, cols};
    const int64_t strides[] = {rows * cols, columns_first ? 1 : cols, columns_first ? rows : 1};
    const int first = 3 - rank;
    return make_tensor(dtype, bytes_per_element(), rank, dims + first, strides + first, count(),
                       address);
  }
  // The same values as one row, whatever the order inside.
  Tensor row() const {
    const int64_t dims[] = {count()}, strides[] = {1};
    return make_tensor(dtype, bytes_per_element(), 1, dims, strides, count(), address);
  }
};

class Gemm final : public GemmKernel {
 public:
  Gemm(Device& device, const GemmSchedule& schedule, aclDataType out, aclDataType in,
       bool allow_down)
      : memory_(device.stream_memory()),
        schedule_(schedule),
        out_dtype_(out),
        in_dtype_(in),
        math_(allow_down ? allow_down_precision : keep_dtype) {
    const GemmPlan& p = schedule.plan;
    if (schedule.a.packed) pack_a_ = copy_kernel(device, schedule.a, shape_of_a(p), false);
    if (schedule.b.packed) pack_b_ = copy_kernel(device, schedule.b, shape_of_b(p), false);
    if (schedule.c.packed) {
      pack_c_ = copy_kernel(device, schedule.c, shape_of_c(p), false);
      unpack_c_ = copy_kernel(device, schedule.c, shape_of_c(p), true);
    }
  }

  size_t workspace_bytes() const override { return schedule_.workspace_bytes; }
  const char* candidate() const override {
    return schedule_.plan.batch > 1 ? "batch_matmul" : "matmul";
  }
  std::string schedule() const override { return to_string(schedule_); }

  // Sums are f32, and so are alpha and beta.
  void run(void* workspace, void* c, const void* a, const void* b, double alpha, double beta,
           void* stream) const override {
    if (schedule_.swapped) std::swap(a, b);
    const bool multiplies = alpha != 0 && schedule_.plan.k > 0;  // alpha == 0 does not read a and b
    if (!multiplies && beta == 1) return;
    const GemmPlan& p = schedule_.plan;
    Matrices out = place(schedule_.c, out_dtype_, workspace, c, p.m, p.n);
    if (pack_c_ && beta != 0) pack_c_->run(const_cast<void*>(out.address), c, stream);
    if (!multiplies)
      scale(out, beta, stream);
    else
      multiply(workspace, a, b, out, alpha, beta, stream);
    if (unpack_c_) unpack_c_->run(c, out.address, stream);
  }

 private:
  static std::unique_ptr<RearrangeKernel> copy_kernel(Device& device, const MatrixSide& side,
                                                      const OperandShape& shape, bool back) {
    return make_rearrange(device, back ? operand_copy(side.stored, side.seen, shape)
                                       : operand_copy(side.seen, side.stored, shape));
  }

  Matrices place(const MatrixSide& side, aclDataType dtype, void* workspace, const void* client,
                 int64_t rows, int64_t cols) const {
    const void* address = side.packed ? at(workspace, side.workspace_offset) : client;
    return {address, dtype, side.one_batch ? 1 : schedule_.plan.batch,
            rows,    cols,  side.columns_first};
  }

  void multiply(void* workspace, const void* a, const void* b, const Matrices& out, float alpha,
                float beta, void* stream) const {
    const GemmPlan& p = schedule_.plan;
    const Matrices left = place(schedule_.a, in_dtype_, workspace, a, p.m, p.k);
    const Matrices right = place(schedule_.b, in_dtype_, workspace, b, p.k, p.n);
    if (pack_a_) pack_a_->run(const_cast<void*>(left.address), a, stream);
    if (pack_b_) pack_b_->run(const_cast<void*>(right.address), b, stream);
    if (left.dtype == out.dtype && alpha == 1 && beta == 0)
      matmul(out, left, right, stream);
    else if (left.dtype == ACL_FLOAT)
      gemm(out, left, right, alpha, beta, stream);
    else
      widened_gemm(out, left, right, alpha, beta, stream);
  }

  void scale(const Matrices& out, float beta, void* stream) const {
    const auto bytes = static_cast<size_t>(out.count() * out.bytes_per_element());
    void* address = const_cast<void*>(out.address);
    if (beta == 0)
      check(aclrtMemsetAsync(address, bytes, 0, bytes, stream), "aclrtMemsetAsync");
    else  // with K = 0 aclnnGemm is beta * C
      gemm(out, empty(out.rows, 0), empty(0, out.cols), 1, beta, stream);
  }
  Matrices empty(int64_t rows, int64_t cols) const {
    return {nullptr, out_dtype_, 1, rows, cols, false};
  }

  void matmul(const Matrices& out, const Matrices& left, const Matrices& right,
              void* stream) const {
    if (out.batch > left.batch && out.batch > right.batch) {  // CANN broadcasts one side, not both
      for (int64_t i = 0; i < out.batch; ++i) matmul(out.matrix(i), left, right, stream);
      return;
    }
    const void* const key[3] = {out.address, left.address, right.address};
    std::unique_ptr<OperatorCall> call = calls_.take(key);
    const bool batched = out.batch > 1;
    if (call == nullptr) {
      call = std::make_unique<OperatorCall>();
      std::copy(std::begin(key), std::end(key), call->key);
      const int rank = batched ? 3 : 2;
      const Matrices* operands[] = {&left, &right, &out};
      for (int i = 0; i < 3; ++i) call->tensors[i] = operands[i]->tensor(rank);
      aclTensor *x = call->tensors[0].get(), *y = call->tensors[1].get(),
                *z = call->tensors[2].get();
      call->prepare("aclnn[Batch]MatmulGetWorkspaceSize", true,
                    [&](uint64_t* bytes, aclOpExecutor** made) {
                      return batched ? aclnnBatchMatMulGetWorkspaceSize(x, y, z, math_, bytes, made)
                                     : aclnnMatmulGetWorkspaceSize(x, y, z, math_, bytes, made);
                    });
    }
    call->run(batched ? "aclnnBatchMatMul" : "aclnnMatmul",
              batched ? aclnnBatchMatMul : aclnnMatmul, memory_, stream);
    calls_.give(std::move(call));
  }

  // out = alpha * left * right + beta * out, one call per batch, no wait in between.
  void gemm(const Matrices& out, const Matrices& left, const Matrices& right, float alpha,
            float beta, void* stream) const {
    for (int64_t i = 0; i < out.batch; ++i) {
      OperatorCall call;
      const Matrices operands[] = {left.matrix(i), right.matrix(i), out.matrix(i)};
      for (int j = 0; j < 3; ++j) call.tensors[j] = operands[j].tensor(2);
      aclTensor* c = call.tensors[2].get();
      call.prepare(
          "aclnnGemmGetWorkspaceSize", false, [&](uint64_t* bytes, aclOpExecutor** executor) {
            return aclnnGemmGetWorkspaceSize(call.tensors[0].get(), call.tensors[1].get(), c, alpha,
                                             beta, 0, 0, c, math_, bytes, executor);
          });
      call.run("aclnnGemm", aclnnGemm, memory_, stream);
    }
  }

  // aclnnGemm rounds a 16-bit product before it adds, too early for our error bound, and it does
  // not write f32 from 16-bit operands. With alpha and beta in play, or an f32 output, 16-bit
  // operands are widened, multiplied in f32, and rounded once at the end.
  void widened_gemm(const Matrices& out, const Matrices& left, const Matrices& right, float alpha,
                    float beta, void* stream) const {
    const Scratch scratch(memory_, wide_bytes(out) + wide_bytes(left) + wide_bytes(right), stream);
    char* room = static_cast<char*>(scratch.get());
    auto widen = [&](const Matrices& side, bool values) {
      if (side.dtype == ACL_FLOAT) return side;
      Matrices wide = side;
      wide.dtype = ACL_FLOAT;
      wide.address = std::exchange(room, room + wide_bytes(side));
      if (values) cast(wide, side, stream);
      return wide;
    };
    const Matrices wide = widen(out, beta != 0);
    gemm(wide, widen(left, true), widen(right, true), alpha, beta, stream);
    if (out.dtype != ACL_FLOAT) cast(out, wide, stream);
  }
  static size_t wide_bytes(const Matrices& side) {
    return side.dtype == ACL_FLOAT ? 0 : (static_cast<size_t>(side.count()) * 4 + 255) / 256 * 256;
  }

  void cast(const Matrices& to, const Matrices& from, void* stream) const {
    OperatorCall call;
    call.tensors[0] = to.row();
    call.tensors[1] = from.row();
    call.prepare("aclnnInplaceCopyGetWorkspaceSize", false,
                 [&](uint64_t* bytes, aclOpExecutor** executor) {
                   return aclnnInplaceCopyGetWorkspaceSize(call.tensors[0].get(),
                                                           call.tensors[1].get(), bytes, executor);
                 });
    call.run("aclnnInplaceCopy", aclnnInplaceCopy, memory_, stream);
  }

  StreamMemory& memory_;
  GemmSchedule schedule_;
  aclDataType out_dtype_, in_dtype_;
  int8_t math_;
  std::unique_ptr<RearrangeKernel> pack_a_, pack_b_, pack_c_, unpack_c_;
  mutable CallCache calls_;
};

}  // namespace

std::unique_ptr<GemmKernel> make_gemm(infini::Device& device, const GemmPlan& plan,
                                      const GemmOptions& options, const Choice&) {
  aclDataType out, in;
  if (!acl_dtype(plan.c.dtype, out) || !acl_dtype(plan.a.dtype, in)) return nullptr;
  return std::make_unique<Gemm>(static_cast<Device&>(device), make_gemm_schedule(plan), out, in,
                                options.allow_tf32);
}

}  // namespace infini::ascend
