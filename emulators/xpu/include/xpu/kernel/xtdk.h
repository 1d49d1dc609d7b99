// The kernel dialect for the host's compiler: qualifiers become nothing or a place, DMA and fences
// become calls of the emulator. Spaces, which the vendor's compiler checks, are checked when it
// runs.
#pragma once
#include <stdint.h>

#include <type_traits>
#include <utility>

#include "xpu/runtime.h"

#define XPU_EMULATOR 1

#define __global__
#define __device__
#define __local__
#define __simd__ alignas(64)
#define __global_ptr__
#define _global_ptr_
#define __shared_ptr__
#define _shared_ptr_
#define __shared__ static __attribute__((section("xpu_sm"), aligned(64)))

XPU_DLL_EXPORT int core_id();
XPU_DLL_EXPORT int core_num();
XPU_DLL_EXPORT int cluster_id();
XPU_DLL_EXPORT int cluster_num();

// Source, destination, bytes. The plain form is complete on return; _ASYNC only after its fence.
XPU_DLL_EXPORT void GM2LM(const void* src, void* dst, int size);
XPU_DLL_EXPORT void GM2LM_ASYNC(const void* src, void* dst, int size);
XPU_DLL_EXPORT void LM2GM(const void* src, void* dst, int size);
XPU_DLL_EXPORT void LM2GM_ASYNC(const void* src, void* dst, int size);
XPU_DLL_EXPORT void GM2SM(const void* src, void* dst, int size);
XPU_DLL_EXPORT void GM2SM_ASYNC(const void* src, void* dst, int size);
XPU_DLL_EXPORT void SM2GM(const void* src, void* dst, int size);
XPU_DLL_EXPORT void SM2GM_ASYNC(const void* src, void* dst, int size);

XPU_DLL_EXPORT void mfence();
XPU_DLL_EXPORT void mfence_lm();
XPU_DLL_EXPORT void mfence_sm();
XPU_DLL_EXPORT void mfence_gm();
XPU_DLL_EXPORT void mfence_lm_sm();
XPU_DLL_EXPORT void mfence_lm_gm();
XPU_DLL_EXPORT void mfence_sm_gm();
XPU_DLL_EXPORT void sync_cluster();
XPU_DLL_EXPORT void sync_all();

template <typename T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}
template <typename T>
constexpr T roundup_div(T a, T b) {
  return (a + b - 1) / b;
}

// ---- Launching: what the vendor's compiler makes of kernel<<<clusters, cores, stream>>>(...) ----

// Where this binary's __shared__ variables lie; both absent when it has none.
extern char __start_xpu_sm[] __attribute__((weak, visibility("hidden")));
extern char __stop_xpu_sm[] __attribute__((weak, visibility("hidden")));
XPU_DLL_EXPORT void xpu_emu_bind_shared(void* begin, void* end);

namespace xpu_emu {

// On the device long, size_t and pointers inside a struct have other widths and padding is not
// defined, so an argument is a pointer to global memory, a fixed-width scalar, or a struct with no
// padding. (That an int64_t was not written as long, no compiler of the host can tell.)
template <typename T>
constexpr bool may_be_argument = std::is_trivially_copyable_v<T> &&
                                 (std::is_pointer_v<T> || std::is_floating_point_v<T> ||
                                  std::has_unique_object_representations_v<T>);

// Where each argument lies: 8-byte ones on multiples of 8, the others on multiples of 4.
template <typename... Args>
struct Offsets {
  size_t at[sizeof...(Args) + 1] = {};
  constexpr Offsets() {
    const size_t sizes[] = {sizeof(Args)..., 0};
    size_t end = 0;
    for (size_t i = 0; i < sizeof...(Args); ++i) {
      const size_t unit = sizes[i] % 8 == 0 ? 8 : 4;
      at[i] = (end + unit - 1) / unit * unit;
      end = at[i] + (sizes[i] + 3) / 4 * 4;
    }
  }
};

template <typename T>
T fetch(const void* arguments, size_t offset) {
  T value;
  __builtin_memcpy(&value, static_cast<const char*>(arguments) + offset, sizeof(T));
  return value;
}

template <auto kernel, typename... Args, size_t... index>
void enter(const void* arguments, std::index_sequence<index...>) {
  constexpr Offsets<Args...> offsets;
  (void)offsets;
  (void)arguments;
  xpu_emu_bind_shared(__start_xpu_sm, __stop_xpu_sm);
  kernel(fetch<Args>(arguments, offsets.at[index])...);
}

template <auto kernel, typename... Args>
void entry(const void* arguments) {
  enter<kernel, Args...>(arguments, std::index_sequence_for<Args...>{});
}

template <auto kernel, typename... Args>
int launch(int clusters, int cores, XPUStream stream, Args... args) {
  static_assert((may_be_argument<Args> && ...), "kernel arguments must have fixed widths");
  if (int code = xpu_launch_config(clusters, cores, stream)) return code;
  constexpr Offsets<Args...> offsets;
  size_t i = 0;
  int code = 0;
  ((code = code ? code : xpu_launch_argument_set(&args, sizeof args, offsets.at[i]), ++i), ...);
  if (code) return code;
  return xpu_launch_async(reinterpret_cast<XPUFunc>(&entry<kernel, Args...>));
}
}  // namespace xpu_emu
