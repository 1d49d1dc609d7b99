// Convert where elements lie together on one side at least: several of a thread at once, in words.
#pragma once

#include "backends/gpu/convert/convert.cuh"

namespace infini::gpu {

// An element of so many bytes, or some that are moved at once.
template <int bytes>
struct ElementOf {
  using Type = uint64_t;
};
template <>
struct ElementOf<1> {
  using Type = uint8_t;
};
template <>
struct ElementOf<2> {
  using Type = uint16_t;
};
template <>
struct ElementOf<4> {
  using Type = uint32_t;
};
template <int bytes>
using Element = typename ElementOf<bytes>::Type;

// Into words in registers, from memory; and from words.
template <int bytes>
__device__ void put_element(uint32_t* words, int i, const char* from) {
  const auto value = element_at<Element<bytes>>(from);
  if constexpr (bytes == 8) {
    words[2 * i] = static_cast<uint32_t>(value);
    words[2 * i + 1] = static_cast<uint32_t>(value >> 32);
  } else if constexpr (bytes == 4) {
    words[i] = value;
  } else {
    words[i * bytes / 4] |= static_cast<uint32_t>(value) << (8 * (i * bytes % 4));
  }
}
template <int bytes>
__device__ Element<bytes> get_element(const uint32_t* words, int i) {
  if constexpr (bytes == 8)
    return words[2 * i] | static_cast<uint64_t>(words[2 * i + 1]) << 32;
  else
    return static_cast<Element<bytes>>(words[i * bytes / 4] >> (8 * (i * bytes % 4)));
}

// A scale or shift; `otherwise`: what it is where there is no vector of them.
template <class Number>
__device__ Number number_for_row(const char* p, bool along, Number otherwise) {
  return along ? static_cast<Number>(element_at<float>(p)) : otherwise;
}
// Those of elements that lie together: one for all of them, or as many, a vector at a time.
template <class Number, int count>
__device__ void numbers_of_pack(Number (&v)[count], const char* p, bool along, int64_t step,
                                Number otherwise) {
  if (!along || step == 0) {
    const Number one = number_for_row(p, along, otherwise);
#pragma unroll
    for (int i = 0; i < count; ++i) v[i] = one;
    return;
  }
  if constexpr (count % 4 != 0) {
#pragma unroll
    for (int i = 0; i < count; ++i) v[i] = static_cast<Number>(element_at<float>(p + i * step));
  } else {
#pragma unroll
    for (int i = 0; i < count; i += 4) {
      const auto four = *reinterpret_cast<const WordPack<16>*>(p + i * 4);
#pragma unroll
      for (int k = 0; k < 4; ++k) v[i + k] = static_cast<Number>(from_words<float>(four.w + k));
    }
  }
}

__device__ inline float fused(float x, float scale, float shift) { return fmaf(x, scale, shift); }
__device__ inline double fused(double x, double scale, double shift) {
  return fma(x, scale, shift);
}
// y = scale·x + shift, element by element: by(i) has both for element i.
template <class Number, int count, class By>
__device__ void compute_numbers(Number (&v)[count], By by) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const auto here = by(i);
    v[i] = fused(v[i], static_cast<Number>(here.scale), static_cast<Number>(here.shift));
  }
}

// So many elements of a pack fill a vector on the larger side, and a word on the smaller; and so many of a thread's at once.
constexpr int pack_elements(int x_size, int y_size) {
  const int larger = x_size < y_size ? y_size : x_size, smaller = x_size < y_size ? x_size : y_size;
  return 16 / larger * smaller < 4 ? 4 / smaller : 16 / larger;
}
template <class Number>
constexpr int numbers_at_once = sizeof(Number) == 8 ? 8 : 16;

