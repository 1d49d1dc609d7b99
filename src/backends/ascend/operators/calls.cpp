// Calling the vendor's elementwise and row operators.
#include "backends/ascend/operators/calls.h"

#include <acl/acl.h>
#include <aclnnop/aclnn_add.h>
#include <aclnnop/aclnn_cast.h>
#include <aclnnop/aclnn_div.h>
#include <aclnnop/aclnn_gelu_v2.h>
#include <aclnnop/aclnn_index_select.h>
#include <aclnnop/aclnn_masked_fill_scalar.h>
#include <aclnnop/aclnn_mul.h>
#include <aclnnop/aclnn_relu.h>
#include <aclnnop/aclnn_rms_norm.h>
#include <aclnnop/aclnn_sigmoid.h>
#include <aclnnop/aclnn_silu.h>
#include <aclnnop/aclnn_softmax.h>
#include <aclnnop/aclnn_sub.h>

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "base/dtype.h"

namespace infini::ascend {
namespace {

constexpr int64_t place_alignment = 256;

struct ScalarDeleter {
  void operator()(aclScalar* scalar) const { aclDestroyScalar(scalar); }
};
using Scalar = std::unique_ptr<aclScalar, ScalarDeleter>;

Scalar make_scalar(float value) {
  Scalar scalar(aclCreateScalar(&value, ACL_FLOAT));
  require(scalar != nullptr, INFINI_STATUS_INTERNAL_ERROR, "aclCreateScalar made no scalar");
  return scalar;
}

Tensor tensor_of(const View& view) {
  int64_t elements = 1;
  for (int i = 0; i < view.rank; ++i) elements += (view.dims[i] - 1) * view.strides[i];
  return make_tensor(view.dtype, bytes_of(view.dtype), view.rank, view.dims, view.strides, elements,
                     view.address);
}

}  // namespace

int64_t bytes_of(aclDataType dtype) {
  switch (dtype) {
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL: return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16: return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32: return 4;
    default: return 8;
  }
}

int64_t count_of(const View& view) {
  int64_t count = 1;
  for (int i = 0; i < view.rank; ++i) count *= view.dims[i];
  return count;
}

View dense_like(const View& view, aclDataType dtype, char* address) {
  View dense = view;
  dense.dtype = dtype;
  dense.address = address;
  int64_t stride = 1;
  for (int i = view.rank; i-- > 0; stride *= view.dims[i]) dense.strides[i] = stride;
  return dense;
}

View dense_rows(aclDataType dtype, int64_t rows, int64_t length, char* address) {
  return {dtype, 2, {rows, length}, {length, 1}, address};
}

aclDataType cast_type(infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return ACL_FLOAT16;
    case INFINI_DTYPE_BF16: return ACL_BF16;
    case INFINI_DTYPE_F32: return ACL_FLOAT;
    case INFINI_DTYPE_F64: return ACL_DOUBLE;
    case INFINI_DTYPE_I8: return ACL_INT8;
    case INFINI_DTYPE_I16: return ACL_INT16;
    case INFINI_DTYPE_I32: return ACL_INT32;
    case INFINI_DTYPE_I64: return ACL_INT64;
    case INFINI_DTYPE_U16: return ACL_UINT16;
    case INFINI_DTYPE_U32: return ACL_UINT32;
    case INFINI_DTYPE_U64: return ACL_UINT64;
    case INFINI_DTYPE_BOOL: return ACL_BOOL;
    default: return ACL_UINT8;
  }
}

aclDataType number_type(infiniDtype_t dtype) {
  const aclDataType own = cast_type(dtype);
  if (own == ACL_FLOAT16 || own == ACL_BF16 || own == ACL_FLOAT || own == ACL_DOUBLE) return own;
  switch (bytes_of(own)) {
    case 1: return ACL_INT8;
    case 2: return ACL_INT16;
    case 4: return ACL_INT32;
    default: return ACL_INT64;
  }
}

char* Calls::take(int64_t bytes) {
  char* const place = dry_ ? nullptr : base_ + used_;
  used_ += static_cast<size_t>(round_up(bytes, place_alignment));
  return place;
}

View Calls::widened(const View& view) {
  if (view.dtype == ACL_FLOAT) return view;
  const View wide = temporary(view, ACL_FLOAT);
  cast(wide, view);
  return wide;
}

// One-shot: intermediates have other addresses in every workspace.
template <class First>
void Calls::call(const char* name, SecondPhase second, std::initializer_list<const View*> views,
                 const First& first) {
  if (dry_) return;
  OperatorCall call;
  int i = 0;
  for (const View* view : views) call.tensors[i++] = tensor_of(*view);
  call.prepare(name, false, [&](uint64_t* bytes, aclOpExecutor** executor) {
    return first(call.tensors, bytes, executor);
  });
  call.run(name, second, *memory_, stream_);
}

