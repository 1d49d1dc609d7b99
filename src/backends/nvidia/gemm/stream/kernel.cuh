// The stream gemm kernel: vectors of B go from memory to the matrix units; A waits in shared
// memory.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backends/gpu/gemm/skinny/kernel.cuh"
#include "backends/nvidia/gemm/matrix_units.cuh"
#include "backends/nvidia/gemm/stream/schedule.h"

namespace infini::nvidia {

using gpu::Vector;

// The matrix units' name for an element of the shared source.
__device__ inline __half unit_element(gpu::Half) { return {}; }
__device__ inline __nv_bfloat16 unit_element(gpu::Bfloat) { return {}; }

// A lane's place in what an instruction multiplies: a row (and the one 8 below) of A and of C, a
// column of B; and which quarter of k.
struct Lane {
  int warp = static_cast<int>(threadIdx.x) / 32, line = static_cast<int>(threadIdx.x) % 32 / 4,
      quarter = static_cast<int>(threadIdx.x) % 4;
};

// What is read once need not stay in the nearest cache.
__device__ inline Vector stream_vector(const char* from) {
  Vector v;
  asm volatile("ld.global.L1::no_allocate.L2::128B.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
               : "l"(from));
  return v;
}

// Lines along n. A warp multiplies 16 of its lines at once; lane (line, quarter) reads vector
// `line` of lines 4·quarter…4·quarter + 3, and column i of its vectors goes to the i-th of eight
// instructions.
template <class In, int tiles>
class StreamAcross {
 public:
  static constexpr int steps = stream_lines_at_once / 16, width = stream_strip;

  __device__ StreamAcross(const GemmPlan& plan, const gpu::SkinnyLaunch& launch,
                          const gpu::SkinnyPlace& at, const char* b)
      : pitch_(static_cast<int>(stream_pitch(false, launch.schedule.chunk))),
        step_(stream_warps * plan.b.row_step),
        readable_(b + at.batch * plan.b.batch_step, plan.k, plan.b.row_step, plan.n * 2, true) {
    const char* line =
        b + at.batch * plan.b.batch_step + (at.k + lane_.warp) * plan.b.row_step + at.column * 2;
    first_ = lane_.line * 8 - gpu::misalignment(line) / 2;
    from_ = line + first_ * 2 + 4 * lane_.quarter * step_;
    begin_ = gpu::within_vector<In>(-(at.column + first_));
    end_ = gpu::within_vector<In>(plan.n - at.column - first_);
  }

  __device__ void add(const GemmPlan& plan, const char* a, unsigned char* shared, int depth,
                      int chunk) {
    int left = (depth - lane_.warp + stream_warps - 1) / stream_warps;
    Vector v[4 * steps];
    load(v, left);
    auto* of_a = reinterpret_cast<uint16_t*>(shared);
    const int rows = static_cast<int>(plan.m);
    __syncthreads();
    gpu::stage_vectors<In>(plan, rows, a, depth, chunk, [&](int row, int k, const Vector& eight) {
#pragma unroll
      for (int warp = 0; warp < stream_warps; ++warp)
        of_a[(warp * rows + row) * pitch_ + k / 8] = eight.get<2>(warp);
    });
    __syncthreads();
    const uint16_t* mine = of_a + lane_.warp * rows * pitch_ + 4 * lane_.quarter;
    for (;; mine += 16 * steps) {
      multiply(v, mine, rows);
      if ((left -= 16 * steps) <= 0) break;
      load(v, left);
    }
  }

  __device__ void write(const GemmPlan& plan, const gpu::SkinnyLaunch& launch,
                        const gpu::SkinnyTarget<float>& to, const gpu::SkinnyPlace& at,
                        unsigned char* shared) const {
    auto* sums = reinterpret_cast<float*>(shared);
#pragma unroll
    for (int half = 0; half < 2 * tiles; ++half) {  // eight rows
      if (8 * half >= plan.m) break;
      __syncthreads();
      put(sums, half, static_cast<int>(launch.columns));
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < 8 * width; i += gpu::skinny_threads) {
        const int row = i / width, place = i % width,
                  column = place % (width / 8) * 8 + place / (width / 8);
        if (8 * half + row >= plan.m || column >= launch.columns || at.column + column >= plan.n)
          continue;
        float sum = 0;
#pragma unroll
        for (int warp = 0; warp < stream_warps; ++warp)
          sum += sums[(warp * 8 + row) * (width + 8) + place];
        gpu::write_sum<In>(plan, launch, to, at, 8 * half + row, at.column + column, sum);
      }
    }
  }

