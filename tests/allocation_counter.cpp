// Replaces operator new by one that counts. In a file of its own, so that nothing is inlined.
#include "tests/allocation_counter.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<int64_t> count{0}, bytes{0}, until_failure{0};

namespace infini::test {
int64_t allocation_count() { return count.load(); }
int64_t allocated_bytes() { return bytes.load(); }
bool fail_allocation(int64_t n) { return until_failure.exchange(n) == 0; }
}  // namespace infini::test

void* operator new(size_t size) {
  ++count;
  if (until_failure.load() > 0 && --until_failure == 0) throw std::bad_alloc();
  void* p = std::malloc(size);
  if (p == nullptr) throw std::bad_alloc();
  bytes += static_cast<int64_t>(malloc_usable_size(p));
  return p;
}
// What std::stable_sort asks for its buffer.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* p) noexcept {
  bytes -= static_cast<int64_t>(malloc_usable_size(p));
  std::free(p);
}
void operator delete(void* p, size_t) noexcept { operator delete(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { operator delete(p); }
