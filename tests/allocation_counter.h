// Counts every operator new of the program that links allocation_counter.cpp, and makes one fail.
#pragma once

#include <cstdint>

namespace infini::test {

int64_t allocation_count();
// Bytes held now, as malloc counts them.
int64_t allocated_bytes();
// The n-th allocation from now on throws std::bad_alloc (n = 1: the next); 0: none does. Returns whether
// the one that was to fail before has been asked for.
bool fail_allocation(int64_t n);

}  // namespace infini::test
