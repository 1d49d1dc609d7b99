// Other people's gemm beside ours on the CPU: libraries that are opened at run time where they are
// installed (LD_LIBRARY_PATH finds others), never linked.
#pragma once

#include <memory>
#include <vector>

#include "harness/gemm/gemm_problem.h"

namespace infini::bench {

// One problem, prepared for one library.
class GemmPeer {
 public:
  virtual ~GemmPeer() = default;
  virtual const char* name() const = 0;
  virtual void run(void* c, const void* a, const void* b) = 0;
};

// Every library that is here and takes this problem; they use our number of threads. OpenBLAS, BLIS
// and MKL multiply f32 and f64, oneDNN f32, f16 and bf16.
std::vector<std::unique_ptr<GemmPeer>> gemm_peers(const harness::GemmProblem& problem);

// Null where the library is missing or declines.
std::unique_ptr<GemmPeer> onednn_peer(const harness::GemmProblem& problem);

}  // namespace infini::bench
