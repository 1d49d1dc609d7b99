// oneDNN 3 as a peer: its matmul primitive through the C interface.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

#include "backends/cpu/machine/isa.h"
#include "bench/measure.h"
#include "bench/peers/gemm_peer.h"

namespace infini::bench {
namespace {

// Of dnnl_types.h, version 3.
using Object = void*;
struct Argument {
  int role;
  Object memory;
};
enum {
  success = 0,
  cpu_engine = 1,
  default_stream = 1,
  source = 1,
  weights = 33,
  destination = 17
};

struct Library {
  int (*engine_create)(Object*, int, size_t) = nullptr;
  int (*stream_create)(Object*, Object, unsigned) = nullptr;
  int (*stream_wait)(Object) = nullptr;
  int (*desc_create)(Object*, int, const int64_t*, int, const int64_t*) = nullptr;
  int (*memory_create)(Object*, Object, Object, void*) = nullptr;
  int (*memory_set)(Object, void*) = nullptr;
  int (*matmul_desc)(Object*, Object, Object, Object, Object, Object, Object) = nullptr;
  int (*primitive_create)(Object*, Object) = nullptr;
  int (*execute)(Object, Object, int, const Argument*) = nullptr;
  void (*set_threads)(int) = nullptr;  // of the OpenMP that it uses; null if it uses none
  Object engine = nullptr, stream = nullptr;
  bool ready = false;
};

Library open_library() {
  // oneDNN divides by what it reads in the leaf that is missing.
  if (cpu::announces_amx_without_tiles()) setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16", 0);
  Library library;
  void* handle = dlopen("libdnnl.so.3", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return library;
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    complete = complete && function != nullptr;
  };
  find(library.engine_create, "dnnl_engine_create");
  find(library.stream_create, "dnnl_stream_create");
  find(library.stream_wait, "dnnl_stream_wait");
  find(library.desc_create, "dnnl_memory_desc_create_with_strides");
  find(library.memory_create, "dnnl_memory_create");
  find(library.memory_set, "dnnl_memory_set_data_handle");
  find(library.matmul_desc, "dnnl_matmul_primitive_desc_create");
  find(library.primitive_create, "dnnl_primitive_create");
  find(library.execute, "dnnl_primitive_execute");
  library.set_threads = reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
  library.ready = complete && library.engine_create(&library.engine, cpu_engine, 0) == success &&
                  library.stream_create(&library.stream, library.engine, default_stream) == success;
  return library;
}

const Library& onednn() {
  static const Library library = open_library();
  return library;
}

int type_of(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16    ? 1
         : dtype == INFINI_DTYPE_BF16 ? 2
         : dtype == INFINI_DTYPE_F32  ? 3
                                      : 0;
}

// What it creates lives as long as the process.
class OneDnnPeer final : public GemmPeer {
 public:
  explicit OneDnnPeer(const harness::GemmProblem& problem) {
    if (library_.set_threads != nullptr) library_.set_threads(threads_in_use());
    Object c = nullptr, a = nullptr, b = nullptr, desc = nullptr;
    usable_ = describe(problem.c, c, c_) && describe(problem.a, a, a_) &&
              describe(problem.b, b, b_) &&
              library_.matmul_desc(&desc, library_.engine, a, b, nullptr, c, nullptr) == success &&
              library_.primitive_create(&primitive_, desc) == success;
  }
  bool usable() const { return usable_; }
  const char* name() const override { return "oneDNN"; }
  void run(void* c, const void* a, const void* b) override {
    library_.memory_set(c_, c);
    library_.memory_set(a_, const_cast<void*>(a));
    library_.memory_set(b_, const_cast<void*>(b));
    const Argument arguments[] = {{source, a_}, {weights, b_}, {destination, c_}};
    library_.execute(primitive_, library_.stream, 3, arguments);
    library_.stream_wait(library_.stream);
  }

 private:
  bool describe(const Layout& x, Object& desc, Object& memory) {
    return library_.desc_create(&desc, x.rank, x.shape, type_of(x.dtype), x.strides) == success &&
           library_.memory_create(&memory, desc, library_.engine, nullptr) == success;
  }

  const Library& library_ = onednn();
  Object c_ = nullptr, a_ = nullptr, b_ = nullptr, primitive_ = nullptr;
  bool usable_ = false;
};

}  // namespace

std::unique_ptr<GemmPeer> onednn_peer(const harness::GemmProblem& problem) {
  const bool plain = problem.alpha == 1 && problem.beta == 0;
  if (!plain || type_of(problem.a.dtype) == 0 || !onednn().ready) return nullptr;
  auto peer = std::make_unique<OneDnnPeer>(problem);
  return peer->usable() ? std::move(peer) : nullptr;
}

}  // namespace infini::bench
