// Opening cuBLASLt and keeping one handle per device.
#include "backends/nvidia/gemm/lt/cublaslt.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "base/error.h"

namespace infini::nvidia {
namespace {

// The version that the header belongs to first. The plain name needs a development package.
constexpr const char* names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                                 "/usr/local/cuda/lib64/libcublasLt.so"};

void* open_library() {
  for (const char* name : names)
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

struct Loaded {
  Lt lt{};
  std::string why;

  Loaded() {
    void* library = open_library();
    if (library == nullptr) {
      why = std::string("cuBLASLt is not installed: ") + dlerror();
      return;
    }
    take(library, lt.create, "cublasLtCreate");
    take(library, lt.matmul, "cublasLtMatmul");
    take(library, lt.desc_create, "cublasLtMatmulDescCreate");
    take(library, lt.desc_destroy, "cublasLtMatmulDescDestroy");
    take(library, lt.desc_set, "cublasLtMatmulDescSetAttribute");
    take(library, lt.layout_create, "cublasLtMatrixLayoutCreate");
    take(library, lt.layout_destroy, "cublasLtMatrixLayoutDestroy");
    take(library, lt.layout_set, "cublasLtMatrixLayoutSetAttribute");
    take(library, lt.preference_create, "cublasLtMatmulPreferenceCreate");
    take(library, lt.preference_destroy, "cublasLtMatmulPreferenceDestroy");
    take(library, lt.preference_set, "cublasLtMatmulPreferenceSetAttribute");
    take(library, lt.heuristic, "cublasLtMatmulAlgoGetHeuristic");
    take(library, lt.status_string, "cublasLtGetStatusString");
  }

  template <class Function>
  void take(void* library, Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr && why.empty()) why = std::string("cuBLASLt lacks ") + name;
  }
};

}  // namespace

const Lt* load_lt(std::string& why) {
  static const auto* const loaded = new Loaded;
  why = loaded->why;
  return why.empty() ? &loaded->lt : nullptr;
}

cublasLtHandle_t lt_handle(const Lt& lt, int device) {
  static auto* const mutex = new std::mutex;
  static auto* const handles = new std::map<int, cublasLtHandle_t>;
  const std::lock_guard lock(*mutex);
  cublasLtHandle_t& handle = (*handles)[device];
  if (handle == nullptr) check_lt(lt, lt.create(&handle), "cannot create a cuBLASLt handle");
  return handle;
}

void check_lt(const Lt& lt, cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  const auto ours = status == CUBLAS_STATUS_NOT_SUPPORTED  ? INFINI_STATUS_NOT_IMPLEMENTED
                    : status == CUBLAS_STATUS_ALLOC_FAILED ? INFINI_STATUS_OUT_OF_MEMORY
                                                           : INFINI_STATUS_INTERNAL_ERROR;
  fail(ours, what, ": cuBLASLt says ", lt.status_string(status));
}

}  // namespace infini::nvidia
