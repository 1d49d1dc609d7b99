// Rings of liburing, which is opened at run time: the library does not depend on it.
#include <dlfcn.h>
#include <liburing.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "base/environment.h"
#include "base/error.h"
#include "base/threads/lazy.h"
#include "file/requests/ring.h"

namespace infini::file {
namespace {

constexpr int64_t most_at_once = 1 << 30;  // an io_uring read's length has 32 bits

struct Liburing {
  Liburing() {
    if (!environment_flag("INFINI_IO_URING", true)) return;
    void* const library = dlopen("liburing.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    init = reinterpret_cast<decltype(init)>(dlsym(library, "io_uring_queue_init"));
    exit = reinterpret_cast<decltype(exit)>(dlsym(library, "io_uring_queue_exit"));
    get_sqe = reinterpret_cast<decltype(get_sqe)>(dlsym(library, "io_uring_get_sqe"));
    submit = reinterpret_cast<decltype(submit)>(dlsym(library, "io_uring_submit_and_wait"));
    peek = reinterpret_cast<decltype(peek)>(dlsym(library, "io_uring_peek_batch_cqe"));
  }
  bool whole() const { return init && exit && get_sqe && submit && peek; }

  int (*init)(unsigned, io_uring*, unsigned) = nullptr;
  void (*exit)(io_uring*) = nullptr;
  io_uring_sqe* (*get_sqe)(io_uring*) = nullptr;
  int (*submit)(io_uring*, unsigned) = nullptr;
  unsigned (*peek)(io_uring*, io_uring_cqe**, unsigned) = nullptr;
};

const Liburing& liburing() {
  static constinit Lazy<Liburing> opened;
  return opened.get();
}

// What the page cache has is copied at once, for less than a ring's request.
bool read_cached(const Piece& piece) {
  iovec memory{piece.memory, static_cast<size_t>(piece.bytes)};
  return preadv2(piece.file->fd(), &memory, 1, piece.offset, RWF_NOWAIT) == piece.bytes;
}

// A ring, and the reads in flight on it.
class Ring {
 public:
  explicit Ring(unsigned depth) : depth_(depth), status_(liburing().init(depth, &ring_, 0)) {}
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    if (works()) liburing().exit(&ring_);
  }
  bool works() const { return status_ == 0; }
  bool has_room() const { return in_flight_ < depth_; }
  bool is_idle() const { return in_flight_ == 0; }

  void start(const Piece& piece, size_t number) {
    io_uring_sqe* const entry = liburing().get_sqe(&ring_);  // there are `depth` of them
    io_uring_prep_read(entry, piece.file->fd(), piece.memory,
                       static_cast<unsigned>(std::min(piece.bytes, most_at_once)),
                       static_cast<uint64_t>(piece.offset));
    io_uring_sqe_set_data64(entry, number);
    ++in_flight_;
  }
  // Waits until at least one has ended; ended(number, result) for each that has, which must not throw.
  template <class Ended>
  void wait(const Ended& ended) {
    int status = 0;
    do status = liburing().submit(&ring_, 1);
    while (status == -EINTR || status == -EAGAIN || status == -EBUSY);
    require(status >= 0, INFINI_STATUS_INTERNAL_ERROR, "io_uring failed with error ", -status);
    io_uring_cqe* done[16];
    const unsigned count = liburing().peek(&ring_, done, 16);
    for (unsigned i = 0; i < count; ++i) ended(io_uring_cqe_get_data64(done[i]), done[i]->res);
    io_uring_cq_advance(&ring_, count);
    in_flight_ -= count;
  }

 private:
  io_uring ring_{};
  unsigned depth_, in_flight_ = 0;
  int status_;
};

}  // namespace

bool read_by_ring(const std::vector<Piece>& pieces, std::atomic<size_t>& next, unsigned depth) {
  if (!liburing().whole()) return false;
  const auto take = [&](size_t& number) {  // the next that is not in memory
    do number = next.fetch_add(1);
    while (number < pieces.size() && read_cached(pieces[number]));
    return number < pieces.size();
  };
  size_t number = 0;
  if (!take(number)) return true;
  Ring ring(depth);
  if (!ring.works()) {
    pieces[number].file->read(pieces[number].memory, pieces[number].bytes, pieces[number].offset);
    return false;
  }
  ring.start(pieces[number], number);
  std::exception_ptr error;
  for (;;) {
    while (ring.has_room() && take(number)) ring.start(pieces[number], number);
    if (ring.is_idle()) break;
    ring.wait([&](size_t ended, int result) {
      const Piece& piece = pieces[ended];
      const int64_t got = std::max(result, 0);
      // What is missing is read in the usual way, which also has the words for what is wrong.
      if (got < piece.bytes) try {
          piece.file->read(piece.memory + got, piece.bytes - got, piece.offset + got);
        } catch (...) {
          if (!error) error = std::current_exception();
          next = pieces.size();
        }
    });
  }
  if (error) std::rethrow_exception(error);
  return true;
}

}  // namespace infini::file
