// cuBLASLt, opened at run time: rearrange works on machines that do not have it.
#pragma once

#include <cublasLt.h>

#include <string>

namespace infini::nvidia {

// The functions that gemm uses, with cublasLt.h's own signatures.
struct Lt {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulDescCreate) desc_create;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set;
  decltype(&cublasLtMatrixLayoutCreate) layout_create;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtGetStatusString) status_string;
};

// Null when the library or one of the functions is missing; `why` then says so.
const Lt* load_lt(std::string& why);

// The handle of a device, made on first use and kept for the life of the process: handles are
// shareable between threads and expensive. The device must be current.
cublasLtHandle_t lt_handle(const Lt& lt, int device);

// Throws with cuBLASLt's words.
void check_lt(const Lt& lt, cublasStatus_t status, const char* what);

// What describes one matmul, column-major: D(n×m) = op(B)·op(A).
struct Layouts {
  const Lt* lt;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  explicit Layouts(const Lt& table) : lt(&table) {}
  Layouts(const Layouts&) = delete;
  Layouts& operator=(const Layouts&) = delete;
  ~Layouts() {
    if (desc) lt->desc_destroy(desc);
    for (auto layout : {a, b, c})
      if (layout) lt->layout_destroy(layout);
  }
};

}  // namespace infini::nvidia
