// Conversions between element types on anybody's arrays: through the C API's Convert, or Cast for types that only it knows.
#include <algorithm>
#include <memory>
#include <vector>

#include "arrays/converting.h"
#include "arrays/functions.h"
#include "doors/stream.h"
#include "doors/torch.h"
#include "errors.h"
#include "infiniop.h"

namespace infini::python {
namespace {

// What Convert or Cast call an element.
struct Numbers {
  infiniDtype_t dtype;
  bool e5m2;
};

constexpr uint8_t dlpack_e5m2 = 12;

bool numbers_of(const Element& element, Numbers& out) {
  if (const auto known = element.known()) {
    out = {static_cast<infiniDtype_t>(*known), false};
    return true;
  }
  const std::string name = element.dtype ? nb::cast<std::string>(nb::str(element.dtype)) : "";
  // Of ml_dtypes' types of one byte e5m2 alone is a float to NumPy.
  const bool numpy_float = element.code == dlpack::floating && element.bits == 8;
  out = {INFINI_DTYPE_F8,
         name == "float8_e5m2" || (!element.dtype && (numpy_float || element.code == dlpack_e5m2))};
  return !element.swapped && (out.e5m2 || name == "float8_e4m3fn");
}

bool is_converted(infiniDtype_t dtype) {
  return dtype != INFINI_DTYPE_BOOL && dtype != INFINI_DTYPE_I64 && dtype != INFINI_DTYPE_U64;
}

void check(infiniStatus_t status) {
  if (status != INFINI_STATUS_SUCCESS) throw infinicore::Error(status, infiniGetLastErrorString());
}

template <class Object>
using Owned = std::unique_ptr<Object, infiniStatus_t (*)(Object*)>;

Owned<InfiniopTensorDescriptor> describe(const Array& array, infiniDtype_t dtype,
                                         const char* name) {
  std::vector<size_t> shape(array.shape, array.shape + array.rank);
  std::vector<ptrdiff_t> strides(static_cast<size_t>(array.rank));
  for (size_t i = 0; i < strides.size(); ++i) {
    if (shape[i] > 1 && array.steps[i] % array.itemsize != 0)
      fail_type(name, " has strides that are no multiple of its elements' size");
    strides[i] = array.steps[i] / array.itemsize;
  }
  InfiniopTensorDescriptor* made = nullptr;
  check(infiniopCreateTensorDescriptor(&made, shape.size(), shape.data(), strides.data(), dtype));
  return {made, infiniopDestroyTensorDescriptor};
}

// A tensor of factors as Convert wants it: dims of 1 behind the axis.
Array along(const Array& numbers, const Array& dst, nb::handle axis, const char* name) {
  Array made = numbers;
  if (axis.is_none() || numbers.rank == 0) return made;
  if (numbers.rank != 1) fail_value(name, " has ", numbers.rank, " dims; with an axis expected 1");
  int64_t dim = nb::cast<int64_t>(axis);
  if (dim < -dst.rank || dim >= dst.rank)
    fail_value("axis is ", dim, "; the array has ", dst.rank, " dims");
  if (dim < 0) dim += dst.rank;
  made.rank = dst.rank - static_cast<int>(dim);
  for (int i = 1; i < made.rank; ++i) made.shape[i] = 1, made.steps[i] = made.itemsize;
  return made;
}

struct Factor {
  Array array;
  Owned<InfiniopTensorDescriptor> desc{nullptr, infiniopDestroyTensorDescriptor};
  const void* data() const { return desc ? array.data : nullptr; }
};

// A number goes into the options, an array of f32 becomes a factor.
Factor factor_of(nb::handle object, nb::handle axis, const Array& dst, double& number,
                 const char* name, Call& call) {
  Factor factor;
  if (object.is_none()) return factor;
  if (PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr())) {
    number = nb::cast<double>(object);
    return factor;
  }
  factor.array = along(read_array(object, name, call), dst, axis, name);
  if (factor.array.device != dst.device)
    fail_value(name, " lies on another device than the result");
  if (factor.array.element.known() != infinicore::DataType::F32)
    fail_type(name, " is ", factor.array.element.name(), "; expected f32");
  factor.desc = describe(factor.array, INFINI_DTYPE_F32, name);
  return factor;
}

struct Wanted {
  nb::handle scale, shift, axis;
  bool saturate = false;
};

// One conversion, before it runs.
struct Prepared {
  Numbers to, from;
  Owned<InfiniopHandle> handle{nullptr, infiniopDestroyHandle};
  Owned<InfiniopTensorDescriptor> y, x;

