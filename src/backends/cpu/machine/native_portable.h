// What the compiler's baseline has for vectors of halves: for the kernels of one instruction set, each a file of its own.
#pragma once

#include <cstdint>

#include "base/float_formats.h"

namespace infini::cpu {
namespace {

struct Native {
  static constexpr int vector_bytes = 16;
  typedef float Four __attribute__((vector_size(16)));
  typedef uint16_t FourHalves __attribute__((vector_size(8)));
  static Four f32_from_f16(FourHalves half) {
    Four v;
    for (int i = 0; i < 4; ++i) v[i] = infini::f32_from_f16(half[i]);
    return v;
  }
  static FourHalves f16_from_f32(Four v) {
    FourHalves half;
    for (int i = 0; i < 4; ++i) half[i] = infini::f16_from_f32(v[i]);
    return half;
  }
  typedef uint32_t FourWords __attribute__((vector_size(16)));
  static FourWords words_from_halves(FourHalves half) {
    return __builtin_convertvector(half, FourWords);
  }
  static FourHalves halves_from_words(FourWords words) {
    return __builtin_convertvector(words, FourHalves);
  }
};

}  // namespace
}  // namespace infini::cpu
