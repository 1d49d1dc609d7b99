// Memory, copies, launches and attributes of the emulated runtime.
#include <cstdlib>
#include <cstring>

#include "state.h"

namespace xpu_emu {
namespace {
uint64_t checksum(const void* data, uint64_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint64_t hash = 1469598103934665603ull;
  for (uint64_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
  return hash;
}

struct Copy {
  void* dst;
  const void* src;
  uint64_t size;
  XPUMemcpyKind kind;
  bool to_device() const { return kind != XPU_DEVICE_TO_HOST; }
  bool from_device() const { return kind != XPU_HOST_TO_DEVICE; }
};

// Law: a device side lies in one live allocation of `device`, a host side is no device address.
int check(const Copy& copy, int device) {
  if (copy.kind < XPU_DEVICE_TO_HOST || copy.kind > XPU_DEVICE_TO_DEVICE)
    return XPUERR_INVALID_PARAM;
  auto valid = [&](const void* p, bool on_device) {
    if (!p || is_device_address(p) != on_device) return false;
    const Address address = reinterpret_cast<Address>(p);
    return !on_device || (device_of(address) == device && find_allocation(address, copy.size));
  };
  if (valid(copy.dst, copy.to_device()) && valid(copy.src, copy.from_device())) return 0;
  violate(XPU_EMU_BOUNDS, "copy of %llu bytes, kind %d, device %d: %p <- %p is not a valid pair",
          static_cast<unsigned long long>(copy.size), copy.kind, device, copy.dst, copy.src);
  return XPUERR_DMAABORT;
}

uint8_t* reachable(const void* p) {
  return is_device_address(p) ? backing(reinterpret_cast<Address>(p))
                              : static_cast<uint8_t*>(const_cast<void*>(p));
}

Footprint footprint_of(const Copy& copy) {
  Footprint bytes;
  const Address dst = reinterpret_cast<Address>(copy.dst),
                src = reinterpret_cast<Address>(copy.src);
  bytes.writes.push_back({dst, dst + copy.size});
  bytes.reads.push_back({src, src + copy.size});
  return bytes;
}

void move_bytes(const Copy& copy) {
  std::memmove(reachable(copy.dst), reachable(copy.src), copy.size);
}

Operation async_copy(const Copy& copy, int device) {
  Operation operation;
  operation.name = "asynchronous copy";
  for (const void* p : {static_cast<const void*>(copy.dst), copy.src})
    if (is_device_address(p)) operation.names.push_back(reinterpret_cast<Address>(p));
  std::vector<uint8_t> snapshot;
  uint64_t expected = 0;
  if (!copy.from_device()) {
    const auto* bytes = static_cast<const uint8_t*>(copy.src);
    if (state().early_sources)
      snapshot.assign(bytes, bytes + copy.size);
    else
      expected = checksum(copy.src, copy.size);
  }
  operation.execute = [copy, device, expected, snapshot = std::move(snapshot)](Footprint& bytes) {
    if (int code = check(copy, device)) return code;
    bytes = footprint_of(copy);
    if (!snapshot.empty()) {
      std::memcpy(reachable(copy.dst), snapshot.data(), copy.size);
      bytes.reads.clear();
      return 0;
    }
    if (!copy.from_device() && checksum(copy.src, copy.size) != expected)
      violate(XPU_EMU_HOST_SOURCE, "%llu bytes at %p changed between the call and the copy",
              static_cast<unsigned long long>(copy.size), copy.src);
    move_bytes(copy);
    return 0;
  };
  return operation;
}

struct PendingLaunch {
  Launch launch;
  XPUStream stream = nullptr;
  bool configured = false;
};
thread_local PendingLaunch pending;
}  // namespace
}  // namespace xpu_emu

using namespace xpu_emu;

extern "C" {
int xpu_device_count(int* p) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_NODEV)) return -code;
  if (!p) return -XPUERR_INVALID_PARAM;
  *p = device_count;
  return 0;
}
int xpu_device_get_attr(uint64_t* pattr, XPUDeviceAttr attr, int devid) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_UNEXPECT)) return -code;
  if (!pattr) return -XPUERR_INVALID_PARAM;
  if (devid < 0 || devid >= device_count) return -XPUERR_INVALID_DEVICE;
  switch (attr) {
    case XPUATTR_MODEL: *pattr = 0; return 0;
    case XPUATTR_MEM_MAIN_CAPACITY: *pattr = state().hbm_limit; return 0;
    case XPUATTR_MEM_L3_CAPACITY: *pattr = l3_capacity; return 0;
    case XPUATTR_NUM_CLUSTER: *pattr = physical_clusters; return 0;
  }
  return -XPUERR_NOSUPPORT;
}

int xpu_malloc(void** pdevptr, uint64_t sz, XPUMemoryKind kind) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_NOMEM)) return -code;
  if (!pdevptr || sz == 0 || (kind != XPU_MEM_MAIN && kind != XPU_MEM_L3))
    return -XPUERR_INVALID_PARAM;
  return -allocate(current_device(), kind, sz, pdevptr);
}
int xpu_free(void* devptr) {
  Lock lock(state().mutex);
  if (!devptr) return 0;
  if (const Allocation* block = find_allocation(reinterpret_cast<Address>(devptr), 0))
    for (const auto& stream : state().streams)
      for (const auto& operation : stream->queue)
        for (Address named : operation.names)
          if (named >= block->begin && named < block->begin + block->size)
            violate(XPU_EMU_FREED_IN_USE, "%p freed before '%s' on stream slot %zu has run", devptr,
                    operation.name.c_str(), stream->slot);
  return -release(devptr);
}