// A pack under its scales and shifts, which begin at these places where there are vectors of them.
template <int count, class Number>
__device__ void compute_pack(Number* v, const RowNest& nest, const ConvertNumbers& numbers,
                             const char* scale, const char* shift) {
  Number scales[count], shifts[count];
  numbers_of_pack(scales, scale, numbers.along[0], nest.row_steps[2],
                  static_cast<Number>(numbers.scale));
  numbers_of_pack(shifts, shift, numbers.along[1], nest.row_steps[3],
                  static_cast<Number>(numbers.shift));
#pragma unroll
  for (int i = 0; i < count; ++i) v[i] = fused(v[i], scales[i], shifts[i]);
}

// So many bytes, by vectors.
template <int bytes>
__device__ void store_words(char* to, const uint32_t* words) {
  constexpr int part = bytes > 16 ? 16 : bytes;
#pragma unroll
  for (int n = 0; n < bytes / part; ++n) {
    WordPack<part> pack;
#pragma unroll
    for (int i = 0; i < part / 4; ++i) pack.w[i] = words[n * (part / 4) + i];
    *reinterpret_cast<WordPack<part>*>(to + n * part) = pack;
  }
}

// Elements that lie together on both sides, under a scale and shift for each row, or for each element of it.
template <class Number, int x_size, int y_size>
__global__ void __launch_bounds__(operator_threads)
    convert_packs(const __grid_constant__ RowNest nest, RowPointers base, FastDivisor per_row,
                  uint32_t units, ConvertNumbers numbers) {
  constexpr int count = pack_elements(x_size, y_size);
  constexpr int most = numbers_at_once<Number> / count, packs = most < 1 ? 1 : most < 4 ? most : 4;
  constexpr int all = packs * count, x_words = count * x_size / 4, y_words = count * y_size / 4;
  wait_for_predecessor();
  const UnitWalk walk = make_walk<packs>(units);
  for (uint32_t begin = walk.begin; begin < units; begin += walk.stride) {
    uint32_t x[packs * x_words]{}, y[packs * y_words];
    const char* scales[packs]{};
    const char* shifts[packs]{};
    char* to[packs];
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      const uint32_t unit = begin + static_cast<uint32_t>(k) * walk.step;
      if (unit >= units) continue;
      const uint32_t row = divide(unit, per_row), first = (unit - row * per_row.divisor) * count;
      uint32_t index;
      const auto place = place_operator_row<4>(nest, base, row, index);
      const auto pack =
          *reinterpret_cast<const WordPack<count * x_size>*>(place.at[1] + int64_t{first} * x_size);
#pragma unroll
      for (int i = 0; i < x_words; ++i) x[k * x_words + i] = pack.w[i];
      to[k] = place.at[0] + int64_t{first} * y_size;
      scales[k] = place.at[2] + first * nest.row_steps[2];
      shifts[k] = place.at[3] + first * nest.row_steps[3];
    }
    Number v[all];
    read_numbers<x_size>(v, x, numbers.x);
    if (numbers.computes) {
#pragma unroll
      for (int k = 0; k < packs; ++k)
        if (begin + static_cast<uint32_t>(k) * walk.step < units)
          compute_pack<count>(v + k * count, nest, numbers, scales[k], shifts[k]);
    }
    put_numbers<y_size>(y, v, numbers.y, numbers.saturates);
#pragma unroll
    for (int k = 0; k < packs; ++k)
      if (begin + static_cast<uint32_t>(k) * walk.step < units)
        store_words<count * y_size>(to[k], y + k * y_words);
  }
}

// The same for elements of a row, under one scale and shift or as many as there are elements.
template <int count>
__device__ void compute_along(float (&v)[count], const RowNest& nest, const ConvertNumbers& numbers,
                              const char* scale, const char* shift) {
  if (nest.row_steps[2] == 0 && nest.row_steps[3] == 0) {
    const ScaleShift by = numbers_at(numbers, scale, shift);
    return compute_numbers(v, [&](int) { return by; });
  }
  compute_numbers(v, [&](int i) {
    return numbers_at(numbers, scale + i * nest.row_steps[2], shift + i * nest.row_steps[3]);
  });
}

