// Copies and fills: blocking ones happen at once and wait for nothing; those on a stream happen
// when the stream runs.
#include <cstring>

#include "state.h"

namespace cann_emulator {
namespace {

constexpr size_t width_limit = 5'000'000, height_limit = 5'242'880;

// One copy of `height` rows; a flat copy has one row.
struct Transfer {
  void* dst;
  size_t dst_pitch;
  const void* src;
  size_t src_pitch;
  size_t width, height;

  size_t dst_span() const { return width && height ? (height - 1) * dst_pitch + width : 0; }
  size_t src_span() const { return width && height ? (height - 1) * src_pitch + width : 0; }
};

unsigned char* host_pointer(State& s, const void* p, size_t span, int device) {
  if (place_of(s, p) == Place::device) return device_bytes(s, address_of(p), span, device);
  return static_cast<unsigned char*>(const_cast<void*>(p));
}

void perform(State& s, const Transfer& t, int device) {
  unsigned char* dst = host_pointer(s, t.dst, t.dst_span(), device);
  const unsigned char* src = host_pointer(s, t.src, t.src_span(), device);
  if (!dst || !src) return;  // the memory went away: free_in_flight has been recorded
  for (size_t row = 0; row < t.height; ++row)
    std::memmove(dst + row * t.dst_pitch, src + row * t.src_pitch, t.width);
}

int check_side(Call& call, const void* p, size_t span, bool device_side, int device,
               const char* side) {
  Place place = place_of(call.s, p);
  if ((place == Place::device) != device_side)
    return call.broken(Rule::pointer_class, ACL_ERROR_RT_PARAM_INVALID, side,
                       place == Place::device ? " is device" : " is host",
                       " memory, the kind says otherwise");
  if (device_side && !device_bytes(call.s, address_of(p), span, device))
    return call.broken(Rule::out_of_bounds, ACL_ERROR_RT_PARAM_INVALID, side, " has no ", span,
                       " live bytes on device ", device);
  return 0;
}

int check(Call& call, const Transfer& t, aclrtMemcpyKind kind, int device) {
  if (!t.dst || !t.src) return call.refused(ACL_ERROR_INVALID_PARAM, "dst or src is NULL");
  if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_DEFAULT)
    return call.refused(ACL_ERROR_INVALID_PARAM, "unknown kind ", static_cast<int>(kind));
  bool dst_device = kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  bool src_device = kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  if (kind == ACL_MEMCPY_DEFAULT) {
    dst_device = place_of(call.s, t.dst) == Place::device;
    src_device = place_of(call.s, t.src) == Place::device;
  }
  if (int code = check_side(call, t.dst, t.dst_span(), dst_device, device, "dst")) return code;
  return check_side(call, t.src, t.src_span(), src_device, device, "src");
}

int check_capacity(Call& call, const void* dst, size_t dest_max, size_t count) {
  if (count > dest_max)
    return call.broken(Rule::capacity, ACL_ERROR_RT_PARAM_INVALID, "count ", count,
                       " exceeds destMax ", dest_max);
  uint64_t base = 0;
  Block* block = find_block(call.s, address_of(dst), &base);
  if (block && dest_max > block->size - (address_of(dst) - base))
    return call.broken(Rule::capacity, ACL_ERROR_RT_PARAM_INVALID, "destMax ", dest_max,
                       " exceeds the allocation");
  return 0;
}

int check_rows(Call& call, const Transfer& t) {
  if (t.width == 0 || t.height == 0)
    return call.refused(ACL_ERROR_INVALID_PARAM, "width or height is 0");
  if (t.width > t.dst_pitch || t.width > t.src_pitch)
    return call.broken(Rule::capacity, ACL_ERROR_RT_PARAM_INVALID, "width ", t.width,
                       " exceeds a pitch");
  if (t.width > width_limit || t.height > height_limit)
    return call.broken(Rule::capacity, ACL_ERROR_RT_PARAM_INVALID, t.width, " x ", t.height,
                       " exceeds the limits of a 2-D copy");
  return 0;
}

int copy_now(Call& call, const Transfer& t, aclrtMemcpyKind kind, uint64_t& counter) {
  int device = current_device();
  if (int code = check(call, t, kind, device)) return code;
  uint64_t dst = address_of(t.dst), src = address_of(t.src);
  if (in_flight(call.s, dst, dst + t.dst_span(), true) ||
      in_flight(call.s, src, src + t.src_span(), false))
    call.broken(Rule::unsynchronised, 0,
                "queued work still uses the memory; the copy does not wait for it");
  if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
  ++counter;
  perform(call.s, t, device);
  return ACL_SUCCESS;
}

int copy_later(Call& call, const Transfer& t, aclrtMemcpyKind kind, aclrtStream handle,
               uint64_t& counter) {
  int code = 0;
  Stream* stream = find_stream(call, handle, code);
  if (!stream) return code;
  Place dst_place = place_of(call.s, t.dst), src_place = place_of(call.s, t.src);
  if (dst_place != Place::device && src_place != Place::device)
    return call.refused(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "host to host on a stream");
  if ((code = check(call, t, kind, stream->device))) return code;
  if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
  ++counter;
  const bool flat = t.height == 1;
  int device = stream->device;
  uint64_t dst = address_of(t.dst), src = address_of(t.src);
  enqueue(call, *stream,
          {{{dst, dst + t.dst_span(), true, flat}, {src, src + t.src_span(), false, flat}},
           [t, device] { perform(state(), t, device); }});
  if (dst_place == Place::pageable || src_place == Place::pageable) run_all(call.s, *stream);
  return ACL_SUCCESS;
}

int fill(Call& call, void* p, size_t max, int32_t value, size_t count, aclrtStream handle,
         bool later) {
  int code = 0;
  Stream* stream = find_stream(call, handle, code);
  if (!stream) return code;
  if (!p) return call.refused(ACL_ERROR_INVALID_PARAM, "devPtr is NULL");
  if ((code = check_capacity(call, p, max, count))) return code;
  int device = stream->device;
  Place place = place_of(call.s, p);
  if (place == Place::pageable)
    return call.broken(Rule::pointer_class, ACL_ERROR_RT_PARAM_INVALID,
                       "memory that is neither device nor pinned");
  if (place == Place::device && !device_bytes(call.s, address_of(p), count, device))
    return call.broken(Rule::out_of_bounds, ACL_ERROR_RT_PARAM_INVALID, "no ", count,
                       " live bytes on device ", device);
  uint64_t begin = address_of(p);
  if (!later && in_flight(call.s, begin, begin + count, true))
    call.broken(Rule::unsynchronised, 0,
                "queued work still uses the memory; the fill does not wait for it");
  if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
  ++call.s.counters.memsets;
  auto work = [p, value, count, device] {
    if (unsigned char* bytes = host_pointer(state(), p, count, device))
      std::memset(bytes, value, count);
  };
  if (!later) return work(), ACL_SUCCESS;
  enqueue(call, *stream, {{{begin, begin + count, true, true}}, work});
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace cann_emulator

using namespace cann_emulator;

extern "C" {

aclError aclrtMemcpy(void* dst, size_t dest_max, const void* src, size_t count,
                     aclrtMemcpyKind kind) {
  return answer("aclrtMemcpy", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (int code = call.require_context()) return code;
    if (int code = check_capacity(call, dst, dest_max, count)) return code;
    return copy_now(call, {dst, count, src, count, count, 1}, kind, call.s.counters.copies);
  });
}

aclError aclrtMemcpyAsync(void* dst, size_t dest_max, const void* src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream) {
  return answer("aclrtMemcpyAsync", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (int code = call.require_context()) return code;
    if (int code = check_capacity(call, dst, dest_max, count)) return code;
    return copy_later(call, {dst, count, src, count, count, 1}, kind, stream,
                      call.s.counters.copies);
  });
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                       size_t height, aclrtMemcpyKind kind) {
  return answer("aclrtMemcpy2d", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (int code = call.require_context()) return code;
    Transfer t{dst, dpitch, src, spitch, width, height};
    if (int code = check_rows(call, t)) return code;
    return copy_now(call, t, kind, call.s.counters.copies_2d);
  });
}

aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                            size_t height, aclrtMemcpyKind kind, aclrtStream stream) {
  return answer("aclrtMemcpy2dAsync", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (int code = call.require_context()) return code;
    Transfer t{dst, dpitch, src, spitch, width, height};
    if (int code = check_rows(call, t)) return code;
    return copy_later(call, t, kind, stream, call.s.counters.copies_2d);
  });
}

aclError aclrtMemset(void* p, size_t max_count, int32_t value, size_t count) {
  return answer("aclrtMemset", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    return fill(call, p, max_count, value, count, nullptr, false);
  });
}

aclError aclrtMemsetAsync(void* p, size_t max_count, int32_t value, size_t count,
                          aclrtStream stream) {
  return answer("aclrtMemsetAsync", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    return fill(call, p, max_count, value, count, stream, true);
  });
}

}  // extern "C"
