// Convert's elements in words of 4 bytes: numbers from them, and numbers as them. What format they have is asked once for all.
#pragma once

#include <cstring>
#include <limits>
#include <type_traits>

#include "backends/gpu/operators/exact.cuh"
#include "plan/operators/convert_plan.h"

namespace infini::gpu {

// Elements of so many bytes in all, as they lie.
template <int bytes>
struct alignas(bytes > 16 ? 16 : bytes) WordPack {
  uint32_t w[bytes / 4];
};

template <class T>
__device__ T from_words(const uint32_t* w) {
  T value;
  memcpy(&value, w, sizeof value);
  return value;
}

// Bytes as the last bits of numbers from 2^23 on, and these less `zero`: two instructions, where converting an integer takes
// a unit of which there are few. `flip`: bits that make signed bytes unsigned.
template <int count>
__device__ void read_whole_bytes(float (&v)[count], const uint32_t (&w)[count / 4], uint32_t flip,
                                 float zero) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const uint32_t bits =
        permute_bytes(w[i / 4] ^ flip, 0x4b000000, 0x7440 | static_cast<uint32_t>(i % 4));
    v[i] = from_words<float>(&bits) - zero;
  }
}

// `size`: bytes of an element.
template <int size, class Number, int count>
__device__ void read_numbers(Number (&v)[count], const uint32_t (&w)[count * size / 4],
                             Format format) {
  const auto bytes = [&](auto number) {
#pragma unroll
    for (int i = 0; i < count; ++i) v[i] = static_cast<Number>(number(w[i / 4] >> (8 * (i % 4))));
  };
  const auto halves = [&](auto number) {
#pragma unroll
    for (int i = 0; i < count; ++i) v[i] = static_cast<Number>(number(w[i / 2] >> (16 * (i % 2))));
  };
  const auto f8 = [&](auto e5m2) {
#pragma unroll
    for (int i = 0; i < count; i += 4) {
      float four[4];
      f32_from_f8_bytes<decltype(e5m2)::value>(w[i / 4], four);
#pragma unroll
      for (int k = 0; k < 4; ++k) v[i + k] = static_cast<Number>(four[k]);
    }
  };
  const auto whole = [&](auto zero) {
#pragma unroll
    for (int i = 0; i < count; ++i)
      v[i] = static_cast<Number>(from_words<decltype(zero)>(w + i * size / 4));
  };
  if constexpr (size == 1) {
    if constexpr (sizeof(Number) == 4) {
      if (format == Format::u8) return read_whole_bytes(v, w, 0, 0x1p23f);
      if (format == Format::i8) return read_whole_bytes(v, w, 0x80808080, 0x1p23f + 128);
    }
    if (format == Format::u8) return bytes([](uint32_t c) { return static_cast<uint8_t>(c); });
    if (format == Format::i8) return bytes([](uint32_t c) { return static_cast<int8_t>(c); });
    if (format == Format::e4m3) return f8(std::false_type{});
    return f8(std::true_type{});
  } else if constexpr (size == 2) {
    if (format == Format::u16) return halves([](uint32_t c) { return static_cast<uint16_t>(c); });
    if (format == Format::i16) return halves([](uint32_t c) { return static_cast<int16_t>(c); });
    if (format == Format::f16)
      return halves([](uint32_t c) { return f32_from_half(static_cast<uint16_t>(c)); });
    return halves([](uint32_t c) { return f32_from_bf16(static_cast<uint16_t>(c)); });
  } else if constexpr (size == 4) {
    if constexpr (sizeof(Number) == 8) {
      if (format == Format::u32) return whole(uint32_t{});
      if (format == Format::i32) return whole(int32_t{});
    }
    return whole(float{});
  } else {
    return whole(double{});
  }
}

// Saturating is to bring every number into the format's range before it is rounded; NaN stays what it is.
__device__ inline float within(float x, float most) {
  return -larger_or_nan(-larger_or_nan(x, -most), -most);
}
__device__ inline float largest(Format format) {
  switch (format) {
    case Format::e4m3: return 448;
    case Format::e5m2: return 57344;
    case Format::f16: return 65504;
    case Format::bf16: return 0x1.fep127f;
    default: return 0x1.fffffep127f;
  }
}

template <int size, int count>
__device__ void put_numbers(uint32_t (&w)[count * size / 4], float (&v)[count], Format format,
                            bool saturates) {
  if (saturates && format >= Format::e4m3) {
    const float most = largest(format);
#pragma unroll
    for (int i = 0; i < count; ++i) v[i] = within(v[i], most);
  }
  const auto fours = [&](auto put) {
#pragma unroll
    for (int i = 0; i < count; i += 4) w[i / 4] = put(v[i], v[i + 1], v[i + 2], v[i + 3]);
  };
  const auto pairs = [&](auto put) {
#pragma unroll
    for (int i = 0; i < count; i += 2) w[i / 2] = put(v[i], v[i + 1]);
  };
  if constexpr (size == 1) {
    if (format == Format::u8)
      return fours(
          [](float a, float b, float c, float d) { return whole_bytes<uint8_t>(a, b, c, d); });
    if (format == Format::i8)
      return fours(
          [](float a, float b, float c, float d) { return whole_bytes<int8_t>(a, b, c, d); });
    if (format == Format::e4m3)
      return fours([](float a, float b, float c, float d) { return f8_bytes<false>(a, b, c, d); });
    return fours([](float a, float b, float c, float d) { return f8_bytes<true>(a, b, c, d); });
  } else if constexpr (size == 2) {
    if (format == Format::u16)
      return pairs([](float a, float b) { return whole_pair<uint16_t>(a, b); });
    if (format == Format::i16)
      return pairs([](float a, float b) { return whole_pair<int16_t>(a, b); });
    if (format == Format::f16) return pairs([](float a, float b) { return halves_from_f32(a, b); });
    return pairs([](float a, float b) { return bfloats_from_f32(a, b); });
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i) memcpy(&w[i], &v[i], 4);
  }
}

// Rounded to nearest even, saturated; NaN is 0.
template <class Integer>
__device__ Integer whole_of(double x) {
  const double least = static_cast<double>(std::numeric_limits<Integer>::min()),
               most = static_cast<double>(std::numeric_limits<Integer>::max());
  return static_cast<Integer>(x != x ? 0.0 : x < least ? least : x > most ? most : rint(x));
}

// Doubles. To narrow formats they go by way of an f32 that rounds to them as the double itself does.
template <int size, int count>
__device__ void put_numbers(uint32_t (&w)[count * size / 4], double (&v)[count], Format format,
                            bool saturates) {
  if constexpr (size == 8) {
    constexpr double most = std::numeric_limits<double>::max();
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (saturates) v[i] = v[i] > most ? most : v[i] < -most ? -most : v[i];
      memcpy(w + 2 * i, &v[i], 8);
    }
    return;
  } else {
    if constexpr (size == 4) {
      if (format == Format::i32 || format == Format::u32) {
#pragma unroll
        for (int i = 0; i < count; ++i)
          w[i] = format == Format::i32 ? static_cast<uint32_t>(whole_of<int32_t>(v[i]))
                                       : whole_of<uint32_t>(v[i]);
        return;
      }
    }
    float near[count];
#pragma unroll
    for (int i = 0; i < count; ++i)
      near[i] = size == 4 ? static_cast<float>(v[i]) : to_odd({Exact::real, v[i], 0});
    put_numbers<size>(w, near, format, saturates);
  }
}

}  // namespace infini::gpu
