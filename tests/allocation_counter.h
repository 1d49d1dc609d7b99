// Counts every operator new of the program that links allocation_counter.cpp.
#pragma once

#include <cstdint>

namespace infini::test {

int64_t allocation_count();

}  // namespace infini::test
