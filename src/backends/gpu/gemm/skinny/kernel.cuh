// Products with few rows: each element of B is used so seldom that nothing counts but how fast it
// comes. Threads read aligned vectors of B's lines, where they lie; see skinny_schedule.h for who
// reads what.
#pragma once

#include <cstring>

#include "backends/gpu/gemm/arithmetic.cuh"
#include "backends/gpu/gemm/skinny/schedule.h"
#include "backends/gpu/gemm/skinny/vector_pieces.cuh"

namespace infini::gpu {

// Where the sums go: C, or the workspace [part][batch][row][column] when there are several parts.
template <class Sum>
struct SkinnyTarget {
  char *c, *sums;
  Sum alpha, beta;
};

template <class In>
__device__ void write_sum(const GemmPlan& plan, const SkinnyLaunch& launch,
                          const SkinnyTarget<SumOf<In>>& to, const SkinnyPlace& at, int64_t row,
                          int64_t column, SumOf<In> sum) {
  if (launch.schedule.parts == 1)
    finish_product<In>(plan, place_in(to.c, plan.c, at.batch, row, column), sum, to.alpha, to.beta);
  else
    reinterpret_cast<SumOf<In>*>(
        to.sums)[((at.part * plan.batch + at.batch) * plan.m + row) * plan.n + column] = sum;
}

template <class In>
__device__ SumOf<In> element_of(const Vector& v, int i) {
  const auto word = v.get<sizeof(In)>(i);
  In element;
  memcpy(&element, &word, sizeof element);
  return widened(element);
}

// Brings a chunk of A's k, of which `depth` exist, to put(row, k, vector), a vector of k at a time;
// what does not exist, beyond plan.m rows too, is 0.
template <class In, class Put>
__device__ void stage_vectors(const GemmPlan& plan, int rows, const char* a, int depth, int chunk,
                              Put put) {
  constexpr int size = sizeof(In), vector = vector_bytes / size;
  const auto bits = static_cast<uint64_t>(plan.a.row_step) | reinterpret_cast<uintptr_t>(a);
  const bool vectors = bits % vector_bytes == 0 && plan.a.col_step == size;
  const int per_row = chunk / vector;
  for (int i = static_cast<int>(threadIdx.x); i < rows * per_row; i += skinny_threads) {
    const int row = i / per_row, k = i % per_row * vector;
    const char* from = a + row * plan.a.row_step + k * plan.a.col_step;
    Vector v{};
    if (row < plan.m) {
      if (vectors && k + vector <= depth) {
        v = load_vector(from);
      } else {
#pragma unroll
        for (int j = 0; j < vector; ++j)
          if (k + j < depth) v.put<size>(j, load_word<size>(from + j * plan.a.col_step));
      }
    }
    put(row, k, v);
  }
}

// Lines along n. A thread has a vector of columns and every beside()-th k; those of different k are
// added last.
template <class In, int rows>
class AcrossColumns {
 public:
  using Sum = SumOf<In>;
  static constexpr int vector = vector_bytes / sizeof(In), rows_at_once = rows < 2 ? rows : 2;
  // Lines that a thread asks for at once: less where its sums fill the registers.
  static constexpr int loads = rows * vector < 64 ? skinny_unroll : skinny_unroll / 2;

  static size_t shared_bytes(const SkinnySchedule& s) {
    const size_t of_a = static_cast<size_t>(s.beside()) * pitch(s),
                 of_sums = static_cast<size_t>(s.beside() * s.across) * rows_at_once * vector;
    return sizeof(Sum) * (of_a > of_sums ? of_a : of_sums);
  }

  __device__ AcrossColumns(const GemmPlan& plan, const SkinnyLaunch& launch, const SkinnyPlace& at,
                           const char* b)
      : s_(launch.schedule),
        x_(static_cast<int>(threadIdx.x) % s_.across),
        slice_(static_cast<int>(threadIdx.x) / s_.across),
        readable_(b + at.batch * plan.b.batch_step, plan.k, plan.b.row_step,
                  plan.n * int64_t{sizeof(In)}, false) {
    const char* line = b + at.batch * plan.b.batch_step + (at.k + slice_) * plan.b.row_step +
                       at.column * int64_t{sizeof(In)};
    first_ = x_ * vector - misalignment(line) / static_cast<int>(sizeof(In));
    from_ = line + first_ * static_cast<int>(sizeof(In));
    step_ = s_.beside() * plan.b.row_step;
    begin_ = within_vector<In>(-(at.column + first_));
    end_ = within_vector<In>(plan.n - at.column - first_);
  }

