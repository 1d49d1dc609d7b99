// The small gemm kernel: fetches pieces of k ahead, multiplies, adds what the groups of k have
// found, and writes its tile of C.
#pragma once

#include "backends/nvidia/gemm/element.cuh"
#include "backends/nvidia/gemm/small/arithmetic.cuh"
#include "vendor.h"

namespace infini::nvidia {

// A block's shared memory: room for two rounds of pieces (or for all of a short k), later for the
// groups' sums.
template <class Arithmetic>
struct SmallShared {
  using T = typename Arithmetic::Element;
  static constexpr int a_bytes = Piece<T, Arithmetic::rows>::bytes,
                       piece_bytes = a_bytes + Piece<T, Arithmetic::cols>::bytes;
  static constexpr int round_pieces = 4;
  static constexpr int sum_bytes = Arithmetic::groups * Arithmetic::rows * Arithmetic::pitch *
                                   int{sizeof(typename Arithmetic::Sum)};
  static constexpr int bytes(int pieces) {
    const int room = (pieces <= round_pieces ? pieces : 2 * round_pieces) * piece_bytes;
    return room > sum_bytes ? room : sum_bytes;
  }
};

// One block's part of an operand, from its first row or column and its matrix on. A thread fetches
// the same words of every piece: one in some line, and the one below it every few lines.
template <class T, int extent, int threads>
class Fetcher {
 public:
  __device__ Fetcher(const SmallOperand& s, const char* base, int batch, int first, int x_extent,
                     int k_extent, int unit)
      : unit_(unit) {
    const int shift = __ffs(s.k_inside ? small_line_bytes : extent * int{sizeof(T)}) - __ffs(unit),
              line = static_cast<int>(threadIdx.x) >> shift,
              word = static_cast<int>(threadIdx.x) & ((1 << shift) - 1), lines = threads >> shift;
    const int inner = word * unit / int{sizeof(T)}, outer_step = s.k_inside ? s.x_step : s.k_step;
    from_ = base + int64_t{batch} * s.batch_step + int64_t{first} * s.x_step +
            int64_t{line} * outer_step + int64_t{inner} * (s.k_inside ? s.k_step : s.x_step);
    piece_step_ = int64_t{P::depth} * s.k_step;
    line_step_ = int64_t{lines} * outer_step;
    to_ = line * P::pitch(s.k_inside) + word * unit;
    to_step_ = lines * P::pitch(s.k_inside);
    x_left_ = x_extent - first - (s.k_inside ? line : inner);
    k_left_ = k_extent - (s.k_inside ? inner : line);
    x_step_ = s.k_inside ? lines : 0;
    k_step_ = s.k_inside ? 0 : lines;
  }

  // Depends on all that was computed.
  __device__ uint32_t known() const {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from_) ^ piece_step_ ^ line_step_) ^
           to_ ^ to_step_ ^ x_left_ ^ k_left_ ^ x_step_ ^ k_step_;
  }

  // The next piece of k, to an address in shared memory: in words of 16 bytes, or any.
  __device__ void fetch_vectors(uint32_t piece) {
#pragma unroll
    for (int i = 0; i < words; ++i)
      fetch<16>(piece + to_ + i * to_step_, from_ + i * line_step_, has(i));
    advance();
  }
  __device__ void fetch_any(uint32_t piece) {
    if (sizeof(T) == 2 && unit_ == 2) {
      singly(piece + to_);
    } else {
#pragma unroll 1
      for (int i = 0, bytes = 16 * words; bytes > 0; ++i, bytes -= unit_) {
        const uint32_t to = piece + to_ + i * to_step_;
        const char* from = from_ + i * line_step_;
        if (unit_ == 16)
          fetch<16>(to, from, has(i));
        else if (unit_ == 8)
          fetch<8>(to, from, has(i));
        else
          fetch<4>(to, from, has(i));
      }
    }
    advance();
  }

 private:
  using P = Piece<T, extent>;
  static constexpr int words = extent * small_line_bytes / 16 / threads;  // of 16 bytes
  static_assert(words > 0);

  __device__ void advance() {
    from_ += piece_step_;
    k_left_ -= P::depth;
  }
  __device__ bool has(int i) const { return i * x_step_ < x_left_ && i * k_step_ < k_left_; }

  // Elements of 16 bits, which nothing fetches in the background: eight are read, then written.
  __device__ void singly(uint32_t to) const {
    const char* from = from_;
    int x_left = x_left_, k_left = k_left_;
#pragma unroll 1
    for (int word = 0; word < words; ++word) {
      uint16_t values[8];
#pragma unroll
      for (uint16_t& value : values) {
        value = x_left > 0 && k_left > 0 ? *reinterpret_cast<const uint16_t*>(from) : uint16_t{0};
        from += line_step_, x_left -= x_step_, k_left -= k_step_;
      }
#pragma unroll
      for (const uint16_t value : values) {
        store_shared(to, value);
        to += to_step_;
      }
    }
  }

  const char* from_;
  int64_t piece_step_, line_step_;  // to the next piece, and to this thread's next line
  uint32_t to_, to_step_;
  int x_left_, k_left_, x_step_, k_step_;  // elements from here to the end; from line to line
  int unit_;
};

