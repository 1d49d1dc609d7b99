// Threads: the one place that knows OpenMP.
#pragma once

#include <cstdint>

namespace infini::cpu {

// The threads that a region may have now: 1 inside another parallel region and in a forked child
// (the OpenMP runtime does not survive a fork).
int available_threads();

using ChunkBody = void (*)(const void* context, int64_t begin, int64_t end);

// Calls body(context, begin, end) for consecutive chunks that cover [0, count), one per thread.
// The body must not throw.
void parallel_chunks(int64_t count, int threads, ChunkBody body, const void* context);

// body(begin, end), as above; no allocation, the body is called by reference.
template <class Body>
void parallel_for(int64_t count, int threads, const Body& body) {
  if (threads <= 1 || count <= 1) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
  parallel_chunks(
      count, threads,
      [](const void* context, int64_t begin, int64_t end) {
        (*static_cast<const Body*>(context))(begin, end);
      },
      &body);
}

}  // namespace infini::cpu