  // A chunk of k, `depth` deep.
  __device__ void add(const GemmPlan& plan, const char* a, Sum* shared, int depth) {
    const int mine = (depth - slice_ + s_.beside() - 1) / s_.beside();
    Vector v[loads];
    load(v, mine);
    const int pitch = AcrossColumns::pitch(s_), beside = s_.beside();
    __syncthreads();
    stage_vectors<In>(
        plan, rows, a, depth, static_cast<int>(s_.chunk), [&](int row, int k, const Vector& of_k) {
#pragma unroll
          for (int j = 0; j < vector; ++j) {
            const int turn = (k + j) * s_.across / skinny_threads, slice = k + j - turn * beside;
            shared[slice * pitch + turn * rows + row] = element_of<In>(of_k, j);
          }
        });
    __syncthreads();
    const Sum* of_a = shared + slice_ * pitch;
    for (int left = mine;; of_a += loads * rows) {
      multiply(v, of_a);
      if ((left -= loads) <= 0) break;
      load(v, left);
    }
  }

  __device__ void write(const GemmPlan& plan, const SkinnyLaunch& launch,
                        const SkinnyTarget<Sum>& to, const SkinnyPlace& at, Sum* shared) const {
    const int width = s_.across * vector;
#pragma unroll
    for (int row = 0; row < rows; row += rows_at_once) {
      __syncthreads();
#pragma unroll
      for (int r = 0; r < rows_at_once; ++r)
#pragma unroll
        for (int i = 0; i < vector; ++i) {
          const int column = first_ + i;
          if (0 <= column && column < launch.columns)
            shared[(slice_ * rows_at_once + r) * width + place(column)] = sum_[row + r][i];
        }
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < rows_at_once * width; i += skinny_threads) {
        const int r = i / width, column = i % width % s_.across * vector + i % width / s_.across;
        if (row + r >= plan.m || column >= launch.columns || at.column + column >= plan.n) continue;
        Sum sum = 0;
        for (int slice = 0; slice < s_.beside(); ++slice)
          sum += shared[(slice * rows_at_once + r) * width + i % width];
        write_sum<In>(plan, launch, to, at, row + r, at.column + column, sum);
      }
    }
  }

 private:
  // A's k of one slice lie together, and different slices begin in different banks.
  __host__ __device__ static int pitch(const SkinnySchedule& s) {
    return static_cast<int>(s.chunk) / s.beside() * rows + 16 / static_cast<int>(sizeof(Sum));
  }
  // Neighbouring threads write neighbouring places.
  __device__ int place(int column) const { return column % vector * s_.across + column / vector; }

  // The thread's next lines, of which `left` exist.
  __device__ void load(Vector (&v)[loads], int left) {
    if (begin_ == 0 && end_ == vector && loads <= left) {
#pragma unroll
      for (int i = 0; i < loads; ++i) v[i] = load_vector(from_ + i * step_);
    } else {
      load_pieces<In, false>(v, readable_, [&](int i) {
        return Piece{from_ + i * step_, begin_, i < left ? end_ : begin_};
      });
    }
    from_ += loads * step_;
  }

  __device__ void multiply(const Vector (&v)[loads], const Sum* of_a) {
#pragma unroll
    for (int i = 0; i < loads; ++i)
#pragma unroll
      for (int row = 0; row < rows; ++row) {
        const int at = i * rows + row;
        const Sum left = reinterpret_cast<const Quad<Sum>*>(of_a)[at / 4].v[at % 4];
#pragma unroll
        for (int j = 0; j < vector; ++j) sum_[row][j] += left * element_of<In>(v[i], j);
      }
  }

  const SkinnySchedule& s_;
  int x_, slice_;
  int first_;  // of the thread's columns, from the block's on
  const char* from_;
  int64_t step_;     // to the thread's next k
  int begin_, end_;  // which of the columns of its vector B has
  Readable readable_;
  Sum sum_[rows][vector] = {};
};