// Elements that lie together in y alone; of x, a few planes at a time: pixels, whose channels lie together, or one.
template <int x_size, int y_size>
__global__ void __launch_bounds__(operator_threads)
    convert_gathered(const __grid_constant__ RowNest nest, RowPointers base, FastDivisor per_row,
                     uint32_t units, ConvertNumbers numbers) {
  constexpr int count = gathered_elements(y_size);
  wait_for_predecessor();
  for (uint32_t unit = blockIdx.x * operator_threads + threadIdx.x; unit < units;
       unit += gridDim.x * operator_threads) {
    const uint32_t row = divide(unit, per_row), first = (unit - row * per_row.divisor) * count;
    uint32_t index;
    auto place = place_operator_row<4>(nest, base, row, index);
#pragma unroll
    for (int k = 0; k < 4; ++k) place.at[k] += first * nest.row_steps[k];
    for (uint32_t plane = 0; plane < numbers.planes; ++plane) {
      uint32_t x[count * x_size / 4]{};
#pragma unroll
      for (int i = 0; i < count; ++i)
        put_element<x_size>(x, i, place.at[1] + i * nest.row_steps[1]);
      float v[count];
      read_numbers<x_size>(v, x, numbers.x);
      if (numbers.computes) compute_along(v, nest, numbers, place.at[2], place.at[3]);
      WordPack<count * y_size> y;
      put_numbers<y_size>(y.w, v, numbers.y, numbers.saturates);
      *reinterpret_cast<WordPack<count * y_size>*>(place.at[0]) = y;
#pragma unroll
      for (int k = 0; k < 4; ++k) place.at[k] += numbers.plane_steps[k];
    }
  }
}

// Pixels from planes: elements lie together along a row of x, and the few planes of one place in y. What a block has
// converted lies in shared memory as in y, and goes there by words.
template <int x_size, int y_size>
__global__ void __launch_bounds__(operator_threads)
    convert_joined(const __grid_constant__ RowNest nest, RowPointers base, FastDivisor per_row,
                   uint32_t units, ConvertNumbers numbers) {
  constexpr int count = joined_elements(x_size);
  constexpr uint32_t together = joined_units * count;
  auto* const pixels = reinterpret_cast<Element<y_size>*>(shared_memory());
  wait_for_predecessor();
  for (uint32_t unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const uint32_t row = divide(unit, per_row), first = (unit - row * per_row.divisor) * together;
    const uint32_t left = nest.length - first, here = left < together ? left : together;
    uint32_t index;
    auto place = place_operator_row<4>(nest, base, row, index);
#pragma unroll
    for (int k = 0; k < 4; ++k) place.at[k] += first * nest.row_steps[k];
    for (uint32_t plane = 0; plane < numbers.planes; ++plane) {
      const uint32_t at = threadIdx.x * count;
      if (at < here) {
        const auto pack =
            *reinterpret_cast<const WordPack<count * x_size>*>(place.at[1] + at * x_size);
        float v[count];
        read_numbers<x_size>(v, pack.w, numbers.x);
        if (numbers.computes) {
          const ScaleShift by = numbers_at(numbers, place.at[2], place.at[3]);
          compute_numbers(v, [&](int) { return by; });
        }
        uint32_t y[count * y_size / 4];
        put_numbers<y_size>(y, v, numbers.y, numbers.saturates);
#pragma unroll
        for (int i = 0; i < count; ++i)
          pixels[(at + static_cast<uint32_t>(i)) * numbers.planes + plane] =
              get_element<y_size>(y, i);
      }
#pragma unroll
      for (int k = 1; k < 4; ++k) place.at[k] += numbers.plane_steps[k];
    }
    __syncthreads();
    const uint32_t words = here * numbers.planes * y_size / 4;
    for (uint32_t i = threadIdx.x; i < words; i += operator_threads)
      reinterpret_cast<uint32_t*>(place.at[0])[i] =
          element_at<uint32_t>(reinterpret_cast<const char*>(pixels) + i * 4);
    __syncthreads();
  }
}

}  // namespace infini::gpu
