// copy, matmul and convert as custom calls of XLA: one handler of each for the CPU, one for GPUs.
// They run on XLA's threads, without the GIL, and touch nothing of Python's.
#include "handlers.h"

#include <new>

#include "arrays/converting.h"
#include "arrays/prepared.h"
#include "doors/convert.h"
#include "doors/doors.h"
#include "doors/stream.h"
#include "errors.h"
#include "frame.h"
#include "infinicore/ops.hpp"

namespace infini::python {
namespace xla {
namespace {

namespace context = infinicore::context;

// Where one call runs.
struct Place {
  infinicore::Device device;
  void* stream = nullptr;
};

// While it lives, the calling thread's operators use the place's stream.
class OnStream {
 public:
  explicit OnStream(const Place& place)
      : device_(place.device), before_(context::getStream(place.device)) {
    context::setStream(device_, place.stream);
  }
  ~OnStream() { context::setStream(device_, before_); }
  OnStream(const OnStream&) = delete;

 private:
  infinicore::Device device_;
  void* before_;
};

// `dense` as the loops see it: (extent, step in dst, step in src) each, steps in elements.
Array along(const Array& dense, std::span<const int64_t> loops, size_t side, const char* name) {
  Array walk = dense;
  set_rank(walk, static_cast<int64_t>(loops.size() / 3), name);
  int64_t last = 0;
  for (size_t i = 0; i < loops.size() / 3; ++i) {
    const int64_t extent = loops[3 * i], step = loops[3 * i + side];
    int64_t far = 0;
    if (extent < 1 || step < 0 || __builtin_mul_overflow(extent - 1, step, &far) ||
        __builtin_add_overflow(last, far, &last))
      fail_value("the call's loops are none of infini.jax");
    walk.shape[i] = extent;
    walk.steps[i] = step * dense.itemsize;
  }
  if (last >= dense.count()) fail_value("the call's loops leave ", name);
  return walk;
}

void copy(const CallFrame& frame, const Place& place) {
  const Array src = array_of(frame.arguments, 0, "the argument", place.device),
              dst = array_of(frame.results, 0, "the result", place.device);
  if (dst.is_empty()) return;
  if (!dst.element.same_as(src.element)) fail_type("a copy between two element types");
  const std::span<const int64_t> loops = integers(frame, "loops");
  run_prepared_copy(along(dst, loops, 1, "the result"), along(src, loops, 2, "the argument"),
                    place.stream, Gil::none);
}

// The last two dims exchanged, where the attribute says that the matrices lie transposed.
Array matrices(const List& list, int64_t index, const char* name, bool transposed,
               const Place& place) {
  Array array = array_of(list, index, name, place.device);
  const int last = array.rank - 1;
  if (last < 1) fail_value(name, " has ", array.rank, " dims; expected matrices");
  if (transposed) {
    std::swap(array.shape[last], array.shape[last - 1]);
    std::swap(array.steps[last], array.steps[last - 1]);
  }
  return array;
}

void matmul(const CallFrame& frame, const Place& place) {
  const std::span<const int64_t> transposed = integers(frame, "transposed");
  if (transposed.size() != 2) fail_value("transposed has ", transposed.size(), " numbers");
  const Array a = matrices(frame.arguments, 0, "a", transposed[0] != 0, place),
              b = matrices(frame.arguments, 1, "b", transposed[1] != 0, place),
              c = matrices(frame.results, 0, "c", false, place);
  if (run_prepared_gemm(c, a, b, 1, 0, place.stream, Gil::none)) return;
  const OnStream scope(place);
  infinicore::op::matmul_(to_tensor(c, Hold::caller), to_tensor(a, Hold::caller),
                          to_tensor(b, Hold::caller));
}

void convert(const CallFrame& frame, const Place& place) {
  const Array src = array_of(frame.arguments, 0, "the argument", place.device),
              dst = array_of(frame.results, 0, "the result", place.device);
  const std::span<const double> factors = reals(frame, "factors");
  if (factors.size() != 3) fail_value("factors has ", factors.size(), " numbers");
  if (dst.is_empty()) return;
  const Conversion conversion{factors[0], factors[1], factors[2] != 0};
  run_conversion(dst, src, conversion, place.stream, Gil::none);
}

using Operation = void(const CallFrame&, const Place&);

int32_t code_of(infiniStatus_t status) {
  switch (status) {
    case INFINI_STATUS_OUT_OF_MEMORY: return error_exhausted;
    case INFINI_STATUS_NOT_IMPLEMENTED: return error_unimplemented;
    case INFINI_STATUS_INTERNAL_ERROR: return error_internal;
    default: return error_invalid;
  }
}

template <Operation* operation, bool on_gpu>
Error* handle(CallFrame* frame) {
  if (answered(*frame)) return nullptr;
  try {
    require_known_frame(*frame);
    if (frame->stage != stage_execute) return nullptr;
    Place place;
    if (on_gpu) place = {gpu_of(*frame), stream_of(*frame)};
    operation(*frame, place);
    return nullptr;
  } catch (const infinicore::Error& failed) {
    return error(*frame, code_of(failed.status()), failed.what());
  } catch (const std::bad_alloc&) {
    return error(*frame, error_exhausted, "out of memory");
  } catch (const std::exception& failed) {
    return error(*frame, error_internal, failed.what());
  }
}

nb::capsule capsule(Handler* handler) { return nb::capsule(reinterpret_cast<void*>(handler)); }

template <Operation* operation>
nb::tuple both() {
  return nb::make_tuple(capsule(handle<operation, false>), capsule(handle<operation, true>));
}

}  // namespace
}  // namespace xla

void bind_xla(nb::module_& module) {
  module.def(
      "_xla_handlers",
      [] {
        nb::dict handlers;
        handlers["infini_copy"] = xla::both<xla::copy>();
        handlers["infini_matmul"] = xla::both<xla::matmul>();
        handlers["infini_convert"] = xla::both<xla::convert>();
        return handlers;
      },
      "For infini.jax: by name the handlers for the CPU and for CUDA, to be registered with "
      "jax.ffi.");
}

}  // namespace infini::python