// Lines along k. A thread has every across-th vector of some columns, all of which begin between
// two multiples of 16 bytes at the same place.
template <class In, int rows>
class AlongColumns {
 public:
  using Sum = SumOf<In>;
  static constexpr int vector = vector_bytes / sizeof(In);
  // Columns that a thread asks for at once: less where sums and widened elements fill the
  // registers.
  static constexpr int loads = rows * vector < 16 ? skinny_lines : skinny_lines / 2;
  // Sums of a thread that are added at once.
  static constexpr int most_at_once = 64 / static_cast<int>(sizeof(Sum));
  static constexpr int at_once =
      rows * skinny_lines < most_at_once ? rows * skinny_lines : most_at_once;

  static size_t shared_bytes(const SkinnySchedule& s) {
    const size_t of_a = static_cast<size_t>(rows) * pitch(s),
                 of_sums = static_cast<size_t>(at_once) * s.beside() * (s.across + 1);
    return sizeof(Sum) * (of_a > of_sums ? of_a : of_sums);
  }

  __device__ AlongColumns(const GemmPlan& plan, const SkinnyLaunch& launch, const SkinnyPlace& at,
                          const char* b)
      : s_(launch.schedule),
        x_(static_cast<int>(threadIdx.x) % s_.across),
        line_(static_cast<int>(threadIdx.x) / s_.across),
        readable_(b + at.batch * plan.b.batch_step, plan.n, plan.b.col_step,
                  plan.k * int64_t{sizeof(In)}, false) {
    const char* line = b + at.batch * plan.b.batch_step + (at.column + line_) * plan.b.col_step +
                       at.k * int64_t{sizeof(In)};
    shift_ = misalignment(line) / static_cast<int>(sizeof(In));
    from_ = line - shift_ * static_cast<int>(sizeof(In));
    step_ = s_.beside() * plan.b.col_step;
    const int64_t left = plan.n - at.column - line_;
    lines_ = left <= 0 ? 0
             : left < int64_t{skinny_lines} * s_.beside()
                 ? static_cast<int>((left - 1) / s_.beside()) + 1
                 : skinny_lines;
  }

  __device__ void add(const GemmPlan& plan, const char* a, Sum* shared, int depth) {
    const int hop = s_.across * vector;
    Vector v[loads];
    int k = x_ * vector - shift_;
    load<0>(v, k, depth);
    __syncthreads();
    stage(plan, a, shared, depth);
    __syncthreads();
    while (k < depth) {
      multiply<0>(v, shared, k);
      if constexpr (loads < skinny_lines) {
        load<loads>(v, k, depth);
        multiply<loads>(v, shared, k);
      }
      k += hop;
      if (k < depth) load<0>(v, k, depth);
    }
    from_ += s_.chunk * int64_t{sizeof(In)};
  }