 private:
  // The warp's sums of eight rows; neighbouring columns lie apart, as the lanes' do.
  __device__ void put(float* sums, int half, int columns) const {
    float* own = sums + (lane_.warp * 8 + lane_.line) * (width + 8);
    const int shift = lane_.line * 8 - first_;
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int column = 8 * (2 * lane_.quarter + e) + i - shift;
        if (0 <= column && column < columns)
          own[column % 8 * (width / 8) + column / 8] = sums_[half / 2][i][half % 2 * 2 + e];
      }
  }

  // The next 16 · steps lines of the warp, of which `left` exist.
  __device__ void load(Vector (&v)[4 * steps], int left) {
    if (begin_ == 0 && end_ == 8 && 16 * steps <= left) {
#pragma unroll
      for (int i = 0; i < 4 * steps; ++i)
        v[i] = stream_vector(from_ + (i / 4 * 16 + i % 4) * step_);
    } else {
      gpu::load_pieces<In, false>(v, readable_, [&](int i) {
        const int line = i / 4 * 16 + i % 4;
        return gpu::Piece{from_ + line * step_, begin_,
                          line + 4 * lane_.quarter < left ? end_ : begin_};
      });
    }
    from_ += 16 * steps * step_;
  }

  __device__ void multiply(const Vector (&v)[4 * steps], const uint16_t* of_a, int rows) {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      uint32_t a[tiles][4];
#pragma unroll
      for (int half = 0; half < 2 * tiles; ++half) {
        const int row = 8 * half + lane_.line;
        uint2 pair{};
        if (row < rows) pair = *reinterpret_cast<const uint2*>(of_a + row * pitch_ + 16 * step);
        a[half / 2][half % 2] = pair.x, a[half / 2][half % 2 + 2] = pair.y;
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const uint32_t take = i % 2 == 0 ? 0x5410 : 0x7632;
        const uint32_t low =
                           __byte_perm(v[4 * step].word[i / 2], v[4 * step + 1].word[i / 2], take),
                       high = __byte_perm(v[4 * step + 2].word[i / 2], v[4 * step + 3].word[i / 2],
                                          take);
#pragma unroll
        for (int tile = 0; tile < tiles; ++tile)
          multiply_add(sums_[tile][i], a[tile], low, high, unit_element(In{}));
      }
    }
  }

  Lane lane_;
  int pitch_, first_;  // of a row of A; the lane's first column, from the block's on
  const char* from_;
  int64_t step_;     // to the warp's next line
  int begin_, end_;  // which of the columns of the lane's vector B has
  gpu::Readable readable_;
  float sums_[tiles][8][4] = {};
};

// Lines along k. Lane (line, quarter) reads vector `quarter` of every 32 elements of column 8·line
// of the warp's, in each strip: four elements of it are its share of one instruction's k, the other
// four of the next one's.
template <class In, int tiles>
class StreamAlong {
 public:
  static constexpr int strips = stream_strips(true), steps = stream_depth_at_once / 32;

  __device__ StreamAlong(const GemmPlan& plan, const gpu::SkinnyLaunch& launch,
                         const gpu::SkinnyPlace& at, const char* b)
      : pitch_(static_cast<int>(stream_pitch(true, launch.schedule.chunk))),
        readable_(b + at.batch * plan.b.batch_step, plan.n, plan.b.col_step, plan.k * 2, true) {
    const char* line =
        b + at.batch * plan.b.batch_step + (at.column + lane_.warp) * plan.b.col_step + at.k * 2;
    shift_ = gpu::misalignment(line) / 2;
    from_ = line + lane_.quarter * 16;
    const int64_t columns = plan.n - at.column - lane_.warp;
    busy_ = columns > 0;
#pragma unroll
    for (int strip = 0; strip < strips; ++strip) {
      const int column = strip * stream_strip + 8 * lane_.line;
      to_strip_[strip] = column < columns ? column * plan.b.col_step : 0;
    }
  }

  __device__ void add(const GemmPlan& plan, const char* a, unsigned char* shared, int depth,
                      int chunk) {
    auto* of_a = reinterpret_cast<uint16_t*>(shared) + stream_front;
    Vector v[steps * strips] = {};
    int k = -shift_;
    if (busy_) load(v, k, depth);
    __syncthreads();
    gpu::stage_vectors<In>(plan, static_cast<int>(plan.m), a, depth, chunk,
                           [&](int row, int k, const Vector& eight) {
                             gpu::store_vector(of_a + row * pitch_ + k, eight);
                           });
    clear_around(of_a, static_cast<int>(plan.m), chunk);
    __syncthreads();
    while (busy_) {
      multiply(v, of_a + k, static_cast<int>(plan.m));
      if ((k += stream_depth_at_once) >= depth) break;
      load(v, k, depth);
    }
    from_ += chunk * 2;
  }

