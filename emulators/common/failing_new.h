// A host that runs out of memory on demand: for the emulators' tests.
#pragma once

#include <cstdint>

namespace emulators {

// The n-th operator new from now throws (0: none); `for_good`: so do all after it.
void fail_new(int64_t n, bool for_good);
// Whether one has thrown since.
bool new_has_failed();

}  // namespace emulators
