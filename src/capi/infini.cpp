// infini.h: names, one-call functions, plans in words.
#include "infini.h"

#include <algorithm>
#include <cstring>

#include "base/aliases.h"
#include "base/device_kind.h"
#include "base/dtype.h"
#include "capi/boundary.h"
#include "capi/objects.h"
#include "ops/planned.h"
#include "runtime/current_device.h"

using namespace infini;

namespace {

Device& device_of_or_current(infiniopHandle_t handle) {
  return handle == nullptr ? current_device() : device_of(handle);
}

// The strides of a row-major tensor of this shape, its dims as the destination of a transpose sees them.
Layout transposed_source(infiniDtype_t dtype, size_t ndim, const size_t* shape,
                         const size_t* axes) {
  const Layout src = make_layout(dtype, ndim, shape, nullptr);
  Layout seen = src;
  uint64_t taken = 0;
  for (size_t i = 0; i < ndim; ++i) {
    const size_t axis = axes == nullptr ? ndim - 1 - i : axes[i];
    require(axis < ndim, INFINI_STATUS_BAD_PARAM, "axes[", i, "] is ", axis, "; expected 0..",
            ndim - 1);
    require(!(taken >> axis & 1), INFINI_STATUS_BAD_PARAM, "axes[", i, "] is ", axis,
            ", which stands there already");
    taken |= uint64_t{1} << axis;
    seen.shape[i] = src.shape[axis];
    seen.strides[i] = src.strides[axis];
  }
  return seen;
}

Layout row_major(const Layout& like) {
  size_t shape[max_rank];
  std::copy_n(like.shape, like.rank, shape);
  return make_layout(like.dtype, static_cast<size_t>(like.rank), shape, nullptr);
}

Layout matrix(infiniDtype_t dtype, size_t rows, size_t columns, const ptrdiff_t* strides) {
  const size_t shape[] = {rows, columns};
  return make_layout(dtype, 2, shape, strides);
}

// A workspace of the stream's own, given back in its order.
void run_with_workspace(const Gemm& op, void* c, const void* a, const void* b, double alpha,
                        double beta, void* stream) {
  const size_t bytes = op.workspace_bytes();
  Device& device = op.device();
  if (bytes == 0) return op.run(nullptr, 0, c, a, b, alpha, beta, stream);
  device.make_current();
  void* const workspace = device.allocate_async(bytes, stream);
  try {
    op.run(workspace, bytes, c, a, b, alpha, beta, stream);
  } catch (...) {
    device.free_async(workspace, stream);
    throw;
  }
  device.free_async(workspace, stream);
}

std::string told(const Planned& planned, infiniExplainFormat_t format) {
  if (format == INFINI_EXPLAIN_JSON) return json_of(planned).text();
  return planned.picture + choice_lines(planned);
}

std::string explained(const InfiniopDescriptor* desc, infiniExplainFormat_t format) {
  if (!could_be_handle(desc, alignof(InfiniopDescriptor*))) fail_handle(desc, "desc");
  switch (desc->tag.load(std::memory_order_acquire)) {
    case rearrange_tag:
      return told(planned(*Operators<Rearrange, rearrange_tag>::pin(desc, "desc")), format);
    case gemm_tag: return told(planned(*Operators<Gemm, gemm_tag>::pin(desc, "desc")), format);
    case operator_tag:
      return told(planned(*Operators<Operator, operator_tag>::pin(desc, "desc")), format);
    default: break;
  }
  require(desc->tag.load() != 0 && desc->family.load() == operator_family, INFINI_STATUS_BAD_PARAM,
          "desc (", static_cast<const void*>(desc), ") is not a live descriptor of an operator");
  fail(INFINI_STATUS_NOT_IMPLEMENTED, "batches, pages and transfers cannot be explained");
}

}  // namespace

const char* infiniDtypeName(infiniDtype_t dtype) { return dtype_name(dtype); }

size_t infiniDtypeSize(infiniDtype_t dtype) { return static_cast<size_t>(dtype_bytes(dtype)); }

