// Start and end, devices and contexts. The device in use is a property of the thread.
#include "state.h"

namespace cann_emulator {
namespace {

thread_local uint64_t thread_context = 0;

uint64_t make_context(State& s, int device, bool is_default) {
  uint64_t stream_handle = s.next_handle++;
  uint64_t handle = s.next_handle++;
  Stream& stream = s.streams[stream_handle];
  stream.context = handle;
  stream.device = device;
  stream.is_default = true;
  stream.handle = stream_handle;
  try {
    s.contexts[handle] = {device, is_default, stream_handle};
  } catch (const std::bad_alloc&) {
    s.streams.erase(stream_handle);
    throw;
  }
  return handle;
}

// Queued work of a dying context is finished first; its own streams must be gone already.
void destroy_context(Call& call, uint64_t handle) {
  State& s = call.s;
  for (auto it = s.streams.begin(); it != s.streams.end();) {
    if (it->second.context != handle) {
      ++it;
      continue;
    }
    run_all(s, it->second);
    if (!it->second.is_default)
      call.broken(Rule::ownership, 0, "a context was destroyed before its stream ", it->first);
    it = s.streams.erase(it);
  }
  s.contexts.erase(handle);
}

int require_device(Call& call, int32_t device) {
  if (device >= 0 && device < static_cast<int32_t>(call.s.devices.size())) return 0;
  return call.refused(ACL_ERROR_RT_INVALID_DEVICEID, "device ", device, " of ",
                      call.s.devices.size());
}

}  // namespace

Context* find_context(State& s, uint64_t handle) {
  auto it = s.contexts.find(handle);
  return it == s.contexts.end() ? nullptr : &it->second;
}

uint64_t current_context() { return find_context(state(), thread_context) ? thread_context : 0; }

int current_device() {
  Context* context = find_context(state(), thread_context);
  return context ? context->device : -1;
}

}  // namespace cann_emulator

using namespace cann_emulator;

extern "C" {

aclError aclInit(const char*) {
  return answer("aclInit", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (call.s.initialised) return call.refused(ACL_ERROR_REPEAT_INITIALIZE, "already initialised");
    if (call.must_fail()) return ACL_ERROR_INTERNAL_ERROR;
    call.s.initialised = true;
    return ACL_SUCCESS;
  });
}

aclError aclFinalize() {
  return answer("aclFinalize", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (!call.s.initialised)
      return call.broken(Rule::initialised, ACL_ERROR_REPEAT_FINALIZE, "not initialised");
    while (!call.s.contexts.empty()) destroy_context(call, call.s.contexts.begin()->first);
    for (auto& device : call.s.devices) device = {0, 0, device.used};
    call.s.initialised = false;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  return answer("aclrtGetDeviceCount", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (int code = call.require_initialised()) return code;
    if (!count) return call.refused(ACL_ERROR_INVALID_PARAM, "count is NULL");
    if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
    *count = static_cast<uint32_t>(call.s.devices.size());
    return ACL_SUCCESS;
  });
}

const char* aclrtGetSocName() { return "Ascend910B (emulated)"; }

aclError aclrtSetDevice(int32_t device_id) {
  return answer("aclrtSetDevice", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (int code = call.require_initialised()) return code;
    if (int code = require_device(call, device_id)) return code;
    if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
    Device& device = call.s.devices[device_id];
    if (!device.default_context) device.default_context = make_context(call.s, device_id, true);
    ++device.references;
    thread_context = device.default_context;
    return ACL_SUCCESS;
  });
}

aclError aclrtResetDevice(int32_t device_id) {
  return answer("aclrtResetDevice", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (int code = call.require_initialised()) return code;
    if (int code = require_device(call, device_id)) return code;
    Device& device = call.s.devices[device_id];
    if (device.references == 0)
      return call.broken(Rule::context, ACL_ERROR_RT_CONTEXT_NULL, "device ", device_id,
                         " is not in use");
    if (--device.references == 0) {
      destroy_context(call, device.default_context);
      device.default_context = 0;
    }
    return ACL_SUCCESS;
  });
}

aclError aclrtGetDevice(int32_t* device_id) {
  return answer("aclrtGetDevice", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (int code = call.require_initialised()) return code;
    if (!current_context())
      return call.refused(ACL_ERROR_RT_CONTEXT_NULL,
                          "this thread has no device");  // a fair question
    if (!device_id) return call.refused(ACL_ERROR_INVALID_PARAM, "deviceId is NULL");
    if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
    *device_id = current_device();
    return ACL_SUCCESS;
  });
}

aclError aclrtCreateContext(aclrtContext* context, int32_t device_id) {
  return answer("aclrtCreateContext", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (int code = call.require_initialised()) return code;
    if (int code = require_device(call, device_id)) return code;
    if (!context) return call.refused(ACL_ERROR_INVALID_PARAM, "context is NULL");
    if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
    thread_context = make_context(call.s, device_id, false);
    *context = handle_of<aclrtContext>(thread_context);
    return ACL_SUCCESS;
  });
}

aclError aclrtDestroyContext(aclrtContext context) {
  return answer("aclrtDestroyContext", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    Context* found = find_context(call.s, address_of(context));
    if (!found || found->is_default)
      return call.broken(Rule::live_handle, ACL_ERROR_RT_INVALID_HANDLE,
                         "no such context, or a default one");
    destroy_context(call, address_of(context));
    return ACL_SUCCESS;
  });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return answer("aclrtSetCurrentContext", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (!find_context(call.s, address_of(context)))
      return call.broken(Rule::live_handle, ACL_ERROR_RT_INVALID_HANDLE, "no such context");
    if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
    thread_context = address_of(context);
    return ACL_SUCCESS;
  });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return answer("aclrtGetCurrentContext", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (!context) return call.refused(ACL_ERROR_INVALID_PARAM, "context is NULL");
    if (!current_context())
      return call.refused(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no context");
    *context = handle_of<aclrtContext>(current_context());
    return ACL_SUCCESS;
  });
}

}  // extern "C"