  __device__ void write(const GemmPlan& plan, const gpu::SkinnyLaunch& launch,
                        const gpu::SkinnyTarget<float>& to, const gpu::SkinnyPlace& at,
                        unsigned char*) const {
#pragma unroll
    for (int half = 0; half < 2 * tiles; ++half)
#pragma unroll
      for (int strip = 0; strip < strips; ++strip)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int row = 8 * half + lane_.line;
          const int64_t column =
              at.column + strip * stream_strip + lane_.warp + 8 * (2 * lane_.quarter + e);
          if (row < plan.m && column < plan.n)
            gpu::write_sum<In>(plan, launch, to, at, row, column,
                               sums_[half / 2][strip][half % 2 * 2 + e]);
        }
  }

 private:
  // What vectors that begin before or end behind a chunk meet there.
  __device__ void clear_around(uint16_t* of_a, int rows, int chunk) const {
    constexpr int around = stream_front + stream_back;
    for (int i = static_cast<int>(threadIdx.x); i < rows * around; i += gpu::skinny_threads) {
      const int place = i % around;
      of_a[i / around * pitch_ +
           (place < stream_front ? place - stream_front : chunk + place - stream_front)] = 0;
    }
  }

  // The warp's next elements, from k on. Lanes without a column read the warp's first one, for
  // nothing.
  __device__ void load(Vector (&v)[steps * strips], int k, int depth) const {
    if (0 <= k && k + stream_depth_at_once <= depth) {
#pragma unroll
      for (int i = 0; i < steps * strips; ++i)
        v[i] = stream_vector(from_ + to_strip_[i / steps] + (k + 32 * (i % steps)) * 2);
    } else {
      gpu::load_pieces<In, true>(v, readable_, [&](int i) {
        const int at = k + 32 * (i % steps), own = at + 8 * lane_.quarter;
        return gpu::Piece{from_ + to_strip_[i / steps] + at * 2, -own, depth - own};
      });
    }
  }

  // Eight elements of a row, at any place.
  __device__ Vector eight_of(const uint16_t* at) const {
    if (shift_ == 0) return gpu::load_vector(at);
    const auto* words = reinterpret_cast<const uint32_t*>(shift_ % 2 == 0 ? at : at - 1);
    Vector v{{words[0], words[1], words[2], words[3]}};
    if (shift_ % 2 != 0) {
      const uint32_t last = words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        v.word[i] = __byte_perm(v.word[i], i < 3 ? v.word[i + 1] : last, 0x5432);
    }
    return v;
  }

  __device__ void multiply(const Vector (&v)[steps * strips], const uint16_t* of_a, int rows) {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      Vector left[2 * tiles];
#pragma unroll
      for (int half = 0; half < 2 * tiles; ++half) {
        const int row = 8 * half + lane_.line;
        left[half] =
            row < rows ? eight_of(of_a + row * pitch_ + 32 * step + 8 * lane_.quarter) : Vector{};
      }
#pragma unroll
      for (int pair = 0; pair < 4; pair += 2)
#pragma unroll
        for (int tile = 0; tile < tiles; ++tile) {
          const uint32_t a[4] = {left[2 * tile].word[pair], left[2 * tile + 1].word[pair],
                                 left[2 * tile].word[pair + 1], left[2 * tile + 1].word[pair + 1]};
#pragma unroll
          for (int strip = 0; strip < strips; ++strip)
            multiply_add(sums_[tile][strip], a, v[strip * steps + step].word[pair],
                         v[strip * steps + step].word[pair + 1], unit_element(In{}));
        }
    }
  }

  Lane lane_;
  int pitch_, shift_;  // of a row of A; elements from a vector's beginning to the warp's lines'
  const char* from_;
  int64_t to_strip_[strips];  // from there to the lane's columns
  bool busy_;                 // the warp has columns at all
  gpu::Readable readable_;
  float sums_[tiles][strips][4] = {};
};

// Precondition: plan.m <= 16 · tiles.
template <class In, int tiles, template <class, int> class Lines>
__global__ void __launch_bounds__(gpu::skinny_threads, 2)
    multiply_stream(const __grid_constant__ GemmPlan plan,
                    const __grid_constant__ gpu::SkinnyLaunch launch, const char* a, const char* b,
                    const __grid_constant__ gpu::SkinnyTarget<float> to) {
  unsigned char* shared = gpu::shared_memory();
  const int chunk = static_cast<int>(launch.schedule.chunk);
  gpu::wait_when_known(blockIdx.x);
  gpu::let_successor_start();
  for (uint32_t block = blockIdx.x; block < launch.blocks; block += gridDim.x) {
    const gpu::SkinnyPlace at = gpu::skinny_place(plan, launch, block);
    Lines<In, tiles> lines(plan, launch, at, b);
    const char* of_a = a + at.batch * plan.a.batch_step + at.k * plan.a.col_step;
    for (int64_t k = 0; k < at.depth; k += chunk)
      lines.add(plan, of_a + k * plan.a.col_step, shared,
                static_cast<int>(at.depth - k < chunk ? at.depth - k : chunk), chunk);
    lines.write(plan, launch, to, at, shared);
    __syncthreads();
  }
}

}  // namespace infini::nvidia
