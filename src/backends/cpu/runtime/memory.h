// Host memory: aligned, backed by huge pages where it is large, and every live block known.
#pragma once

#include <cstddef>

namespace infini::cpu {

constexpr size_t memory_alignment = 64;

// Throws OUT_OF_MEMORY with the size when there is no memory.
void* allocate(size_t bytes);
// Throws BAD_PARAM when p is not the start of a live block.
void deallocate(void* p);
// The same without freeing it: the caller will, by the next. Until then it is nobody's block.
void disown(void* p);
void free_disowned(void* p) noexcept;

}  // namespace infini::cpu
