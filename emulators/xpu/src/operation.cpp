// Work of other libraries on a stream, with the same checks as the runtime's own.
#include "operation.h"

#include "state.h"

namespace xpu_emu {
namespace {
bool alive(const std::vector<DeviceRange>& ranges, int device, const char* name) {
  for (const auto& range : ranges) {
    const Address address = reinterpret_cast<Address>(range.begin);
    if (range.size == 0) continue;
    if (find_allocation(address, range.size) && device_of(address) == device) continue;
    violate(XPU_EMU_BOUNDS, "%s: %llu bytes at %p lie in no live allocation of device %d", name,
            static_cast<unsigned long long>(range.size), range.begin, device);
    return false;
  }
  return true;
}

void add(std::vector<Range>& out, const std::vector<DeviceRange>& ranges) {
  for (const auto& range : ranges) {
    const Address begin = reinterpret_cast<Address>(range.begin);
    if (range.size) out.push_back({begin, begin + range.size});
  }
}
}  // namespace

int enqueue_work(XPUStream handle, const char* name, std::vector<DeviceRange> reads,
                 std::vector<DeviceRange> writes, std::function<void()> work) {
  Lock lock(state().mutex);
  int error = 0;
  Stream* stream = stream_of(handle, error);
  if (!stream) return -error;
  const int device = stream->device;
  if (state().devices[device].abnormal) return -XPUERR_ABNORMAL;
  Operation operation;
  operation.name = name;
  for (const auto* ranges : {&reads, &writes})
    for (const auto& range : *ranges)
      operation.names.push_back(reinterpret_cast<Address>(range.begin));
  operation.execute = [=, reads = std::move(reads), writes = std::move(writes),
                       work = std::move(work)](Footprint& footprint) -> int {
    if (!alive(reads, device, name) || !alive(writes, device, name)) return XPUERR_KEXCEPTION;
    add(footprint.reads, reads);
    add(footprint.writes, writes);
    work();
    return 0;
  };
  enqueue(*stream, std::move(operation));
  return 0;
}

void* device_view(const void* p) { return backing(reinterpret_cast<Address>(p)); }

int count_call(int code) {
  Lock lock(state().mutex);
  return injected(code);
}
}  // namespace xpu_emu