int xpu_host_alloc(void** p, uint64_t sz, unsigned int flags) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_NOCPUMEM)) return -code;
  if (!p || flags || sz == 0) return -XPUERR_INVALID_PARAM;
  if (sz > hbm_capacity) return -XPUERR_NOCPUMEM;
  void* block = std::aligned_alloc(4096, (sz + 4095) / 4096 * 4096);
  if (!block) return -XPUERR_NOCPUMEM;
  state().host_blocks[block] = sz;
  *p = block;
  return 0;
}
int xpu_host_free(void* p) {
  Lock lock(state().mutex);
  if (!p) return 0;
  if (!state().host_blocks.erase(p)) return -XPUERR_INVALID_PARAM;
  std::free(p);
  return 0;
}
int xpu_host_register(void* p, uint64_t sz, unsigned int flags) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_NOCPUMEM)) return -code;
  if (!p || sz == 0 || flags) return -XPUERR_INVALID_PARAM;
  return state().registered.emplace(p, sz).second ? 0 : -XPUERR_HOSTMEM_ALREADY_REGISTERED;
}
int xpu_host_unregister(void* p) {
  Lock lock(state().mutex);
  return state().registered.erase(p) ? 0 : -XPUERR_INVALID_PARAM;
}

// Synchronous for the host, ordered with no stream: only a copy to the host waits, and only for the
// default stream.
int xpu_memcpy(void* dst, const void* src, uint64_t sz, XPUMemcpyKind kind) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_UNEXPECT)) return -code;
  if (sz == 0) return 0;
  const Copy copy{dst, src, sz, kind};
  if (kind == XPU_DEVICE_TO_HOST) {
    int error = 0;
    synchronise(*stream_of(nullptr, error));
  }
  if (int code = take_error(current_device())) return code;
  if (int code = check(copy, current_device())) return -code;
  host_operation("synchronous copy", current_device(), footprint_of(copy));
  move_bytes(copy);
  return 0;
}
int xpu_memcpy_async(void* dst, const void* src, uint64_t sz, XPUMemcpyKind kind, XPUStream s) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_UNEXPECT)) return -code;
  int error = 0;
  Stream* stream = stream_of(s, error);
  if (!stream) return -error;
  if (sz == 0) return 0;
  const Copy copy{dst, src, sz, kind};
  if (int code = check(copy, stream->device)) return -code;
  if (state().devices[stream->device].abnormal) return -XPUERR_ABNORMAL;
  enqueue(*stream, async_copy(copy, stream->device));
  return 0;
}
int xpu_memcpy_peer(int dst_dev, void* dst, int src_dev, const void* src, uint64_t sz) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_UNEXPECT)) return -code;
  if (dst_dev < 0 || dst_dev >= device_count || src_dev < 0 || src_dev >= device_count)
    return -XPUERR_INVALID_DEVICE;
  if (sz == 0) return 0;
  const Address to = reinterpret_cast<Address>(dst), from = reinterpret_cast<Address>(src);
  if (!find_allocation(to, sz) || device_of(to) != dst_dev || !find_allocation(from, sz) ||
      device_of(from) != src_dev) {
    violate(XPU_EMU_BOUNDS, "peer copy %d:%p <- %d:%p of %llu bytes", dst_dev, dst, src_dev, src,
            static_cast<unsigned long long>(sz));
    return -XPUERR_DMAABORT;
  }
  const Copy copy{dst, src, sz, XPU_DEVICE_TO_DEVICE};
  host_operation("peer copy", dst_dev, footprint_of(copy));
  move_bytes(copy);
  return 0;
}

int xpu_launch_config(int nclusters, int ncores, XPUStream s) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_UNEXPECT)) return -code;
  pending = {};
  if (nclusters < 1 || nclusters > 255 || ncores < 1 || ncores > max_cores)
    return -XPUERR_INVALID_PARAM;
  pending.launch.clusters = nclusters;
  pending.launch.cores = ncores;
  pending.stream = s;
  pending.configured = true;
  return 0;
}
int xpu_launch_argument_set(const void* arg, size_t size, size_t offset) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_UNEXPECT)) return -code;
  if (!pending.configured || !arg || offset % 4) return -XPUERR_INVALID_PARAM;
  const size_t end = offset + (size + 3) / 4 * 4;  // rounded up with zeros, as the vendor does
  auto& bytes = pending.launch.arguments;
  if (bytes.size() < end) bytes.resize(end, 0);
  std::memcpy(bytes.data() + offset, arg, size);
  return 0;
}
int xpu_launch_async(XPUFunc func) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_UNEXPECT)) return -code;
  PendingLaunch mine = std::move(pending);
  pending = {};
  if (!func) return -XPUERR_NOXPUFUNC;
  if (!mine.configured) return -XPUERR_INVALID_PARAM;
  int error = 0;
  Stream* stream = stream_of(mine.stream, error);
  if (!stream) return -error;
  if (state().devices[stream->device].abnormal) return -XPUERR_ABNORMAL;
  mine.launch.function = func;
  mine.launch.device = stream->device;
  Operation operation;
  operation.name = "kernel";
  const auto& bytes = mine.launch.arguments;
  for (size_t offset = 0; offset + sizeof(Address) <= bytes.size(); offset += 4) {
    Address value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    if (is_device_address(reinterpret_cast<void*>(value))) operation.names.push_back(value);
  }
  operation.execute = [launch = std::move(mine.launch)](Footprint& footprint) {
    return run_kernel(launch, footprint);
  };
  enqueue(*stream, std::move(operation));
  return 0;
}
}
