// An Ascend device through CANN's runtime.
#include "backends/ascend/runtime/device.h"

#include <acl/acl.h>

#include <cstring>
#include <sstream>

#include "backends/ascend/runtime/check.h"

namespace infini::ascend {
namespace {

constexpr int already_initialised = 100002;  // by another library of this process: fine

aclrtMemcpyKind kind_of(infinirtMemcpyKind_t kind) {
  constexpr aclrtMemcpyKind kinds[] = {ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE,
                                       ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE};
  return kinds[kind];
}

void use_device(int id) {
  int32_t current = -1;
  if (aclrtGetDevice(&current) == 0 && current == id) return;
  aclGetRecentErrMsg();  // a thread without a device is no error: do not leave its words behind
  check(aclrtSetDevice(id), "aclrtSetDevice");
}

}  // namespace

// aclFinalize is never called: it would end CANN for the whole process, and at its exit CANN may be
// gone.
int device_count(std::string& why_none) {
  try {
    const int code = aclInit(nullptr);
    if (code != already_initialised) check(code, "aclInit");
    uint32_t count = 0;
    check(aclrtGetDeviceCount(&count), "aclrtGetDeviceCount");
    if (count == 0) why_none = "CANN finds no device";
    return static_cast<int>(count);
  } catch (const std::exception& error) {
    why_none = error.what();
    return 0;
  }
}

Device::Device(int id) : infini::Device(INFINI_DEVICE_ASCEND, id) {
  use_device(id);
  const char* soc = aclrtGetSocName();
  std::ostringstream text;
  text.precision(3);
  text << (soc ? soc : "Ascend") << ", "
       << static_cast<double>(memory_info().total_bytes) / (1 << 30) << " GiB";
  description_ = text.str();
}

Device::~Device() {
  try {
    use_device(id());
    memory_.trim();
  } catch (...) {  // CANN is gone, and the memory with it
  }
}

// The device is a property of the thread. A thread that already has it keeps its context, which may
// be one that the client made.
void Device::make_current() { use_device(id()); }

MemoryInfo Device::memory_info() {
  MemoryInfo info;
  check(aclrtGetMemInfo(ACL_HBM_MEM, &info.free_bytes, &info.total_bytes), "aclrtGetMemInfo");
  return info;
}

void Device::synchronize() { check(aclrtSynchronizeDevice(), "aclrtSynchronizeDevice"); }

void* Device::create_stream() {
  aclrtStream stream = nullptr;
  check(aclrtCreateStream(&stream), "aclrtCreateStream");
  return stream;
}

void Device::destroy_stream(void* stream) {
  check(aclrtDestroyStream(stream), "aclrtDestroyStream");  // waits for the stream's work
  memory_.stream_done(stream);
}

void Device::synchronize_stream(void* stream) {
  check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
}

void Device::stream_wait_event(void* stream, void* event) {
  check(aclrtStreamWaitEvent(stream, event), "aclrtStreamWaitEvent");
}

// The Ex events may be recorded again and again, and count as complete before their first
// recording.
void* Device::create_event(uint32_t flags) {
  const uint32_t time_line = flags & INFINIRT_EVENT_DISABLE_TIMING ? 0 : ACL_EVENT_TIME_LINE;
  aclrtEvent event = nullptr;
  check(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC | time_line),
        "aclrtCreateEventExWithFlag");
  return event;
}

void Device::destroy_event(void* event) { check(aclrtDestroyEvent(event), "aclrtDestroyEvent"); }

void Device::record_event(void* event, void* stream) {
  check(aclrtRecordEvent(event, stream), "aclrtRecordEvent");
}

bool Device::event_complete(void* event) {
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  check(aclrtQueryEventStatus(event, &status), "aclrtQueryEventStatus");
  return status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
}

void Device::synchronize_event(void* event) {
  check(aclrtSynchronizeEvent(event), "aclrtSynchronizeEvent");
}

float Device::elapsed_milliseconds(void* start, void* end) {
  float ms = 0;
  check(aclrtEventElapsedTime(&ms, start, end), "aclrtEventElapsedTime");
  return ms;
}

void* Device::allocate(size_t bytes) { return allocate_or_trim(bytes, memory_); }

// CANN frees at once, whatever is still queued; our free waits, as on the other devices.
void Device::free(void* p) {
  require(memory_.forget(p), INFINI_STATUS_BAD_PARAM, "p (", p, ") has been freed already");
  const int waited = aclrtSynchronizeDevice();
  check(aclrtFree(p), "aclrtFree");
  check(waited, "aclrtSynchronizeDevice");
}

void* Device::allocate_host(size_t bytes) {
  void* p = nullptr;
  check(aclrtMallocHost(&p, bytes), "aclrtMallocHost");
  return p;
}

void Device::free_host(void* p) {
  const int waited = aclrtSynchronizeDevice();
  check(aclrtFreeHost(p), "aclrtFreeHost");
  check(waited, "aclrtSynchronizeDevice");
}

void* Device::allocate_async(size_t bytes, void* stream) { return memory_.take(bytes, stream); }

void Device::free_async(void* p, void* stream) {
  const auto given = memory_.give(p, stream);
  require(given != StreamMemory::Given::twice, INFINI_STATUS_BAD_PARAM, "p (", p,
          ") has been freed already");
  if (given == StreamMemory::Given::idle) return;
  const int waited = aclrtSynchronizeStream(stream);
  check(aclrtFree(p), "aclrtFree");
  check(waited, "aclrtSynchronizeStream");
}

// CANN's blocking copies and fills wait for nothing; ours come after the default stream's work.
void Device::copy(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t kind) {
  synchronize_stream(nullptr);
  check(aclrtMemcpy(dst, bytes, src, bytes, kind_of(kind)), "aclrtMemcpy");
}

void Device::copy_async(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t kind,
                        void* stream) {
  if (kind == INFINIRT_MEMCPY_H2H) {  // CANN has none on streams: wait for our turn, then copy
    synchronize_stream(stream);
    std::memcpy(dst, src, bytes);
    return;
  }
  check(aclrtMemcpyAsync(dst, bytes, src, bytes, kind_of(kind), stream), "aclrtMemcpyAsync");
}

void Device::set(void* p, int value, size_t bytes) {
  synchronize_stream(nullptr);
  check(aclrtMemset(p, bytes, value, bytes), "aclrtMemset");
}

void Device::set_async(void* p, int value, size_t bytes, void* stream) {
  check(aclrtMemsetAsync(p, bytes, value, bytes, stream), "aclrtMemsetAsync");
}

}  // namespace infini::ascend
