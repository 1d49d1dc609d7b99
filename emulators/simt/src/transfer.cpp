// Copies and memsets. What CUDA calls synchronous waits for the host's side only: inside device
// memory such a call returns at once, and bytes from pageable memory may still be on their way.
#include <cstring>

#include "state.h"

namespace simt {
namespace {

Address address_of(const void* p) { return reinterpret_cast<Address>(p); }
bool from_device(simtMemcpyKind kind) { return kind & 2; }
bool to_device(simtMemcpyKind kind) { return kind == 1 || kind == 3; }

// A side of a copy that the host may name: all of it in one live allocation, or host memory.
bool is_side(const void* p, size_t bytes, bool on_device) {
  const Address address = address_of(p);
  if (!on_device) return p != nullptr && !is_device_address(address);
  const Allocation* found = find_allocation(address, bytes);
  return found != nullptr && !found->host_freed;
}

uint8_t* bytes_at(Address address) {
  return is_device_address(address) ? view(address) : reinterpret_cast<uint8_t*>(address);
}

// When the work runs, its memory must (still, or already) be usable.
bool is_usable(Address address, size_t bytes) {
  if (!is_device_address(address)) return true;
  const Allocation* found = find_allocation(address, bytes);
  if (found != nullptr && found->usable) return true;
  violate(SIMT_EMU_BOUNDS, "a copy or memset of %zu bytes at %p, which is not allocated then",
          bytes, reinterpret_cast<void*>(address));
  return false;
}

Work copy_work(Address dst, Address src, size_t bytes,
               std::shared_ptr<std::vector<uint8_t>> staged) {
  return [=](Footprint& footprint) {
    if (!is_usable(dst, bytes) || !is_usable(src, bytes)) return simtErrorIllegalAddress;
    ++state().stats.copies;
    std::memmove(bytes_at(dst), staged ? staged->data() : bytes_at(src), bytes);
    footprint.writes.push_back({dst, dst + bytes});
    if (!staged) footprint.reads.push_back({src, src + bytes});
    return simtSuccess;
  };
}

Work set_work(Address p, int value, size_t bytes) {
  return [=](Footprint& footprint) {
    if (!is_usable(p, bytes)) return simtErrorIllegalAddress;
    std::memset(bytes_at(p), value, bytes);
    footprint.writes.push_back({p, p + bytes});
    return simtSuccess;
  };
}

bool is_copy(const void* dst, const void* src, size_t bytes, simtMemcpyKind kind) {
  return kind >= simtMemcpyHostToHost && kind <= simtMemcpyDeviceToDevice &&
         is_side(dst, bytes, to_device(kind)) && is_side(src, bytes, from_device(kind));
}

bool is_pageable(const void* p, size_t bytes, bool on_device) {
  return !on_device && !is_pinned(address_of(p), bytes);
}

// Pageable bytes are taken at once (the driver's own buffer); what goes to pageable memory has
// arrived when the call returns. Both make an asynchronous copy wait.
Error copy(simtStream& stream, void* dst, const void* src, size_t bytes, simtMemcpyKind kind) {
  const bool paged_src = is_pageable(src, bytes, from_device(kind));
  const bool paged_dst = is_pageable(dst, bytes, to_device(kind));
  std::shared_ptr<std::vector<uint8_t>> staged;
  if (paged_src && stream.capture == nullptr) {
    const auto* first = static_cast<const uint8_t*>(src);
    staged = std::make_shared<std::vector<uint8_t>>(first, first + bytes);
  }
  const Error error =
      submit(stream, "copy", copy_work(address_of(dst), address_of(src), bytes, std::move(staged)));
  if (error != simtSuccess || stream.capture != nullptr) return error;
  if (paged_src || paged_dst) ++state().stats.waits;
  return paged_dst ? synchronise(stream) : simtSuccess;
}

}  // namespace
}  // namespace simt

using namespace simt;

simtError_t simtMemcpy(void* dst, const void* src, size_t bytes, simtMemcpyKind kind) {
  return call(unsafe | waits, [&] {
    if (bytes == 0) return simtSuccess;
    if (!is_copy(dst, src, bytes, kind)) return simtErrorInvalidValue;
    simtStream& stream = *default_stream(current_device());
    const Error error = copy(stream, dst, src, bytes, kind);
    const bool inside = kind == simtMemcpyDeviceToDevice;
    const bool staged = is_pageable(src, bytes, from_device(kind));
    return error == simtSuccess && !inside && !staged ? synchronise(stream) : error;
  });
}

simtError_t simtMemcpyAsync(void* dst, const void* src, size_t bytes, simtMemcpyKind kind,
                            simtStream_t handle) {
  return call(plain, [&] {
    Error error = simtSuccess;
    simtStream* stream = find_stream(handle, error);
    if (stream == nullptr || bytes == 0) return error;
    if (!is_copy(dst, src, bytes, kind)) return simtErrorInvalidValue;
    return copy(*stream, dst, src, bytes, kind);
  });
}

// Rows, one after the other: all of them are checked before the first moves.
simtError_t simtMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch,
                              size_t width, size_t height, simtMemcpyKind kind,
                              simtStream_t handle) {
  return call(plain, [&] {
    Error error = simtSuccess;
    simtStream* stream = find_stream(handle, error);
    if (stream == nullptr || width == 0 || height == 0) return error;
    if (dst_pitch < width || src_pitch < width) return simtErrorInvalidValue;
    auto* to = static_cast<char*>(dst);
    const auto* from = static_cast<const char*>(src);
    for (size_t i = 0; i < height; ++i)
      if (!is_copy(to + i * dst_pitch, from + i * src_pitch, width, kind))
        return simtErrorInvalidValue;
    Error moved = simtSuccess;
    for (size_t i = 0; i < height && moved == simtSuccess; ++i)
      moved = copy(*stream, to + i * dst_pitch, from + i * src_pitch, width, kind);
    return moved;
  });
}

simtError_t simtMemcpyPeer(void* dst, int dst_device, const void* src, int src_device,
                           size_t bytes) {
  return call(unsafe | waits, [&] {
    if (dst_device < 0 || dst_device >= state().device_count || src_device < 0 ||
        src_device >= state().device_count)
      return simtErrorInvalidDevice;
    if (bytes == 0) return simtSuccess;
    if (!is_copy(dst, src, bytes, simtMemcpyDeviceToDevice) ||
        device_of(address_of(dst)) != dst_device || device_of(address_of(src)) != src_device)
      return simtErrorInvalidValue;
    return submit(*default_stream(current_device()), "peer copy",
                  copy_work(address_of(dst), address_of(src), bytes, nullptr));
  });
}

simtError_t simtMemset(void* p, int value, size_t bytes) {
  return call(unsafe | waits, [&] {
    if (bytes == 0) return simtSuccess;
    if (!is_side(p, bytes, true)) return simtErrorInvalidValue;
    return submit(*default_stream(current_device()), "memset",
                  set_work(address_of(p), value, bytes));
  });
}

simtError_t simtMemsetAsync(void* p, int value, size_t bytes, simtStream_t handle) {
  return call(plain, [&] {
    Error error = simtSuccess;
    simtStream* stream = find_stream(handle, error);
    if (stream == nullptr || bytes == 0) return error;
    if (!is_side(p, bytes, true)) return simtErrorInvalidValue;
    return submit(*stream, "memset", set_work(address_of(p), value, bytes));
  });
}
