// What XLA hands over, as arrays.
#include "frame.h"

#include <algorithm>
#include <string_view>

#include "doors/dlpack.h"
#include "doors/doors.h"
#include "errors.h"
#include "names.h"

namespace infini::python::xla {
namespace {

// XLA's numbers of element types. Those of less than a byte have no addresses.
struct Type {
  int32_t number;
  uint8_t code;
  int bits;
};
constexpr uint8_t float8_e5m2 = 12;
constexpr Type types[] = {
    {1, dlpack::boolean, 8},    {2, dlpack::int_, 8},           {3, dlpack::int_, 16},
    {4, dlpack::int_, 32},      {5, dlpack::int_, 64},          {6, dlpack::uint, 8},
    {7, dlpack::uint, 16},      {8, dlpack::uint, 32},          {9, dlpack::uint, 64},
    {10, dlpack::floating, 16}, {11, dlpack::floating, 32},     {12, dlpack::floating, 64},
    {15, dlpack::complex, 64},  {16, dlpack::bfloat, 16},       {18, dlpack::complex, 128},
    {19, float8_e5m2, 8},       {20, dlpack::float8_e4m3fn, 8},
};
constexpr int32_t type_i64 = 5, type_f64 = 12;
// What was known when this was written.
constexpr int32_t known_minor = 3;

template <class Number>
std::span<const Number> numbers(const CallFrame& frame, const char* name, int32_t dtype) {
  const Attributes& all = frame.attributes;
  for (int64_t i = 0; i < all.count; ++i) {
    if (std::string_view(all.names[i]->data, all.names[i]->size) != name) continue;
    const auto* found = static_cast<const Numbers*>(all.items[i]);
    if (all.kinds[i] == attribute_array && found->dtype == dtype)
      return {static_cast<const Number*>(found->data), found->count};
  }
  fail_value("the call has no attribute ", name, " of the right type");
}

void require_told(const CallFrame& frame, Error* error, const char* what) {
  if (error == nullptr) return;
  DestroyRequest request{sizeof request, nullptr, error};
  frame.api->destroy_error(&request);
  fail(INFINI_STATUS_INTERNAL_ERROR, "XLA does not tell ", what);
}

}  // namespace

void require_known_frame(const CallFrame& frame) {
  if (frame.size < sizeof(CallFrame) || frame.arguments.size < sizeof(List) ||
      frame.results.size < sizeof(List) || frame.attributes.size < sizeof(Attributes))
    fail(INFINI_STATUS_NOT_IMPLEMENTED, "this version of XLA calls operators in another way");
}

bool answered(CallFrame& frame) {
  if (frame.extensions == nullptr || frame.extensions->kind != extension_metadata) return false;
  Metadata& metadata = *reinterpret_cast<MetadataExtension*>(frame.extensions)->metadata;
  const bool has_version = frame.api != nullptr && frame.api->size >= offsetof(Api, internal);
  metadata.version.major = 0;
  metadata.version.minor =
      has_version ? std::min(frame.api->version.minor, known_minor) : known_minor;
  metadata.traits = 0;
  return true;
}

Array array_of(const List& list, int64_t index, const char* name,
               const infinicore::Device& device) {
  if (index >= list.count || list.kinds[index] != item_buffer) fail_value("XLA gives no ", name);
  const auto& buffer = *static_cast<const Buffer*>(list.items[index]);
  if (buffer.size < sizeof(Buffer)) fail_value("XLA describes ", name, " in another way");
  const auto* type = std::find_if(std::begin(types), std::end(types),
                                  [&](const Type& known) { return known.number == buffer.dtype; });
  if (type == std::end(types))
    fail_type(name, " has XLA's element type ", buffer.dtype, ", which infini does not know");
  Array array;
  array.data = buffer.data;
  array.element.code = type->code;
  array.element.bits = type->bits;
  array.itemsize = type->bits / 8;
  array.device = device;
  array.writable = true;
  set_rank(array, buffer.rank, name);
  std::copy_n(buffer.dims, array.rank, array.shape);
  set_dense_steps(array);
  return array;
}

std::span<const int64_t> integers(const CallFrame& frame, const char* name) {
  return numbers<int64_t>(frame, name, type_i64);
}

std::span<const double> reals(const CallFrame& frame, const char* name) {
  return numbers<double>(frame, name, type_f64);
}

infinicore::Device gpu_of(const CallFrame& frame) {
  OrdinalRequest request{sizeof request, nullptr, frame.execution, 0};
  if (frame.api->size >= sizeof(Api))
    require_told(frame, frame.api->device_ordinal(&request), "the device");
  else if (infinicore::context::getDeviceCount(cuda_type()) > 1)
    fail(INFINI_STATUS_NOT_IMPLEMENTED, "this version of JAX does not tell which GPU it calls");
  return {cuda_type(), static_cast<size_t>(request.ordinal)};
}

void* stream_of(const CallFrame& frame) {
  StreamRequest request{sizeof request, nullptr, frame.execution, nullptr};
  require_told(frame, frame.api->stream(&request), "the stream");
  return request.stream;
}

Error* error(const CallFrame& frame, int32_t code, const char* message) {
  ErrorRequest request{sizeof request, nullptr, message, code};
  return frame.api->make_error(&request);
}

}  // namespace infini::python::xla
