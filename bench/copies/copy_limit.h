// The limit that rearrange is measured against: the best plain copy of as many bytes on the same device.
#pragma once

#include <cstddef>
#include <vector>

namespace infini::bench {

// A way to copy on the CPU with a number of threads, whole pages to each.
struct PlainCopy {
  const char* name;
  void (*run)(void* dst, const void* src, size_t bytes, int threads);
};

// Those that this processor has: libc's memcpy, `rep movsb`, ascending stores past the caches, and the same with
// software prefetch. None is best on every processor at every size; the limit is the best one of the run.
const std::vector<PlainCopy>& plain_copies();

// Reads every byte once; what a product that streams its weights could reach.
void read_all(const void* src, size_t bytes, int threads);

}  // namespace infini::bench
