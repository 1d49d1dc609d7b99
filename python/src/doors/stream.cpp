// Whose stream a call works on.
#include "stream.h"

#include "export.h"

namespace infini::python {
namespace context = infinicore::context;
namespace {

using Family = Framework::Family;

void* as_pointer(nb::handle number) { return reinterpret_cast<void*>(nb::cast<uintptr_t>(number)); }

}  // namespace

std::optional<void*> current_stream(const Framework& framework, const infinicore::Device& device) {
  const auto index = static_cast<int32_t>(device.getIndex());
  if (framework.api != nullptr) {
    void* stream = nullptr;
    if (framework.api->current_stream(dlpack_place(device).type, index, &stream) != 0)
      nb::raise_python_error();
    return stream;
  }
  if (framework.family == Family::torch)
    return as_pointer(
        nb::module_::import_("torch.cuda").attr("current_stream")(index).attr("cuda_stream"));
  if (framework.family == Family::cupy)
    return as_pointer(
        nb::module_::import_("cupy.cuda").attr("get_current_stream")(index).attr("ptr"));
  return std::nullopt;
}

std::optional<void*> current_stream(const Array& array) {
  return current_stream(*array.framework, array.device);
}

void* stream_for(const Call& call, const infinicore::Device& device) {
  if (device == infinicore::Device::cpu()) return nullptr;  // works at once
  return call.device == device ? call.stream : context::getStream(device);
}

void join(Call& call, const Array& array) {
  if (call.device) return;
  call.stream = current_stream(array).value_or(context::getStream(array.device));
  call.device = array.device;
  call.framework = array.framework;
}

nb::int_ dlpack_stream(void* stream) {
  return nb::int_(stream ? reinterpret_cast<uintptr_t>(stream) : 1);  // 1 is the default stream
}

void order(const infinicore::Device& device, void* first, void* then) {
  if (first == then) return;
  const CurrentDevice current(device);
  infinirtEvent_t event = context::createEventWithFlags(INFINIRT_EVENT_DISABLE_TIMING);
  infinirtEventRecord(event, first);
  context::streamWaitEvent(then, event);
  context::destroyEvent(event);
}

StreamScope::StreamScope(const Call& call) : call_(call) {
  if (!call.device) return;
  before_ = context::getStream(*call.device);
  if (call.has_own) order(*call.device, before_, call.stream);
  context::setStream(*call.device, call.stream);
}

StreamScope::~StreamScope() {
  if (!call_.device) return;
  try {
    context::setStream(*call_.device, before_);
    if (call_.has_own) order(*call_.device, call_.stream, before_);
  } catch (const infinicore::Error&) {  // the device is lost: the next call will say so
  }
}

}  // namespace infini::python
