// Host memory: aligned, backed by huge pages where it is large, and every live block known.
#pragma once

#include <cstddef>

namespace infini::cpu {

constexpr size_t memory_alignment = 64;

// Throws INTERNAL_ERROR with the size when there is no memory.
void* allocate(size_t bytes);
// Throws BAD_PARAM when p is not the start of a live block.
void deallocate(void* p);

}  // namespace infini::cpu
