// Words of 1 to 16 bytes, and how vectors are put together from them.
#pragma once

#include <cstdint>

#include "vendor.h"

namespace infini::gpu {

// For launch bounds: as many blocks per processor as wanted, or as fit.
constexpr int resident_blocks(int wanted, int threads) {
  return wanted * threads <= threads_per_processor ? wanted : threads_per_processor / threads;
}

template <int bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using type = uint8_t;
};
template <>
struct WordOf<2> {
  using type = uint16_t;
};
template <>
struct WordOf<4> {
  using type = uint32_t;
};
template <>
struct WordOf<8> {
  using type = uint2;
};
template <>
struct WordOf<16> {
  using type = uint4;
};
template <int bytes>
using Word = typename WordOf<bytes>::type;

// 16 bytes as four 32-bit words; put() and get() want indices known at compile time.
struct Vector {
  uint32_t word[4];

  template <int unit>
  __device__ void put(int i, Word<unit> value) {
    if constexpr (unit == 16) {
      word[0] = value.x, word[1] = value.y, word[2] = value.z, word[3] = value.w;
    } else if constexpr (unit == 8) {
      word[2 * i] = value.x, word[2 * i + 1] = value.y;
    } else if constexpr (unit == 4) {
      word[i] = value;
    } else {
      constexpr int per_word = 4 / unit;
      const uint32_t shifted = static_cast<uint32_t>(value) << (8 * unit * (i % per_word));
      word[i / per_word] = i % per_word == 0 ? shifted : word[i / per_word] | shifted;
    }
  }

  template <int unit>
  __device__ Word<unit> get(int i) const {
    if constexpr (unit == 16) {
      return make_uint4(word[0], word[1], word[2], word[3]);
    } else if constexpr (unit == 8) {
      return make_uint2(word[2 * i], word[2 * i + 1]);
    } else if constexpr (unit == 4) {
      return word[i];
    } else {
      constexpr int per_word = 4 / unit;
      return static_cast<Word<unit>>(word[i / per_word] >> (8 * unit * (i % per_word)));
    }
  }
};

template <int unit>
__device__ Word<unit> load_word(const void* p) {
  return *static_cast<const Word<unit>*>(p);
}

template <int unit>
__device__ void store_word(void* p, Word<unit> value) {
  *static_cast<Word<unit>*>(p) = value;
}

__device__ inline Vector load_vector(const void* p) {
  const uint4 v = *static_cast<const uint4*>(p);
  return {{v.x, v.y, v.z, v.w}};
}

__device__ inline void store_vector(void* p, const Vector& v) {
  *static_cast<uint4*>(p) = make_uint4(v.word[0], v.word[1], v.word[2], v.word[3]);
}

// Bytes [shift, shift + 16) of the 32 bytes low, high.
__device__ inline Vector shift_together(const Vector& low, const Vector& high, int shift) {
  uint32_t w[8] = {low.word[0],  low.word[1],  low.word[2],  low.word[3],
                   high.word[0], high.word[1], high.word[2], high.word[3]};
#pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = shift & 8 ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) w[i] = shift & 4 ? w[i + 1] : w[i];
  Vector result;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint64_t pair = (static_cast<uint64_t>(w[i + 1]) << 32) | w[i];
    result.word[i] = static_cast<uint32_t>(pair >> (8 * (shift & 3)));
  }
  return result;
}

// Bytes [begin, end) of a vector, which begin and end at units; `to` is where its first byte would go,
// a multiple of 16. Few and wide stores, of which each lies as its width wants.
template <int unit>
__device__ void store_part(char* to, const Vector& v, int begin, int end) {
  const auto word = [&](int at) {
    const uint32_t low = at & 4 ? v.word[1] : v.word[0], high = at & 4 ? v.word[3] : v.word[2];
    return at & 8 ? high : low;
  };
  if (unit == vector_bytes || end - begin == vector_bytes) {
    store_vector(to, v);
  } else if (begin > 0 && end < vector_bytes) {
#pragma unroll 1
    for (int k = begin; k < end; k += unit)
      if constexpr (unit >= 8)
        store_word<8>(to + k, make_uint2(word(k), word(k + 4)));
      else
        store_word<unit>(to + k, static_cast<Word<unit>>(word(k) >> (8 * (k & 3))));
  } else {  // an end of the vector: ever wider from the middle, or ever narrower towards it
    const bool tail = begin == 0;
    const int bits = tail ? end : vector_bytes - begin;
    if (bits & 8) {
      const int at = tail ? 0 : 8;
      store_word<8>(to + at,
                    make_uint2(tail ? v.word[0] : v.word[2], tail ? v.word[1] : v.word[3]));
    }
    if constexpr (unit <= 4) {
      const int at = tail ? bits & 8 : vector_bytes - (bits & 12);
      if (bits & 4) store_word<4>(to + at, word(at));
    }
    if constexpr (unit <= 2) {
      const int at = tail ? bits & 12 : vector_bytes - (bits & 14);
      if (bits & 2) store_word<2>(to + at, static_cast<uint16_t>(word(at) >> (8 * (at & 2))));
    }
    if constexpr (unit == 1) {
      const int at = tail ? bits & 14 : begin;
      if (bits & 1) store_word<1>(to + at, static_cast<uint8_t>(word(at) >> (8 * (at & 3))));
    }
  }
}

// Units [begin, end) of a word, as far as it has them; `to` is where its first would go, a multiple of 4.
template <int unit>
__device__ void store_word_part(char* to, uint32_t value, int begin, int end) {
  constexpr int count = 4 / unit;
  if (begin <= 0 && end >= count) return store_word<4>(to, value);
  if constexpr (unit == 1) {
    if (begin <= 0 && end >= 2) {
      store_word<2>(to, static_cast<uint16_t>(value));
      begin = 2;
    }
    if (begin <= 2 && end >= count) {
      store_word<2>(to + 2, static_cast<uint16_t>(value >> 16));
      end = 2;
    }
  }
#pragma unroll
  for (int i = 0; i < count; ++i)
    if (i >= begin && i < end)
      store_word<unit>(to + i * unit, static_cast<Word<unit>>(value >> (8 * unit * i)));
}

// 4 / unit words of 4 bytes as a square of units: rows become columns.
template <int unit>
__device__ void transpose_units(uint32_t (&words)[4 / unit]) {
  if constexpr (unit == 2) {
    const uint32_t low = permute_bytes(words[0], words[1], 0x5410);
    words[1] = permute_bytes(words[0], words[1], 0x7632);
    words[0] = low;
  } else {
    static_assert(unit == 1);
    const uint32_t low01 = permute_bytes(words[0], words[1], 0x5140);
    const uint32_t low23 = permute_bytes(words[2], words[3], 0x5140);
    const uint32_t high01 = permute_bytes(words[0], words[1], 0x7362);
    const uint32_t high23 = permute_bytes(words[2], words[3], 0x7362);
    words[0] = permute_bytes(low01, low23, 0x5410);
    words[1] = permute_bytes(low01, low23, 0x7632);
    words[2] = permute_bytes(high01, high23, 0x5410);
    words[3] = permute_bytes(high01, high23, 0x7632);
  }
}

__device__ inline int misalignment(const void* p) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) & (vector_bytes - 1));
}

}  // namespace infini::gpu