void Calls::add(const View& out, const View& a, const View& b) {
  if (dry_) return;
  const Scalar one = make_scalar(1);
  call("aclnnAdd", aclnnAdd, {&out, &a, &b}, [&](Tensor* t, uint64_t* n, aclOpExecutor** e) {
    return aclnnAddGetWorkspaceSize(t[1].get(), t[2].get(), one.get(), t[0].get(), n, e);
  });
}
void Calls::sub(const View& out, const View& a, const View& b) {
  if (dry_) return;
  const Scalar one = make_scalar(1);
  call("aclnnSub", aclnnSub, {&out, &a, &b}, [&](Tensor* t, uint64_t* n, aclOpExecutor** e) {
    return aclnnSubGetWorkspaceSize(t[1].get(), t[2].get(), one.get(), t[0].get(), n, e);
  });
}
void Calls::mul(const View& out, const View& a, const View& b) {
  call("aclnnMul", aclnnMul, {&out, &a, &b}, [](Tensor* t, uint64_t* n, aclOpExecutor** e) {
    return aclnnMulGetWorkspaceSize(t[1].get(), t[2].get(), t[0].get(), n, e);
  });
}
void Calls::div(const View& out, const View& a, const View& b) {
  call("aclnnDiv", aclnnDiv, {&out, &a, &b}, [](Tensor* t, uint64_t* n, aclOpExecutor** e) {
    return aclnnDivGetWorkspaceSize(t[1].get(), t[2].get(), t[0].get(), n, e);
  });
}
void Calls::silu(const View& out, const View& x) {
  call("aclnnSilu", aclnnSilu, {&out, &x}, [](Tensor* t, uint64_t* n, aclOpExecutor** e) {
    return aclnnSiluGetWorkspaceSize(t[1].get(), t[0].get(), n, e);
  });
}
void Calls::gelu(const View& out, const View& x) {
  call("aclnnGeluV2", aclnnGeluV2, {&out, &x}, [](Tensor* t, uint64_t* n, aclOpExecutor** e) {
    return aclnnGeluV2GetWorkspaceSize(t[1].get(), 0, t[0].get(), n, e);
  });
}
void Calls::relu(const View& out, const View& x) {
  call("aclnnRelu", aclnnRelu, {&out, &x}, [](Tensor* t, uint64_t* n, aclOpExecutor** e) {
    return aclnnReluGetWorkspaceSize(t[1].get(), t[0].get(), n, e);
  });
}
void Calls::sigmoid(const View& out, const View& x) {
  call("aclnnSigmoid", aclnnSigmoid, {&out, &x}, [](Tensor* t, uint64_t* n, aclOpExecutor** e) {
    return aclnnSigmoidGetWorkspaceSize(t[1].get(), t[0].get(), n, e);
  });
}
void Calls::cast(const View& out, const View& x) {
  call("aclnnCast", aclnnCast, {&out, &x}, [&](Tensor* t, uint64_t* n, aclOpExecutor** e) {
    return aclnnCastGetWorkspaceSize(t[1].get(), out.dtype, t[0].get(), n, e);
  });
}
void Calls::rms_norm(const View& y, const View& x, const View& w, const View& rstd,
                     double epsilon) {
  call("aclnnRmsNorm", aclnnRmsNorm, {&y, &x, &w, &rstd},
       [&](Tensor* t, uint64_t* n, aclOpExecutor** e) {
         return aclnnRmsNormGetWorkspaceSize(t[1].get(), t[2].get(), epsilon, t[0].get(),
                                             t[3].get(), n, e);
       });
}
void Calls::softmax(const View& y, const View& x) {
  call("aclnnSoftmax", aclnnSoftmax, {&y, &x}, [](Tensor* t, uint64_t* n, aclOpExecutor** e) {
    return aclnnSoftmaxGetWorkspaceSize(t[1].get(), -1, t[0].get(), n, e);
  });
}
void Calls::hide(const View& x, const View& mask) {
  if (dry_) return;
  const Scalar nothing = make_scalar(-std::numeric_limits<float>::infinity());
  call("aclnnInplaceMaskedFillScalar", aclnnInplaceMaskedFillScalar, {&x, &mask},
       [&](Tensor* t, uint64_t* n, aclOpExecutor** e) {
         return aclnnInplaceMaskedFillScalarGetWorkspaceSize(t[0].get(), t[1].get(), nothing.get(),
                                                             n, e);
       });
}
void Calls::select_rows(const View& out, const View& table, const View& index) {
  call("aclnnIndexSelect", aclnnIndexSelect, {&out, &table, &index},
       [](Tensor* t, uint64_t* n, aclOpExecutor** e) {
         return aclnnIndexSelectGetWorkspaceSize(t[1].get(), 0, t[2].get(), t[0].get(), n, e);
       });
}

}  // namespace infini::ascend
