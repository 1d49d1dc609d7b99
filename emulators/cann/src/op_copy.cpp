// aclnnInplaceCopy and aclnnFlip: Contiguous(src) -> [Flip] -> BroadcastTo -> ViewCopy(dst), with
// every intermediate really placed in the workspace.
#include <algorithm>

#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_flip.h"
#include "number.h"
#include "view.h"

namespace cann_emulator {
namespace {

const std::vector<aclDataType> copy_dtypes = {ACL_INT8,   ACL_INT16,     ACL_INT32,     ACL_INT64,
                                              ACL_UINT8,  ACL_UINT16,    ACL_UINT32,    ACL_UINT64,
                                              ACL_FLOAT,  ACL_FLOAT16,   ACL_BF16,      ACL_BOOL,
                                              ACL_DOUBLE, ACL_COMPLEX64, ACL_COMPLEX128};
const std::vector<aclDataType> flip_dtypes = {ACL_INT8,  ACL_INT16,  ACL_INT32,     ACL_INT64,
                                              ACL_UINT8, ACL_BOOL,   ACL_FLOAT,     ACL_FLOAT16,
                                              ACL_BF16,  ACL_DOUBLE, ACL_COMPLEX64, ACL_COMPLEX128};

size_t padded(int64_t elements, size_t element) {
  return (static_cast<size_t>(elements) * element + 511) / 512 * 512;
}

// Source strides lined up with the destination's dimensions; broadcast ones are 0.
std::vector<int64_t> aligned_strides(const std::vector<int64_t>& dims,
                                     const std::vector<int64_t>& strides, size_t rank) {
  std::vector<int64_t> out(rank, 0);
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != 1) out[rank - dims.size() + i] = strides[i];
  return out;
}

bool broadcasts(const Tensor& src, const Tensor& dst) {
  if (src.dims.size() > dst.dims.size()) return false;
  size_t lead = dst.dims.size() - src.dims.size();
  for (size_t i = 0; i < src.dims.size(); ++i)
    if (src.dims[i] != 1 && src.dims[i] != dst.dims[lead + i]) return false;
  return true;
}

bool is_float(aclDataType dtype) {
  return dtype == ACL_FLOAT || dtype == ACL_FLOAT16 || dtype == ACL_BF16;
}

bool has_gaps(SourcePath path) {
  return path != SourcePath::direct && path != SourcePath::transpose &&
         path != SourcePath::broadcast;
}

struct CopyWork {
  Tensor dst, src;
  std::vector<int64_t> flipped;  // dimensions of src
  bool gather, casts, spread;    // intermediates: contiguous, converted, broadcast source
  int device;

  Launch launch() const {
    CopyWork w = *this;
    return {{dst.access(true), src.access(false)},
            [w](State& s, unsigned char* workspace) { w.run(s, workspace); }};
  }

  void run(State& s, unsigned char* workspace) const {
    unsigned char* to = device_bytes(s, dst.first_byte(), dst.span(), device);
    const unsigned char* from = device_bytes(s, src.first_byte(), src.span(), device);
    if (!to || !from) return;  // freed in flight: recorded
    size_t element = dst.size_of_element(), src_element = src.size_of_element();
    std::vector<int64_t> strides = src.strides;
    for (int64_t d : flipped) {
      from += strides[d] * (src.dims[d] - 1) * static_cast<int64_t>(element);
      strides[d] = -strides[d];
    }
    if (gather) {
      strided_copy(workspace, dense_strides(src.dims), from, strides, src.dims, src_element);
      from = workspace;
      strides = dense_strides(src.dims);
      workspace += padded(src.count(), src_element);
    }
    if (casts) {
      for (int64_t i = 0; i < src.count(); ++i)
        store_number(workspace + i * static_cast<int64_t>(element),
                     load_number(from + i * static_cast<int64_t>(src_element), src.dtype),
                     dst.dtype);
      from = workspace;
      workspace += padded(src.count(), element);
    }
    strides = aligned_strides(src.dims, strides, dst.dims.size());
    if (spread) {
      strided_copy(workspace, dense_strides(dst.dims), from, strides, dst.dims, element);
      from = workspace;
      strides = dense_strides(dst.dims);
    }
    strided_copy(to, dst.strides, from, strides, dst.dims, element);
  }
};

int check_paths(Call& call, const Tensor& dst, const Tensor& src) {
  SourcePath source = classify_source(src);
  TargetPath target = classify_target(dst);
  bool complex = dst.dtype == ACL_COMPLEX64 || dst.dtype == ACL_COMPLEX128;
  if (complex && target != TargetPath::tensor_move)
    return call.broken(Rule::dtype, ACLNN_ERR_PARAM_INVALID,
                       "complex types need a contiguous destination");
  if (target == TargetPath::ai_cpu && !ai_cpu_takes(dst.dtype))
    return call.broken(Rule::dtype, ACLNN_ERR_INNER_NULLPTR,
                       "this layout goes to the AI CPU, which does not take data type ",
                       static_cast<int>(dst.dtype));
  if (call.s.refuse_gapped && has_gaps(source))
    return call.refused(ACLNN_ERR_INNER_NULLPTR, "sources with gaps are refused on demand");
  if (share_bytes(dst, src))
    return call.broken(Rule::aliasing, ACLNN_ERR_PARAM_INVALID,
                       "the operator would read bytes that it writes");
  count(call.s.counters, source);
  count(call.s.counters, target);
  return 0;
}

int first_phase(Call& call, const char* op, const aclTensor* dst_handle,
                const aclTensor* src_handle, std::vector<int64_t> flipped, bool is_flip,
                uint64_t* workspace_size, aclOpExecutor** executor) {
  if (int code = call.require_context()) return code;
  if (!workspace_size || !executor)
    return call.refused(ACLNN_ERR_PARAM_NULLPTR, "workspaceSize or executor is NULL");
  int code = 0;
  Tensor* dst = find_tensor(call, dst_handle, "destination", code);
  if (!dst) return code;
  Tensor* src = find_tensor(call, src_handle, "source", code);
  if (!src) return code;
  const auto& dtypes = is_flip ? flip_dtypes : copy_dtypes;
  if ((code = check_tensor(call, *dst, "destination", dtypes))) return code;
  if ((code = check_tensor(call, *src, "source", dtypes))) return code;
  const bool casts = dst->dtype != src->dtype;
  if (casts && (is_flip || !is_float(dst->dtype) || !is_float(src->dtype)))
    return call.broken(Rule::dtype, ACLNN_ERR_PARAM_INVALID,
                       "only casts between f32, f16 and bf16 are emulated");
  if (is_flip ? dst->dims != src->dims : !broadcasts(*src, *dst))
    return call.broken(Rule::shape, ACLNN_ERR_PARAM_INVALID,
                       "the source's shape does not fit the destination's");
  Executor e;
  e.op = op;
  e.tensors = {address_of(src_handle), address_of(dst_handle)};
  if (dst->count() == 0) return finish_first_phase(call, std::move(e), workspace_size, executor);
  if ((code = check_paths(call, *dst, *src))) return code;
  bool gather = is_flip || !src->contiguous();
  bool spread = src->dims != dst->dims && classify_target(*dst) != TargetPath::tensor_move;
  size_t element = dst->size_of_element();
  if (gather) e.workspace_size += padded(src->count(), src->size_of_element());
  if (casts) e.workspace_size += padded(src->count(), element);
  if (spread) e.workspace_size += padded(dst->count(), element);
  e.may_repeat = dst->address != src->address;
  e.bind = [ids = e.tensors, flipped, gather, casts, spread, device = current_device()] {
    return CopyWork{
        meta().tensors[ids[1]], meta().tensors[ids[0]], flipped, gather, casts, spread, device}
        .launch();
  };
  return finish_first_phase(call, std::move(e), workspace_size, executor);
}

}  // namespace

