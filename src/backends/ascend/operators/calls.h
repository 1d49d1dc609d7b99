// The vendor's elementwise and row operators as calls on views, queued on one stream. Documented of each: the types that it takes
// (chips of the A2 and A3 series), ranks up to 8, inputs and results that may be strided unless it is said otherwise.
#pragma once

#include "backends/ascend/operators/operators.h"
#include "infinicore.h"

namespace infini::ascend {

constexpr int max_view_rank = 8;

// A tensor as a call sees it; strides in elements, never negative.
struct View {
  aclDataType dtype = ACL_FLOAT;
  int rank = 0;
  int64_t dims[max_view_rank], strides[max_view_rank];
  char* address = nullptr;
};

int64_t bytes_of(aclDataType dtype);
int64_t count_of(const View& view);
// The same shape, dense.
View dense_like(const View& view, aclDataType dtype, char* address);
View dense_rows(aclDataType dtype, int64_t rows, int64_t length, char* address);

// Floats and integers; of the latter those without sign become those with one, which have the same sums and products.
aclDataType number_type(infiniDtype_t dtype);
// What a cast reads or writes.
aclDataType cast_type(infiniDtype_t dtype);

// Memory for intermediates, and the calls. In a dry run nothing is called: it only counts bytes.
class Calls {
 public:
  explicit Calls(size_t used) : used_(used), dry_(true) {}
  Calls(StreamMemory& memory, void* stream, void* workspace, size_t used)
      : memory_(&memory), stream_(stream), base_(static_cast<char*>(workspace)), used_(used) {}

  size_t used() const { return used_; }
  bool is_dry() const { return dry_; }
  char* take(int64_t bytes);
  View temporary(const View& like, aclDataType dtype) {
    return dense_like(like, dtype, take(count_of(like) * bytes_of(dtype)));
  }
  // As f32; itself where it is.
  View widened(const View& view);

  // aclnnAdd, Sub, Mul: f16 bf16 f32 f64 i8 i16 i32 i64 u8; Div: the floats. Both sources broadcast.
  void add(const View& out, const View& a, const View& b);
  void sub(const View& out, const View& a, const View& b);
  void mul(const View& out, const View& a, const View& b);
  void div(const View& out, const View& a, const View& b);
  // f16 bf16 f32, source and result of one shape and type. aclnnGeluV2 is by the error function (approximate 0); aclnnGelu is not.
  void silu(const View& out, const View& x);
  void gelu(const View& out, const View& x);
  void relu(const View& out, const View& x);
  void sigmoid(const View& out, const View& x);
  // aclnnCast: all types; to integers it truncates and wraps around.
  void cast(const View& out, const View& x);
  // aclnnRmsNorm: f16 bf16 f32, all of one type here and contiguous; rstd f32, one for each row, must be there.
  void rms_norm(const View& y, const View& x, const View& w, const View& rstd, double epsilon);
  // aclnnSoftmax along the last dim: f16 bf16 f32.
  void softmax(const View& y, const View& x);
  // aclnnInplaceMaskedFillScalar: -infinity where mask, which broadcasts, is true.
  void hide(const View& x, const View& mask);
  // aclnnIndexSelect along the first dim, index i64; an index outside of the table ends the kernel.
  void select_rows(const View& out, const View& table, const View& index);

 private:
  template <class First>
  void call(const char* name, SecondPhase second, std::initializer_list<const View*> views,
            const First& first);

  StreamMemory* memory_ = nullptr;
  void* stream_ = nullptr;
  char* base_ = nullptr;
  size_t used_;
  bool dry_ = false;
};

}  // namespace infini::ascend
