// oneDNN 3 as a provider of f32 products, by the one function of it that keeps no state.
#include "backends/cpu/gemm/library/library.h"
#include "backends/cpu/machine/isa.h"
#include "backends/cpu/runtime/shared_object.h"

namespace infini::cpu {
namespace {

// Of dnnl_types.h and dnnl_config.h, version 3.
enum { success = 0, avx512_core = 0x27, sequential_runtime = 1, openmp_runtime = 2 };
struct Version {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

using Sgemm = int(char, char, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*,
                  int64_t, float, float*, int64_t);
Sgemm* sgemm = nullptr;  // set by examine()

bool compute(const LibraryCall<float>& x) {
  return sgemm(x.a_form.columns_first ? 'T' : 'N', x.b_form.columns_first ? 'T' : 'N', x.m, x.n,
               x.k, x.alpha, x.a, x.a_form.leading, x.b, x.b_form.leading, x.beta, x.c,
               x.c_form.leading) == success;
}

std::string examine(void* library, bool hide_amx, std::string& about, OpenMp& runtime) {
  const Version* (*version)() = nullptr;
  int (*set_max_cpu_isa)(int) = nullptr;
  if (library == nullptr) return "oneDNN cannot be opened, or this build knows of none";
  if (!find_symbol(library, "dnnl_version", version) || version()->major < 3)
    return "oneDNN is older than version 3";
  if (!find_symbol(library, "dnnl_sgemm", sgemm) ||
      !find_symbol(library, "dnnl_set_max_cpu_isa", set_max_cpu_isa))
    return "oneDNN lacks a function";
  about = "oneDNN " + std::to_string(version()->major) + "." + std::to_string(version()->minor);
  if (version()->cpu_runtime != sequential_runtime &&
      (version()->cpu_runtime != openmp_runtime || !find_openmp(library, runtime)))
    return "oneDNN has threads of its own, or it is unclear which OpenMP it uses";
  // It would divide by what that leaf does not say; f32 has no use for AMX.
  if (hide_amx && set_max_cpu_isa(avx512_core) != success)
    return "oneDNN cannot be kept from AMX, which this processor announces and does not describe";
  return "";
}

}  // namespace

GemmLibrary onednn_from(void* library, bool hide_amx) {
  GemmLibrary result{.f32 = compute};
  result.why_not = examine(library, hide_amx, result.about, result.openmp);
  return result;
}

const GemmLibrary& onednn() {
  static const GemmLibrary library =
      onednn_from(open_shared_object(ONEDNN_PATH), announces_amx_without_tiles());
  return library;
}

}  // namespace infini::cpu