  __device__ void write(const GemmPlan& plan, const SkinnyLaunch& launch,
                        const SkinnyTarget<Sum>& to, const SkinnyPlace& at, Sum* shared) const {
    const int pitch = s_.across + 1, lines = s_.beside();
#pragma unroll
    for (int first = 0; first < rows * skinny_lines; first += at_once) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < at_once; ++i)
        shared[(i * lines + line_) * pitch + x_] =
            sum_[(first + i) / skinny_lines][(first + i) % skinny_lines];
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < at_once * lines; i += skinny_threads) {
        const int row = (first + i / lines) / skinny_lines,
                  column = (first + i / lines) % skinny_lines * lines + i % lines;
        if (row >= plan.m || at.column + column >= plan.n) continue;
        Sum sum = 0;
        for (int x = 0; x < s_.across; ++x) sum += shared[i * pitch + x];
        write_sum<In>(plan, launch, to, at, row, at.column + column, sum);
      }
    }
  }

 private:
  // A's rows, with zeros before and behind the chunk.
  __host__ __device__ static int pitch(const SkinnySchedule& s) {
    return static_cast<int>(s.chunk) + 2 * vector;
  }

  __device__ void stage(const GemmPlan& plan, const char* a, Sum* shared, int depth) const {
    const int pitch = AlongColumns::pitch(s_), chunk = static_cast<int>(s_.chunk);
    stage_vectors<In>(plan, rows, a, depth, chunk, [&](int row, int k, const Vector& of_k) {
#pragma unroll
      for (int j = 0; j < vector; ++j) shared[row * pitch + place(k + j)] = element_of<In>(of_k, j);
    });
    for (int i = static_cast<int>(threadIdx.x); i < 2 * rows * vector; i += skinny_threads)
      shared[i / (2 * vector) * pitch +
             place(i / vector % 2 == 0 ? i % vector - vector : chunk + i % vector)] = 0;
  }

  // Where k of a row lies. Where a vector has eight elements, its two fours lie apart: those of
  // neighbouring threads are then neighbours.
  __device__ int place(int k) const {
    const int at = vector + k;
    return vector <= 4 ? at : at % 8 / 4 * (AlongColumns::pitch(s_) / 2) + at / 8 * 4 + at % 4;
  }

  // Columns first…first + loads - 1 of the thread, from k on.
  template <int first>
  __device__ void load(Vector (&v)[loads], int k, int depth) const {
    const char* from = from_ + (k + shift_) * static_cast<int>(sizeof(In));
    if (lines_ == skinny_lines && 0 <= k && k + vector <= depth) {
#pragma unroll
      for (int i = 0; i < loads; ++i) v[i] = load_vector(from + (first + i) * step_);
    } else {
      load_pieces<In, true>(v, readable_, [&](int i) {
        return Piece{from + (first + i) * step_, -k, first + i < lines_ ? depth - k : -k};
      });
    }
  }

  template <int first>
  __device__ void multiply(const Vector (&v)[loads], const Sum* of_a, int k) {
#pragma unroll
    for (int row = 0; row < rows; ++row, of_a += pitch(s_)) {
      Sum left[vector];
      if (shift_ == 0) {
#pragma unroll
        for (int j = 0; j < vector; ++j)
          left[j] = reinterpret_cast<const Quad<Sum>*>(of_a + place(k + j / 4 * 4))->v[j % 4];
      } else {
#pragma unroll
        for (int j = 0; j < vector; ++j) left[j] = of_a[place(k + j)];
      }
#pragma unroll
      for (int i = 0; i < loads; ++i)
#pragma unroll
        for (int j = 0; j < vector; ++j) sum_[row][first + i] += left[j] * element_of<In>(v[i], j);
    }
  }

  const SkinnySchedule& s_;
  int x_, line_, shift_;
  const char* from_;
  int64_t step_;  // to the thread's next column
  int lines_;     // columns that it has
  Readable readable_;
  Sum sum_[rows][skinny_lines] = {};
};

// Blocks take a part of k for a group of columns of one matrix of the batch. Precondition: plan.m
// <= rows.
template <class In, int rows, template <class, int> class Lines>
__global__ void __launch_bounds__(skinny_threads, resident_blocks(2, skinny_threads))
    multiply_skinny(const __grid_constant__ GemmPlan plan,
                    const __grid_constant__ SkinnyLaunch launch, const char* a, const char* b,
                    const __grid_constant__ SkinnyTarget<SumOf<In>> to) {
  auto* shared = reinterpret_cast<SumOf<In>*>(shared_memory());
  const SkinnySchedule& s = launch.schedule;
  wait_when_known(blockIdx.x);
  let_successor_start();
  for (uint32_t block = blockIdx.x; block < launch.blocks; block += gridDim.x) {
    const SkinnyPlace at = skinny_place(plan, launch, block);
    Lines<In, rows> lines(plan, launch, at, b);
    const char* of_a = a + at.batch * plan.a.batch_step + at.k * plan.a.col_step;
    for (int64_t k = 0; k < at.depth; k += s.chunk)
      lines.add(plan, of_a + k * plan.a.col_step, shared,
                static_cast<int>(at.depth - k < s.chunk ? at.depth - k : s.chunk));
    lines.write(plan, launch, to, at, shared);
    __syncthreads();
  }
}

// Adds the parts of k, the first one first, and finishes C.
template <class In>
__global__ void __launch_bounds__(skinny_threads)
    add_parts(const __grid_constant__ GemmPlan plan, const int64_t parts,
              const __grid_constant__ SkinnyTarget<SumOf<In>> to) {
  const int64_t count = plan.batch * plan.m * plan.n, step = int64_t{gridDim.x} * skinny_threads;
  wait_when_known(blockIdx.x);
  let_successor_start();
  for (int64_t i = int64_t{blockIdx.x} * skinny_threads + threadIdx.x; i < count; i += step) {
    const auto* sums = reinterpret_cast<const SumOf<In>*>(to.sums) + i;
    SumOf<In> sum = sums[0];
    for (int64_t part = 1; part < parts; ++part) sum += sums[part * count];
    const int64_t line = i / plan.n;
    finish_product<In>(plan, place_in(to.c, plan.c, line / plan.m, line % plan.m, i % plan.n), sum,
                       to.alpha, to.beta);
  }
}

}  // namespace infini::gpu
