// For builds without liburing: there is no ring.
#include "file/requests/ring.h"

namespace infini::file {

bool read_by_ring(const std::vector<Piece>&, std::atomic<size_t>&, unsigned) { return false; }

}  // namespace infini::file