// Marks the destination's bytes and looks whether the source reads one.
bool share_bytes(const Tensor& dst, const Tensor& src) {
  uint64_t low = std::min(dst.first_byte(), src.first_byte());
  uint64_t high = std::max(dst.first_byte() + dst.span(), src.first_byte() + src.span());
  if (dst.first_byte() >= src.first_byte() + src.span() ||
      src.first_byte() >= dst.first_byte() + dst.span())
    return false;
  if (dst.dtype != src.dtype) return true;
  size_t element = dst.size_of_element();
  std::vector<unsigned char> marks(high - low, 0), written(element, 1);
  std::vector<int64_t> still(dst.dims.size(), 0), none(src.dims.size(), 0);
  strided_copy(marks.data() + (dst.first_byte() - low), dst.strides, written.data(), still,
               dst.dims, element);
  std::vector<unsigned char> read(static_cast<size_t>(src.count()) * element);
  strided_copy(read.data(), dense_strides(src.dims), marks.data() + (src.first_byte() - low),
               src.strides, src.dims, element);
  return std::find(read.begin(), read.end(), 1) != read.end();
}

}  // namespace cann_emulator

using namespace cann_emulator;

extern "C" {

aclnnStatus aclnnInplaceCopyGetWorkspaceSize(aclTensor* self, const aclTensor* src,
                                             uint64_t* workspace_size, aclOpExecutor** executor) {
  return answer("aclnnInplaceCopyGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    return first_phase(call, "aclnnInplaceCopy", self, src, {}, false, workspace_size, executor);
  });
}

aclnnStatus aclnnInplaceCopy(void* workspace, uint64_t size, aclOpExecutor* executor,
                             const aclrtStream stream) {
  return second_phase("aclnnInplaceCopy", workspace, size, executor, stream);
}

aclnnStatus aclnnFlipGetWorkspaceSize(const aclTensor* self, const aclIntArray* dims,
                                      aclTensor* out, uint64_t* workspace_size,
                                      aclOpExecutor** executor) {
  return answer("aclnnFlipGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    auto found = meta().arrays.find(address_of(dims));
    if (found == meta().arrays.end())
      return call.refused(ACLNN_ERR_PARAM_NULLPTR, "dims is NULL or destroyed");
    int code = 0;
    Tensor* tensor = find_tensor(call, self, "self", code);
    if (!tensor) return code;
    int64_t rank = static_cast<int64_t>(tensor->dims.size());
    std::vector<int64_t> flipped = found->second;
    for (int64_t& d : flipped) {
      if (d < -rank || d >= rank)
        return call.broken(Rule::shape, ACLNN_ERR_PARAM_INVALID, "dims holds ", d, ", the rank is ",
                           rank);
      if (d < 0) d += rank;
    }
    std::sort(flipped.begin(), flipped.end());
    if (std::adjacent_find(flipped.begin(), flipped.end()) != flipped.end())
      return call.broken(Rule::shape, ACLNN_ERR_PARAM_INVALID, "dims names a dimension twice");
    code = first_phase(call, "aclnnFlip", out, self, flipped, true, workspace_size, executor);
    if (code == ACLNN_SUCCESS) ++call.s.counters.flips;
    return code;
  });
}

aclnnStatus aclnnFlip(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream) {
  return second_phase("aclnnFlip", workspace, size, executor, stream);
}

}  // extern "C"
