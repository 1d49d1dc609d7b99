// aclTensor and aclIntArray: creation, destruction, addresses, and the checks common to all
// operators.
#include <algorithm>

#include "meta.h"
#include "value.h"

namespace cann_emulator {

Meta& meta() {
  static Meta& m = *[] {
    Meta* made = new Meta;  // never destroyed, like the state
    state().count_meta_objects = [made](Live live) {
      live.tensors = made->tensors.size();
      live.arrays = made->arrays.size();
      live.executors = made->executors.size();
      return live;
    };
    return made;
  }();
  return m;
}

size_t size_of(aclDataType dtype) {
  switch (dtype) {
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL: return 1;
    case ACL_INT16:
    case ACL_UINT16:
    case ACL_FLOAT16:
    case ACL_BF16: return 2;
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_FLOAT: return 4;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_COMPLEX64: return 8;
    case ACL_COMPLEX128: return 16;
    default: return 0;
  }
}

bool dense_in_order(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
  int64_t expected = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] != expected) return false;
    expected *= dims[i];
  }
  return true;
}

bool permutation_of_dense(const Tensor& t) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t i = 0; i < t.dims.size(); ++i)
    if (t.dims[i] != 1) dims.emplace_back(t.strides[i], t.dims[i]);
  std::sort(dims.begin(), dims.end());
  int64_t expected = 1;
  for (auto [stride, size] : dims) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

Access Tensor::access(bool writes) const {
  return {first_byte(), first_byte() + span(), writes, permutation_of_dense(*this)};
}

int64_t Tensor::count() const {
  int64_t n = 1;
  for (int64_t dim : dims) n *= dim;
  return n;
}

int64_t Tensor::last_element() const {
  int64_t last = offset;
  for (size_t i = 0; i < dims.size(); ++i) last += strides[i] * (dims[i] - 1);
  return last;
}

bool Tensor::contiguous() const { return dense_in_order(dims, strides); }
size_t Tensor::size_of_element() const { return size_of(dtype); }

size_t Tensor::span() const {
  return count() ? static_cast<size_t>(last_element() - offset + 1) * size_of_element() : 0;
}

Tensor* find_tensor(Call& call, const aclTensor* handle, const char* argument, int& code) {
  code = 0;
  if (!handle) {
    code = call.refused(ACLNN_ERR_PARAM_NULLPTR, argument, " is NULL");
    return nullptr;
  }
  auto it = meta().tensors.find(address_of(handle));
  if (it != meta().tensors.end()) return &it->second;
  code = call.broken(Rule::live_handle, ACLNN_ERR_PARAM_INVALID, argument, " is no live tensor");
  return nullptr;
}

namespace {

int check_layout(Call& call, const Tensor& t, const char* argument, size_t max_rank) {
  if (t.dims.size() > max_rank)
    return call.broken(Rule::tensor_layout, ACLNN_ERR_PARAM_INVALID, argument, " has rank ",
                       t.dims.size(), ", the limit is ", max_rank);
  for (size_t i = 0; i < t.dims.size(); ++i)
    if (t.dims[i] < 0 || t.strides[i] < 0)
      return call.broken(Rule::tensor_layout, ACLNN_ERR_PARAM_INVALID, argument, " has size ",
                         t.dims[i], " and stride ", t.strides[i], " at dimension ", i,
                         "; both must not be negative");
  if (t.offset < 0)
    return call.broken(Rule::tensor_layout, ACLNN_ERR_PARAM_INVALID, argument,
                       " has a negative offset");
  return 0;
}

int check_storage(Call& call, const Tensor& t, const char* argument) {
  int64_t storage = 1;
  for (int64_t dim : t.storage) storage *= dim;
  if (t.last_element() + 1 > storage)
    return call.broken(Rule::storage_coverage, ACLNN_ERR_INNER_NULLPTR, argument,
                       ": the view needs ", t.last_element() + 1, " elements, the storage has ",
                       storage);
  if (!t.address) return call.refused(ACLNN_ERR_PARAM_NULLPTR, argument, " has no address");
  if (t.address % 32)
    return call.broken(Rule::alignment, ACLNN_ERR_PARAM_INVALID, argument,
                       ": the address is not 32-byte aligned; use the offset");
  size_t bytes = static_cast<size_t>(storage) * t.size_of_element();
  if (!device_bytes(call.s, t.address, bytes, current_device()))
    return call.broken(Rule::out_of_bounds, ACLNN_ERR_RUNTIME_ERROR, argument, ": the storage of ",
                       bytes, " bytes is not live memory of device ", current_device());
  return 0;
}

}  // namespace

