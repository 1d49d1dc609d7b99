// The compiler's memory-access hooks. Kernels are compiled with -fsanitize=thread,alignment, which
// inserts calls of these functions; no sanitizer's runtime is linked. Under a real sanitizer there
// are none.
#ifndef SIMT_EMU_NO_HOOKS
#include <cstring>

#include "kernel.h"

using namespace simt;

extern "C" {
#define SIMT_EMU_HOOK(size)                                                               \
  SIMT_EXPORT void __tsan_read##size(void* p) { check_access(p, size, false); }           \
  SIMT_EXPORT void __tsan_write##size(void* p) { check_access(p, size, true); }           \
  SIMT_EXPORT void __tsan_unaligned_read##size(void* p) { check_access(p, size, false); } \
  SIMT_EXPORT void __tsan_unaligned_write##size(void* p) { check_access(p, size, true); }
SIMT_EMU_HOOK(1)
SIMT_EMU_HOOK(2)
SIMT_EMU_HOOK(4)
SIMT_EMU_HOOK(8)
SIMT_EMU_HOOK(16)
#undef SIMT_EMU_HOOK
SIMT_EXPORT void __tsan_read_range(void* p, size_t size) { check_access(p, size, false); }
SIMT_EXPORT void __tsan_write_range(void* p, size_t size) { check_access(p, size, true); }
SIMT_EXPORT void __tsan_vptr_read(void*) {}
SIMT_EXPORT void __tsan_vptr_update(void*, void*) {}
SIMT_EXPORT void __tsan_init() {}
SIMT_EXPORT void __tsan_func_entry(void*) {}
SIMT_EXPORT void __tsan_func_exit() {}
SIMT_EXPORT void* __tsan_memcpy(void* dst, const void* src, size_t size) {
  check_access(src, size, false);
  check_access(dst, size, true);
  return std::memcpy(dst, src, size);
}
SIMT_EXPORT void* __tsan_memset(void* dst, int value, size_t size) {
  check_access(dst, size, true);
  return std::memset(dst, value, size);
}

// Atomic operations are those of host code that stands beside the kernels.
SIMT_EXPORT int32_t __tsan_atomic32_load(const volatile int32_t* p, int) {
  return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
SIMT_EXPORT int32_t __tsan_atomic32_fetch_add(volatile int32_t* p, int32_t value, int) {
  return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);
}
SIMT_EXPORT int8_t __tsan_atomic8_load(const volatile int8_t* p, int) {
  return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

// Of -fsanitize=alignment: where it is, the type and the logarithm of its alignment.
struct SimtTypeMismatch {
  const void* place[2];
  const void* type;
  unsigned char log_alignment, kind;
};
SIMT_EXPORT void __ubsan_handle_type_mismatch_v1(SimtTypeMismatch* data, uintptr_t p) {
  check_aligned(reinterpret_cast<void*>(p), size_t{1} << data->log_alignment);
}
}
#endif
