// The limit that rearrange is measured against: a plain copy of as many bytes on the same device.
#pragma once

#include <cstddef>

namespace infini::bench {

// On the CPU, with the library's number of threads: glibc's memcpy, or streaming stores that bypass
// the caches. Neither is best at all sizes; the limit is the better of the two.
void memcpy_copy(void* dst, const void* src, size_t bytes, int threads);
void streaming_copy(void* dst, const void* src, size_t bytes, int threads);

// Reads every byte once; what a product that streams its weights could reach.
void read_all(const void* src, size_t bytes, int threads);

}  // namespace infini::bench
