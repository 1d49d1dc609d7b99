// Copies of contiguous bytes past the cache.
#pragma once

#include <cstdint>

namespace infini::cpu {

// Whole aligned lines of dst are streamed, the edges stored. Any alignment. The caller fences
// (streaming_fence) before it hands the result on.
void copy_streamed(char* dst, const char* src, int64_t bytes);

// The same in ascending order, while what lies so many bytes ahead in src is fetched: for runs that follow one another
// there. 0: nothing is.
void copy_streamed_ahead(char* dst, const char* src, int64_t bytes, int64_t ahead);

}  // namespace infini::cpu
