// A call by XLA, read with care: arrays over its buffers, and its attributes. Nothing here needs Python.
#pragma once

#include <span>

#include "call_frame.h"
#include "doors/array.h"

namespace infini::python::xla {

// Throws where the runtime has fewer fields than are read here.
void require_known_frame(const CallFrame& frame);
// Whether XLA only asks what the handler is; then it has been answered.
bool answered(CallFrame& frame);
Array array_of(const List& list, int64_t index, const char* name, const infinicore::Device& device);
// An attribute that is an array of 64-bit numbers.
std::span<const int64_t> integers(const CallFrame& frame, const char* name);
std::span<const double> reals(const CallFrame& frame, const char* name);
// The GPU on which the call runs, as infini calls it, and the stream that it belongs to.
infinicore::Device gpu_of(const CallFrame& frame);
void* stream_of(const CallFrame& frame);
Error* error(const CallFrame& frame, int32_t code, const char* message);

}  // namespace infini::python::xla
