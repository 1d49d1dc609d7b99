// Gemm by other people's libraries (docs/decisions/0010): what each of them offers here. They are
// opened by the path that the build found, on first use, and never linked.
#pragma once

#include <cstdint>
#include <string>

#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/gemm/library/openmp.h"
#include "plan/gemm/gemm_operand.h"

namespace infini::cpu {

// One block of C = alpha·A·B + beta·C; C's rows are contiguous.
template <class T>
struct LibraryCall {
  int64_t m, n, k;
  const T *a, *b;
  T* c;
  BlasMatrix a_form, b_form, c_form;
  T alpha, beta;
};

struct GemmLibrary {
  std::string about;    // name, version and the processor that it takes this one for
  std::string why_not;  // empty: it can be used
  OpenMp openmp;        // by which it is kept to the calling thread, where it uses any
  // Computed by the calling thread alone, where it is kept to it; false: it failed. Null: it has no
  // such product.
  bool (*f32)(const LibraryCall<float>&) = nullptr;
  bool (*f64)(const LibraryCall<double>&) = nullptr;
};

// Each is opened and examined once, when it is first asked for.
const GemmLibrary& openblas();
const GemmLibrary& onednn();

// What onednn() makes of an opened library, or of null. hide_amx: it has to be kept from AMX, and is told so
// before it computes anything. There is one at a time in a process.
GemmLibrary onednn_from(void* library, bool hide_amx);

}  // namespace infini::cpu