// Adds the groups' sums of the tile's elements inside C and finishes them. Neighbouring threads
// have neighbouring columns.
template <class Arithmetic>
class TileWriter {
 public:
  using T = typename Arithmetic::Element;
  using Sum = typename Arithmetic::Sum;

  __device__ TileWriter(const SmallGemm& s, const SmallPlace& place, char* c)
      : to_(c + int64_t{place.batch} * s.c_batch_step + int64_t{place.row + row()} * s.c_row_step +
            int64_t{place.col + col()} * s.c_col_step),
        row_step_(s.c_row_step),
        rows_left_(place.col + col() < s.n ? s.m - place.row - row() : 0),
        wide_(sizeof(T) == 2 && s.c_is_f32) {}

  __device__ uint32_t known() const {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to_)) ^ rows_left_;
  }

  __device__ void operator()(const Sum* sums, Sum alpha, Sum beta) const {
    constexpr int step = Arithmetic::threads / cols;
    sums += row() * Arithmetic::pitch + col();
#pragma unroll
    for (int i = 0; i < rows; i += step) {
      if (i >= rows_left_) return;
      Sum value = 0;
#pragma unroll
      for (int group = 0; group < Arithmetic::groups; ++group)
        value += sums[(group * rows + i) * Arithmetic::pitch];
      value = scaled(value, alpha);
      char* to = to_ + int64_t{i} * row_step_;
      if (beta != 0)
        value = plus_scaled(value, beta,
                            wide_ ? read_element<float, Sum>(to) : read_element<T, Sum>(to));
      wide_ ? write_element<float>(to, value) : write_element<T>(to, value);
    }
  }

 private:
  static constexpr int rows = Arithmetic::rows, cols = Arithmetic::cols;
  static_assert(Arithmetic::threads % cols == 0 && rows * cols % Arithmetic::threads == 0);
  static __device__ int row() { return static_cast<int>(threadIdx.x) / cols; }
  static __device__ int col() { return static_cast<int>(threadIdx.x) % cols; }

  char* to_;
  int row_step_, rows_left_;
  bool wide_;
};

// A product's pieces of k on their way through shared memory, a round of them at a time.
template <class Arithmetic>
class Pipeline {
 public:
  using T = typename Arithmetic::Element;
  using Shared = SmallShared<Arithmetic>;
  static constexpr int round = Shared::round_pieces, round_bytes = round * Shared::piece_bytes;

  __device__ Pipeline(const SmallGemm& s, const SmallPlace& place, const char* a, const char* b,
                      int a_unit, int b_unit)
      : a_(s.a, a, place.batch, place.row, s.m, s.k, a_unit),
        b_(s.b, b, place.batch, place.col, s.n, s.k, b_unit),
        vectors_(a_unit == 16 && b_unit == 16) {
    to_fetch_ = to_add_ = (s.k + depth - 1) / depth;
  }
  __device__ uint32_t known() const {
    return a_.known() ^ b_.known() ^ static_cast<uint32_t>(to_fetch_);
  }

