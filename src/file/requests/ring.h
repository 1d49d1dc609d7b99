// Reads of many pieces through io_uring, where this machine has it.
#pragma once

#include <atomic>
#include <vector>

#include "file/requests/requests.h"

namespace infini::file {

// Reads pieces as `next` hands out their numbers, `depth` of them in flight, until there are none; throws the first error when
// nothing is in flight any more. False, with pieces left, where there is no ring: the library was built without liburing, there is
// no liburing.so.2, the kernel refuses (it is old, or by seccomp), or INFINI_IO_URING=0.
bool read_by_ring(const std::vector<Piece>& pieces, std::atomic<size_t>& next, unsigned depth);

}  // namespace infini::file
