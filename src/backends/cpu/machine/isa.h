// Which vector instructions the CPU kernels may use: found out once, lowered by an environment
// variable for tests and measurements.
#pragma once

#include "base/export.h"

namespace infini::cpu {

// avx512 means F, BW, DQ, VL and VBMI (Ice Lake, Zen 4 and later); avx2 means AVX2, FMA and BMI2.
enum class Isa { portable, neon, avx2, avx512 };

// What this machine offers, or less if INFINI_CPU_ISA=portable|avx2|avx512|neon asks for it; names
// that are unknown or not offered here change nothing.
INFINI_TOOL_EXPORT Isa isa();
// The test of isa() before the environment variable is looked at.
bool offers(Isa level);
const char* isa_name(Isa level);
// Some virtual machines announce AMX without the CPUID leaf that describes its tiles.
INFINI_TOOL_EXPORT bool announces_amx_without_tiles();

}  // namespace infini::cpu
