// Copies of growing size, with ordinary and with streaming stores in turns.
#include "backends/cpu/tune.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "backends/cpu/copy_bytes.h"
#include "backends/cpu/tile_kernels.h"

namespace infini::cpu {
namespace {

using Buffer = std::unique_ptr<char, decltype(&std::free)>;

// Touched, so that no page is missing when the clock runs.
Buffer touched(int64_t bytes) {
  Buffer buffer(static_cast<char*>(std::aligned_alloc(4096, static_cast<size_t>(bytes))), std::free);
  if (buffer != nullptr) std::memset(buffer.get(), 1, static_cast<size_t>(bytes));
  return buffer;
}

template <class Copy>
double seconds(Copy copy) {
  const auto start = std::chrono::steady_clock::now();
  copy();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The best of a few turns each: whatever disturbs makes slower, never faster.
bool streaming_wins(char* dst, const char* src, int64_t bytes) {
  double ordinary = 1e9, streamed = 1e9;
  for (int turn = 0; turn < 5; ++turn) {
    ordinary = std::min(ordinary, seconds([&] {
      std::memcpy(dst, src, static_cast<size_t>(bytes));
    }));
    streamed = std::min(streamed, seconds([&] {
      copy_streamed(dst, src, bytes);
      streaming_fence();
    }));
  }
  return streamed < ordinary;
}

}  // namespace

int64_t measure_streamed_bytes(int64_t guess) {
  const int64_t most = std::max<int64_t>(4096, guess * 8 / 4096 * 4096);
  const Buffer dst = touched(most), src = touched(most);
  if (dst == nullptr || src == nullptr) return guess;
  for (int64_t bytes = most / 32; bytes < most; bytes *= 2)
    if (streaming_wins(dst.get(), src.get(), bytes)) return bytes;
  return most;
}

bool tuning_wanted() {
  static const bool wanted = [] {
    const char* value = std::getenv("INFINI_TUNE");
    return value != nullptr && std::strcmp(value, "1") == 0;
  }();
  return wanted;
}

}  // namespace infini::cpu
