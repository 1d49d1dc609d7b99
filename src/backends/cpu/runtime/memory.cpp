// Host memory with a set of live blocks: a pointer that is not ours is an error, not a crash.
#include "backends/cpu/runtime/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <unordered_set>

#include "base/error.h"
#include "base/threads/lazy.h"
#include "base/threads/mutex.h"

namespace infini::cpu {
namespace {

constexpr size_t huge_page = size_t{2} << 20;

struct Blocks {
  Mutex mutex;
  std::unordered_set<void*> live;
};

Blocks& blocks() {
  static constinit Lazy<Blocks> all;
  return all.get();
}

void* raw_allocate(size_t bytes) {
  const size_t alignment = bytes >= 2 * huge_page ? huge_page : memory_alignment;
  if (bytes > SIZE_MAX - alignment) return nullptr;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, rounded);
  if (p != nullptr && alignment == huge_page) madvise(p, rounded, MADV_HUGEPAGE);  // a wish
  return p;
}

}  // namespace

void* allocate(size_t bytes) {
  void* p = raw_allocate(bytes);
  require(p != nullptr, INFINI_STATUS_OUT_OF_MEMORY, "cannot allocate ", bytes,
          " bytes of host memory");
  try {
    std::lock_guard lock(blocks().mutex);
    blocks().live.insert(p);
  } catch (...) {
    std::free(p);
    throw;
  }
  return p;
}

void disown(void* p) {
  std::lock_guard lock(blocks().mutex);
  require(blocks().live.erase(p) == 1, INFINI_STATUS_BAD_PARAM, "p (", p,
          ") is not memory of this device: freed already, or allocated elsewhere");
}

void free_disowned(void* p) noexcept { std::free(p); }

void deallocate(void* p) {
  disown(p);
  free_disowned(p);
}

}  // namespace infini::cpu