  static Prepared make(const Array& dst, const Array& src) {
    Numbers to, from;
    if (!numbers_of(dst.element, to)) fail_type("cannot convert to ", dst.element.name());
    if (!numbers_of(src.element, from)) fail_type("cannot convert from ", src.element.name());
    if (dst.device != src.device) fail_value("both arrays must lie on one device");
    const CurrentDevice current(dst.device);
    infiniopHandle_t handle = nullptr;
    check(infiniopCreateHandle(&handle));
    return {to,
            from,
            {handle, infiniopDestroyHandle},
            describe(dst, to.dtype, "dst"),
            describe(src, from.dtype, "src")};
  }
};

void run_cast(const Prepared& all, const Array& dst, const Array& src, void* stream, Gil gil) {
  InfiniopDescriptor* made = nullptr;
  check(infiniopCreateCastDescriptor(all.handle.get(), &made, all.y.get(), all.x.get()));
  const Owned<InfiniopDescriptor> desc(made, infiniopDestroyCastDescriptor);
  const Unlocked unlocked(worth_unlocking(dst), gil);
  check(infiniopCast(made, nullptr, 0, dst.data, src.data, stream));
}

void run_convert(const Prepared& all, const Array& dst, const Array& src, const Factor& scale,
                 const Factor& shift, infiniopConvertOptions_t options, void* stream, Gil gil) {
  const bool plain = !scale.desc && !shift.desc && options.scale == 1 && options.shift == 0;
  if (plain && !(is_converted(all.to.dtype) && is_converted(all.from.dtype)))
    return run_cast(all, dst, src, stream, gil);
  if (all.from.e5m2) options.flags |= INFINIOP_CONVERT_X_E5M2;
  if (all.to.e5m2) options.flags |= INFINIOP_CONVERT_Y_E5M2;
  InfiniopDescriptor* made = nullptr;
  check(infiniopCreateConvertDescriptor(all.handle.get(), &made, all.y.get(), all.x.get(),
                                        scale.desc.get(), shift.desc.get(), &options));
  const Owned<InfiniopDescriptor> desc(made, infiniopDestroyConvertDescriptor);
  const Unlocked unlocked(worth_unlocking(dst), gil);
  check(infiniopConvert(made, nullptr, 0, dst.data, src.data, scale.data(), shift.data(), stream));
}

infiniopConvertOptions_t options_of(const Conversion& conversion) {
  return {sizeof(infiniopConvertOptions_t),
          conversion.saturate ? uint32_t{INFINIOP_CONVERT_SATURATE} : 0, conversion.scale,
          conversion.shift};
}

void convert_arrays(const Array& dst, const Array& src, const Wanted& wanted, Call& call) {
  const Prepared all = Prepared::make(dst, src);
  if (infinicore::context::isGraphRecording())
    fail(INFINI_STATUS_NOT_IMPLEMENTED, "conversions cannot be recorded");
  infiniopConvertOptions_t options = options_of({1, 0, wanted.saturate});
  const Factor scale = factor_of(wanted.scale, wanted.axis, dst, options.scale, "scale", call),
               shift = factor_of(wanted.shift, wanted.axis, dst, options.shift, "shift", call);
  run_convert(all, dst, src, scale, shift, options, stream_for(call, dst.device), Gil::held);
}

nb::object convert_into(nb::object out, nb::handle x, nb::handle scale, nb::handle shift,
                        nb::handle axis, bool saturate) {
  Call call;
  const Array dst = read_array(out, "out", call), src = read_array(x, "x", call);
  if (!dst.writable) fail_value("out is read-only");
  convert_arrays(dst, src, {scale, shift, axis, saturate}, call);
  note_written(dst);
  return out;
}

}  // namespace

void run_conversion(const Array& dst, const Array& src, const Conversion& conversion, void* stream,
                    Gil gil) {
  run_convert(Prepared::make(dst, src), dst, src, {}, {}, options_of(conversion), stream, gil);
}

void copy_converted(const Array& dst, const Array& src, const Call& call) {
  Call mine = call;
  const nb::none none;
  convert_arrays(dst, src, {none, none, none}, mine);
}

void bind_converting(nb::module_& module) {
  using namespace nb::literals;
  module.def("_convert_into", &convert_into, "out"_a, "x"_a, "scale"_a.none(), "shift"_a.none(),
             "axis"_a.none(), "saturate"_a, "For convert: out = round(scale*x + shift).");
}

}  // namespace infini::python