  // Adds the whole product; the shared memory may be used for other things afterwards.
  __device__ void run(Arithmetic& arithmetic, char* shared) {
    uint32_t now = shared_address(shared), next = now;
#pragma unroll 1
    for (bool first = true;; first = false) {
      if (to_fetch_ > 0) fetch_round(next);
      close_fetch_group();
      const uint32_t last = now;
      now = next;
      next = first ? next + round_bytes : last;
      if (first) continue;
      wait_for_fetches<1>();
      __syncthreads();
      add_round(arithmetic, last);
      __syncthreads();  // what was read may be overwritten
      if (to_add_ <= 0) break;
    }
  }

 private:
  static constexpr int depth = Piece<T, Arithmetic::rows>::depth;

  __device__ void fetch_round(uint32_t at) {
    if (vectors_) {
#pragma unroll
      for (int i = 0; i < round; ++i) {
        if (i >= to_fetch_) break;
        a_.fetch_vectors(at + i * Shared::piece_bytes);
        b_.fetch_vectors(at + i * Shared::piece_bytes + Shared::a_bytes);
      }
    } else {
#pragma unroll 1
      for (int i = 0; i < min(to_fetch_, round); ++i) {
        a_.fetch_any(at + i * Shared::piece_bytes);
        b_.fetch_any(at + i * Shared::piece_bytes + Shared::a_bytes);
      }
    }
    to_fetch_ -= round;
  }

  // Whole rounds without branches, where the code stays short.
  __device__ void add_round(Arithmetic& arithmetic, uint32_t at) {
    if (Arithmetic::short_pieces && to_add_ >= round) {
#pragma unroll
      for (int i = 0; i < round; ++i)
        arithmetic.add(at + i * Shared::piece_bytes,
                       at + i * Shared::piece_bytes + Shared::a_bytes);
    } else {
#pragma unroll 1
      for (int i = 0; i < min(to_add_, round); ++i)
        arithmetic.add(at + i * Shared::piece_bytes,
                       at + i * Shared::piece_bytes + Shared::a_bytes);
    }
    to_add_ -= round;
  }

  Fetcher<T, Arithmetic::rows, Arithmetic::threads> a_;
  Fetcher<T, Arithmetic::cols, Arithmetic::threads> b_;
  int to_fetch_, to_add_;  // pieces
  bool vectors_;           // both operands can be fetched in words of 16 bytes
};

// Starts before its predecessor is done: nothing is read or written before wait_when_known().
// The successor may take its place early only if that leaves room: blocks that wait side by side
// for a later turn would share a processor when it comes.
template <class Arithmetic>
__global__ void __launch_bounds__(Arithmetic::threads)
    multiply_small(const __grid_constant__ SmallGemm s, char* c, const char* a, const char* b,
                   typename Arithmetic::Sum alpha, typename Arithmetic::Sum beta, int a_unit,
                   int b_unit) {
  constexpr unsigned few_blocks = 8;
  extern __shared__ __align__(16) char shared[];
  const SmallPlace place = place_tile(s, blockIdx.x, {Arithmetic::rows, Arithmetic::cols});
  Pipeline<Arithmetic> pipeline(s, place, a, b, a_unit, b_unit);
  const TileWriter<Arithmetic> write(s, place, c);
  Arithmetic arithmetic(s.a.k_inside, s.b.k_inside);
  if (gridDim.x <= few_blocks) gpu::let_successor_start();
  gpu::wait_when_known(pipeline.known() ^ write.known() ^ arithmetic.known());
  gpu::let_successor_start();

  pipeline.run(arithmetic, shared);
  auto* sums = reinterpret_cast<typename Arithmetic::Sum*>(shared);
  arithmetic.put(sums);
  __syncthreads();
  write(sums, alpha, beta);
}

}  // namespace infini::nvidia
