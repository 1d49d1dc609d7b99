// Finding out the vector instructions of this machine.
#include "backends/cpu/machine/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstring>
#include <string>

#include "base/environment.h"

namespace infini::cpu {
namespace {

constexpr Isa levels[] = {Isa::avx512, Isa::avx2, Isa::neon, Isa::portable};  // best first

Isa best_offered() {
  for (const Isa level : levels)
    if (offers(level)) return level;
  return Isa::portable;
}

std::string offered_names() {
  std::string names = "one of";
  for (const Isa level : levels)
    if (offers(level)) names += std::string(" ") + isa_name(level);
  return names;
}

Isa chosen() {
  const char* wanted = environment("INFINI_CPU_ISA");
  if (wanted == nullptr) return best_offered();
  for (const Isa level : levels)
    if (offers(level) && std::strcmp(wanted, isa_name(level)) == 0) return level;
  tell_not_understood("INFINI_CPU_ISA", offered_names());
  return best_offered();
}

}  // namespace

bool offers(Isa level) {
  switch (level) {
    case Isa::portable: return true;
#if defined(__x86_64__)
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("bmi2");
    case Isa::avx512:
      return offers(Isa::avx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi");
#elif defined(__aarch64__)
    case Isa::neon: return true;
#endif
    default: return false;
  }
}

bool announces_amx_without_tiles() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool announced = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 24 & 1);
  return announced && !(__get_cpuid_count(0x1d, 1, &a, &b, &c, &d) && b != 0);
#else
  return false;
#endif
}

// Asked again for every kernel that is made, so that one process can test every level.
Isa isa() { return chosen(); }

const char* isa_name(Isa level) {
  switch (level) {
    case Isa::avx512: return "avx512";
    case Isa::avx2: return "avx2";
    case Isa::neon: return "neon";
    case Isa::portable: return "portable";
  }
  return "portable";
}

}  // namespace infini::cpu
