// Panel kernels in plain C++, and the choice among the levels.
#include <cstring>

#include "backends/cpu/rearrange/panels/kernels.h"

namespace infini::cpu {
namespace {

// No vectors at all: the reference among the kernels, and the fallback of any machine.
template <int word>
void run_panel_plain(const Panel& p) {
  for (int64_t c = 0; c < p.columns; ++c) {
    char* dst = p.dst + p.column(c);
    const char* src = p.src + c * word;
    for (int r = 0; r < p.rows; ++r) std::memcpy(dst + r * word, src + p.row(r), word);
  }
}

void run_atoms_plain(const Panel& p) {
  for (int64_t c = 0; c < p.columns; ++c)
    for (int r = 0; r < p.rows; ++r)
      std::memcpy(p.dst + p.column(c) + r * p.atom, p.src + c * p.atom + p.row(r),
                  static_cast<size_t>(p.atom));
}

template <int word>
PanelKernels plain() {
  return {run_panel_plain<word>, run_panel_plain<word>, nullptr, nullptr, nullptr, nullptr};
}

}  // namespace

PanelKernels panel_kernels_portable(int word) {
  switch (word) {
    case 1: return plain<1>();
    case 2: return plain<2>();
    case 4: return plain<4>();
    case 8: return plain<8>();
    default: return plain<16>();
  }
}

namespace {

// Without streaming stores there are no lines to be filled: runs are copied as they are.
void finish_plain(Outflow& out) {
  for (; out.runs > 0; --out.runs, ++out.run)
    std::memcpy(out.dst + out.run->dst, out.buffer + out.run->buffer,
                static_cast<size_t>(out.run_bytes));
}

PanelKernels offered_kernels(Isa level, int word) {
  switch (level) {
#if defined(__x86_64__)
    case Isa::avx512: return panel_kernels_avx512(word);
    case Isa::avx2: return panel_kernels_avx2(word);
#elif defined(__aarch64__)
    case Isa::neon: return panel_kernels_neon(word);
#endif
    default: return panel_kernels_portable(word);
  }
}

}  // namespace

PanelKernels panel_kernels(Isa level, int word) {
  PanelKernels kernels = offered_kernels(level, word);
  if (kernels.packed == nullptr) kernels.packed = kernels.cached;
  if (kernels.atoms == nullptr) kernels.atoms = run_atoms_plain;
  if (kernels.finish == nullptr) kernels.begin = [](Outflow&) {}, kernels.finish = finish_plain;
  return kernels;
}

void streaming_fence() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace infini::cpu
