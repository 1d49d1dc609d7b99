// Copies of contiguous bytes past the cache.
#pragma once

#include <cstdint>

namespace infini::cpu {

// Whole aligned lines of dst are streamed, the edges stored. Any alignment. The caller fences
// (streaming_fence) before it hands the result on.
void copy_streamed(char* dst, const char* src, int64_t bytes);

}  // namespace infini::cpu
