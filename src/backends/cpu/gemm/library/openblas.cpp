// OpenBLAS as a provider of f32 and f64 products, by CBLAS.
#include <strings.h>
#include <algorithm>

#include "backends/cpu/gemm/library/library.h"
#include "backends/cpu/machine/isa.h"
#include "backends/cpu/runtime/shared_object.h"

namespace infini::cpu {
namespace {

enum { row_major = 101, no_transpose = 111, transpose = 112 };  // of cblas.h
enum { serial = 0, own_threads = 1, openmp = 2 };               // openblas_get_parallel()

template <class T>
using Gemm = void(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);

template <class T>
Gemm<T>* gemm = nullptr;  // set once, by examine()

template <class T>
bool compute(const LibraryCall<T>& x) {
  gemm<T>(row_major, x.a_form.columns_first ? transpose : no_transpose,
          x.b_form.columns_first ? transpose : no_transpose, static_cast<int>(x.m),
          static_cast<int>(x.n), static_cast<int>(x.k), x.alpha, x.a,
          static_cast<int>(x.a_form.leading), x.b, static_cast<int>(x.b_form.leading), x.beta, x.c,
          static_cast<int>(x.c_form.leading));
  return true;
}

// What OpenBLAS calls the processors whose kernels use all that this one offers; the first is what it
// is told to use, since version 0.3.21 takes virtual processors for some of the last century.
struct Cores {
  Isa isa;
  const char* names[4];
};
constexpr Cores known_cores[] = {
    {Isa::avx512, {"SkylakeX", "Cooperlake", "SapphireRapids", "Zen5"}},
    {Isa::avx2, {"Haswell", "Zen", "Excavator", "SkylakeX"}},
};

const Cores* cores_here() {
  for (const Cores& cores : known_cores)
    if (offers(cores.isa)) return &cores;
  return nullptr;  // other processors are left to its own judgement
}

std::string examine(void* library, std::string& about, OpenMp& runtime) {
  char* (*config)() = nullptr;
  char* (*corename)() = nullptr;
  int (*parallel)() = nullptr;
  int (*threads)() = nullptr;
  if (library == nullptr) return "OpenBLAS cannot be opened, or this build knows of none";
  if (!find_symbol(library, "openblas_get_config", config) ||
      !find_symbol(library, "openblas_get_corename", corename) ||
      !find_symbol(library, "openblas_get_parallel", parallel) ||
      !find_symbol(library, "openblas_get_num_threads", threads) ||
      !find_symbol(library, "cblas_sgemm", gemm<float>) ||
      !find_symbol(library, "cblas_dgemm", gemm<double>))
    return "OpenBLAS lacks a function";
  const std::string text = config();  // "OpenBLAS 0.3.21 NO_LAPACKE ..."
  if (text.find("USE64BITINT") != std::string::npos)
    return "OpenBLAS was built for 64-bit integers";
  about = text.substr(0, text.find(' ', text.find(' ') + 1)) + " " + corename();
  if (const Cores* cores = cores_here()) {
    const auto same = [&](const char* name) { return strcasecmp(name, corename()) == 0; };
    if (std::none_of(std::begin(cores->names), std::end(cores->names), same))
      return "OpenBLAS computes by the kernels for " + std::string(corename());
  }
  // Without threads it is built without locks, too: two callers get one buffer, and wrong numbers.
  if (parallel() == serial) return "OpenBLAS without threads can serve one caller at a time only";
  // The number of its own threads is one for the whole process, and the host's to decide.
  if (parallel() == own_threads && threads() != 1) return "OpenBLAS has threads of its own";
  if (parallel() == openmp && !find_openmp(library, runtime))
    return "OpenBLAS cannot be kept to the thread that calls it: which OpenMP it uses is unclear";
  return "";
}

GemmLibrary load() {
  GemmLibrary result{.f32 = compute<float>, .f64 = compute<double>};
  const Cores* cores = cores_here();
  void* library = cores ? open_shared_object(OPENBLAS_PATH, "OPENBLAS_CORETYPE", cores->names[0])
                        : open_shared_object(OPENBLAS_PATH);
  result.why_not = examine(library, result.about, result.openmp);
  return result;
}

}  // namespace

const GemmLibrary& openblas() {
  static const GemmLibrary library = load();
  return library;
}

}  // namespace infini::cpu
