// operator new, counted.
#include "failing_new.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace emulators {
namespace {

std::atomic<int64_t> left{0};
std::atomic<bool> stays{false}, failed{false};

void* allocate(size_t bytes) {
  const int64_t before = left.load();
  if (before > 0) left = before == 1 && stays ? 1 : before - 1;
  if (before == 1) {
    failed = true;
    throw std::bad_alloc();
  }
  if (void* p = std::malloc(bytes > 0 ? bytes : 1)) return p;
  throw std::bad_alloc();
}

}  // namespace

void fail_new(int64_t n, bool for_good) {
  stays = for_good;
  failed = false;
  left = n;
}

bool new_has_failed() { return failed; }

}  // namespace emulators

void* operator new(size_t bytes) { return emulators::allocate(bytes); }
void* operator new[](size_t bytes) { return emulators::allocate(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return emulators::allocate(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](size_t bytes, const std::nothrow_t& quiet) noexcept {
  return operator new(bytes, quiet);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