infiniStatus_t infiniDtypeFromName(const char* name, infiniDtype_t* dtype) {
  return at_boundary([&] {
    require_pointer(dtype, "dtype");
    *dtype = INFINI_DTYPE_INVALID;
    require_pointer(name, "name");
    *dtype = dtype_from_any_name(name);
    require(*dtype != INFINI_DTYPE_INVALID, INFINI_STATUS_BAD_PARAM, "name is \"", name,
            "\", which is no dtype; expected one like \"f32\", \"bf16\" or \"int8\"");
  });
}

const char* infiniDeviceName(infiniDevice_t device) { return device_kind_name(device); }

infiniStatus_t infiniDeviceFromName(const char* name, infiniDevice_t* device) {
  return at_boundary([&] {
    require_pointer(device, "device");
    *device = INFINI_DEVICE_TYPE_COUNT;
    require_pointer(name, "name");
    *device = device_kind_from_name(name);
    if (*device != INFINI_DEVICE_TYPE_COUNT) return;
    const char* const vendor = device_kind_of_platform(name);
    require(vendor == nullptr, INFINI_STATUS_BAD_PARAM, "name is \"", name,
            "\", which is a platform; the kind of device is called \"", vendor, "\"");
    fail(INFINI_STATUS_BAD_PARAM, "name is \"", name,
         "\", which is no kind of device; expected one like \"cpu\" or \"nvidia\"");
  });
}

infiniStatus_t infiniCopy(infiniopHandle_t handle, void* dst, const ptrdiff_t* dst_strides,
                          const void* src, const ptrdiff_t* src_strides, size_t ndim,
                          const size_t* shape, infiniDtype_t dtype, void* stream) {
  return at_boundary([&] {
    const Rearrange op(device_of_or_current(handle), make_layout(dtype, ndim, shape, dst_strides),
                       make_layout(dtype, ndim, shape, src_strides));
    op.run(dst, src, stream);
  });
}

infiniStatus_t infiniTranspose(infiniopHandle_t handle, void* dst, const void* src, size_t ndim,
                               const size_t* shape, const size_t* axes, infiniDtype_t dtype,
                               void* stream) {
  return at_boundary([&] {
    const Layout seen = transposed_source(dtype, ndim, shape, axes);
    const Rearrange op(device_of_or_current(handle), row_major(seen), seen);
    op.run(dst, src, stream);
  });
}

infiniStatus_t infiniMatmul(infiniopHandle_t handle, void* c, const ptrdiff_t* c_strides,
                            const void* a, const ptrdiff_t* a_strides, const void* b,
                            const ptrdiff_t* b_strides, size_t m, size_t n, size_t k,
                            infiniDtype_t dtype, double alpha, double beta, void* stream) {
  return at_boundary([&] {
    const Gemm op(device_of_or_current(handle), matrix(dtype, m, n, c_strides),
                  matrix(dtype, m, k, a_strides), matrix(dtype, k, n, b_strides));
    run_with_workspace(op, c, a, b, alpha, beta, stream);
  });
}

infiniStatus_t infiniExplain(const InfiniopDescriptor* desc, infiniExplainFormat_t format,
                             char* buffer, size_t capacity, size_t* needed) {
  return at_boundary([&] {
    if (capacity > 0) require_pointer(buffer, "buffer");
    if (capacity > 0) buffer[0] = '\0';
    require(format == INFINI_EXPLAIN_TEXT || format == INFINI_EXPLAIN_JSON, INFINI_STATUS_BAD_PARAM,
            "format is ", static_cast<int>(format),
            "; expected INFINI_EXPLAIN_TEXT (0) or INFINI_EXPLAIN_JSON (1)");
    const std::string text = explained(desc, format);
    if (needed != nullptr) *needed = text.size() + 1;
    if (capacity == 0) return;
    const size_t fits = std::min(text.size(), capacity - 1);
    std::memcpy(buffer, text.data(), fits);
    buffer[fits] = '\0';
  });
}