int check_tensor(Call& call, const Tensor& t, const char* argument,
                 const std::vector<aclDataType>& dtypes, size_t max_rank) {
  if (std::find(dtypes.begin(), dtypes.end(), t.dtype) == dtypes.end())
    return call.broken(Rule::dtype, ACLNN_ERR_PARAM_INVALID, argument, " has data type ",
                       static_cast<int>(t.dtype), ", which the operator does not take");
  if (int code = check_layout(call, t, argument, max_rank)) return code;
  return t.count() == 0 ? 0 : check_storage(call, t, argument);
}

}  // namespace cann_emulator

using namespace cann_emulator;

extern "C" {

aclTensor* aclCreateTensor(const int64_t* dims, uint64_t rank, aclDataType dtype,
                           const int64_t* strides, int64_t offset, aclFormat,
                           const int64_t* storage, uint64_t storage_rank, void* data) {
  return answer("aclCreateTensor", static_cast<aclTensor*>(nullptr), [&](Call& call) -> aclTensor* {
    if ((rank && !dims) || (storage_rank && !storage)) {
      call.refused(0, "dims are NULL");
      return nullptr;
    }
    if (call.must_fail()) return nullptr;
    Tensor t;
    t.dims.assign(dims, dims + rank);
    t.strides.assign(rank, 1);
    for (size_t i = rank; i-- > 0;)
      t.strides[i] = strides ? strides[i] : (i + 1 < rank ? t.strides[i + 1] * t.dims[i + 1] : 1);
    t.offset = offset;
    t.dtype = dtype;
    t.storage.assign(storage, storage + storage_rank);
    t.address = address_of(data);
    uint64_t handle = call.s.next_handle++;
    meta().tensors[handle] = std::move(t);
    return handle_of<aclTensor*>(handle);
  });
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  return answer("aclDestroyTensor", ACLNN_ERR_INNER, [&](Call& call) -> int {
    if (!tensor) return ACLNN_SUCCESS;
    int code = 0;
    Tensor* found = find_tensor(call, tensor, "tensor", code);
    if (!found) return code;
    if (found->pins)
      call.broken(Rule::live_handle, 0,
                  "the tensor is destroyed between the phases of an operator that uses it");
    meta().tensors.erase(address_of(tensor));
    return ACLNN_SUCCESS;
  });
}

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  return answer("aclCreateIntArray", static_cast<aclIntArray*>(nullptr),
                [&](Call& call) -> aclIntArray* {
                  if ((size && !value) || call.must_fail()) return nullptr;
                  uint64_t handle = call.s.next_handle++;
                  meta().arrays.emplace(handle, std::vector<int64_t>(value, value + size));
                  return handle_of<aclIntArray*>(handle);
                });
}

aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
  return answer("aclDestroyIntArray", ACLNN_ERR_INNER, [&](Call& call) -> int {
    if (!array || meta().arrays.erase(address_of(array))) return ACLNN_SUCCESS;
    return call.broken(Rule::live_handle, ACLNN_ERR_PARAM_INVALID, "no such array");
  });
}

aclScalar* aclCreateScalar(void* value, aclDataType dtype) {
  return answer("aclCreateScalar", static_cast<aclScalar*>(nullptr), [&](Call& call) -> aclScalar* {
    if (!value || !size_of(dtype) || call.must_fail()) return nullptr;
    uint64_t handle = call.s.next_handle++;
    meta().scalars[handle] = load_value(static_cast<const unsigned char*>(value), dtype).real();
    return handle_of<aclScalar*>(handle);
  });
}

aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
  return answer("aclDestroyScalar", ACLNN_ERR_INNER, [&](Call& call) -> int {
    if (!scalar || meta().scalars.erase(address_of(scalar))) return ACLNN_SUCCESS;
    return call.broken(Rule::live_handle, ACLNN_ERR_PARAM_INVALID, "no such scalar");
  });
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* address) {
  return answer("aclSetRawTensorAddr", ACLNN_ERR_INNER, [&](Call& call) -> int {
    int code = 0;
    Tensor* found = find_tensor(call, tensor, "tensor", code);
    if (!found) return code;
    if (found->pins)
      return call.broken(Rule::address_between_phases, ACLNN_ERR_PARAM_INVALID,
                         "an executor already holds the old address");
    if (call.must_fail()) return ACLNN_ERR_INNER_NULLPTR;
    found->address = address_of(address);
    return ACLNN_SUCCESS;
  });
}

}  // extern "C"
