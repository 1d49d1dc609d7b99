// The kernels of misuse.h.
#include "misuse.h"

namespace {

constexpr unsigned n = misuse_threads;

__device__ float* staged_floats() { return static_cast<float*>(simtSharedMemory()); }

// 4 floats per thread for the first quarter of the block.
__device__ void stage(float* shared, const float* x) {
  if (threadIdx.x < n / 4) simtStageVector(shared + 4 * threadIdx.x, x + 4 * threadIdx.x);
}

__device__ void reverse(float* y, const float* x, Misuse which) {
  float* shared = staged_floats();
  stage(shared, x);
  if (which != Misuse::no_stage_wait) simtStageWait();
  if (which != Misuse::no_barrier_after_wait) __syncthreads();
  y[threadIdx.x] = shared[n - 1 - threadIdx.x];
  if (which == Misuse::no_stage_wait) simtStageWait();
}

__device__ void reverse_by_words(float* y, const float* x, bool barrier) {
  float* shared = staged_floats();
  shared[threadIdx.x] = x[threadIdx.x];
  if (barrier) __syncthreads();
  y[threadIdx.x] = shared[n - 1 - threadIdx.x];
}

// Every thread has a byte; then, beyond a barrier unless it is left out, the first ones of four read a word.
__device__ void write_bytes_read_words(float* y, bool barrier) {
  auto* bytes = static_cast<unsigned char*>(simtSharedMemory());
  bytes[threadIdx.x] = 1;
  y[threadIdx.x] = 1;
  y[threadIdx.x] += bytes[threadIdx.x];
  if (barrier) __syncthreads();
  if (threadIdx.x % 4 == 0) y[threadIdx.x] += staged_floats()[threadIdx.x / 4];
}

// All add to one word; beyond a barrier, unless it is left out, each reads it.
__device__ void add_together(float* y, bool barrier) {
  auto* sum = static_cast<uint32_t*>(simtSharedMemory());
  if (threadIdx.x == 0) *sum = 0;
  __syncthreads();
  simtAtomicAdd(sum, 1);
  if (barrier) __syncthreads();
  y[threadIdx.x] = static_cast<float>(*sum);
}

__global__ void misuse(Misuse which, bool waits, float* all_y, const float* all_x) {
  if (waits) simtWaitForPredecessor();
  float* y = all_y + blockIdx.x * blockDim.x;
  const float* x = all_x + blockIdx.x * blockDim.x;
  const unsigned t = threadIdx.x;
  const bool last = blockIdx.x == gridDim.x - 1 && t == n - 1;
  switch (which) {
    case Misuse::none:
    case Misuse::no_stage_wait:
    case Misuse::no_barrier_after_wait: return reverse(y, x, which);
    case Misuse::shared_words:
    case Misuse::byte_of_a_word: return write_bytes_read_words(y, which == Misuse::shared_words);
    case Misuse::atomic_additions:
    case Misuse::no_barrier_after_additions:
      return add_together(y, which == Misuse::atomic_additions);
    case Misuse::no_barrier: return reverse_by_words(y, x, false);
    case Misuse::pending_at_exit: return stage(staged_floats(), x);
    case Misuse::divergent_barrier:
      if (t != 7) __syncthreads();
      break;
    case Misuse::beyond_the_end: y[last ? n : t] = 1; break;
    case Misuse::before_the_begin: y[t] = blockIdx.x == 0 && t == 0 ? x[-1] : 1; break;
    case Misuse::beyond_shared: staged_floats()[last ? n : t] = 1; break;
    case Misuse::misaligned_vector:
      if (t == 0) *reinterpret_cast<uint4*>(y + 1) = make_uint4(1, 2, 3, 4);
      break;
    case Misuse::misaligned_word:
      if (t == 0) *reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(y) + 2) = 1;
      break;
    case Misuse::misaligned_stage:
      if (t == 0) simtStageVector(staged_floats(), x + 1);
      break;
    case Misuse::stage_to_global:
      if (t == 0) simtStageVector(y, x);
      break;
    case Misuse::written_twice: y[t / 2] = 1; break;
    case Misuse::read_and_written: y[t] = y[t ^ 1]; break;
    case Misuse::reads_shared_garbage: y[t] = staged_floats()[t]; break;
  }
}

}  // namespace

simtError_t launch_misuse(Misuse which, float* y, const float* x, simtStream_t stream, bool early,
                          bool waits) {
  void* arguments[] = {&which, &waits, &y, &x};
  return (early ? simtLaunchKernelEarly : simtLaunchKernel)(simtKernelAddress(misuse),
                                                            misuse_blocks, misuse_threads,
                                                            arguments, n * sizeof(float), stream);
}
