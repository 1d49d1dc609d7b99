// Several requests in flight: a thread's each, or many of a ring.
#include "file/requests/requests.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>

#include "file/requests/ring.h"

namespace infini::file {
namespace {

constexpr size_t threads_at_most = 4;
constexpr unsigned reads_of_a_ring = 16;  // each thread has one
// Fewer pieces are not worth rings: making one takes as long as several reads of a fast disk.
constexpr size_t fewest_for_rings = 64;

using Next = std::atomic<size_t>;

// Calls work(next) on several threads at once, each of which takes pieces by their numbers from `next`; the first error is thrown.
template <class Work>
void share(size_t pieces, const Work& body) {
  Next next{0};
  const auto work = [&] { body(next); };
  const size_t threads = std::min(threads_at_most, pieces);
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, work));
  std::exception_ptr error;
  const auto guarded = [&](const auto& step) {
    try {
      step();
    } catch (...) {
      if (!error) error = std::current_exception();
      next = pieces;
    }
  };
  guarded(work);
  for (auto& other : others) guarded([&] { other.get(); });
  if (error) std::rethrow_exception(error);
}

// body(piece), one after the other.
template <class Body>
void take_pieces(const std::vector<Piece>& pieces, Next& next, const Body& body) {
  for (size_t i; (i = next.fetch_add(1)) < pieces.size();) body(pieces[i]);
}

}  // namespace

void read_pieces(const std::vector<Piece>& pieces) {
  share(pieces.size(), [&](Next& next) {
    if (pieces.size() >= fewest_for_rings && read_by_ring(pieces, next, reads_of_a_ring)) return;
    take_pieces(pieces, next, [](const Piece& p) { p.file->read(p.memory, p.bytes, p.offset); });
  });
}

void write_pieces(const std::vector<Piece>& pieces) {
  share(pieces.size(), [&](Next& next) {
    take_pieces(pieces, next, [](const Piece& p) { p.file->write(p.memory, p.bytes, p.offset); });
  });
}

}  // namespace infini::file
