// A client's transport, with errors as exceptions and requests that are accounted for.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "infinireshard.h"

namespace infini {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;
Deadline after_seconds(double seconds);
double seconds_until(Deadline deadline);  // 0: it is over

class Wire {
 public:
  // Throws BAD_PARAM or NULL_POINTER for a table that lacks something.
  explicit Wire(const infiniTransport_t* transport);

  int rank() const { return table_.rank; }
  int ranks() const { return table_.ranks; }
  // Whether another thread than the caller's may use it, too, one at a time.
  bool any_thread() const { return table_.any_thread != 0; }
  // What messages may lie in, and rounds where there are some: then it is these that take it.
  bool takes_device_memory() const { return table_.takes_device_memory != 0 && !has_rounds(); }
  bool rounds_take_device_memory() const { return table_.takes_device_memory != 0 && has_rounds(); }
  // What ranks of this machine share; NULL where `rank` is elsewhere, 0 bytes where nobody shares any.
  void* shared(int rank) const { return table_.shared[rank]; }
  size_t shared_bytes() const { return table_.shared == nullptr ? 0 : table_.shared_bytes; }

  // What was posted is known by its number, which is used again once it is done.
  size_t send(int peer, int tag, const void* data, size_t bytes);
  size_t receive(int peer, int tag, void* data, size_t bytes);
  struct Done {
    size_t number;
    size_t bytes;
  };
  // Throws INTERNAL_ERROR when nothing was done until the deadline; the message tells what is waited for.
  Done wait_any(Deadline deadline);
  // What is done already, if anything.
  std::optional<Done> poll();
  size_t posted() const { return posted_; }
  // Tells what is waited for; `besides` is something else that is.
  [[noreturn]] void fail_late(std::string besides = "") const;
  // Rounds: what one rank sends and receives at once; see infiniTransport_t. They are counted as posted until they have ended.
  bool has_rounds() const { return table_.begin_round != nullptr; }
  struct Round {
    void* handle = nullptr;
    std::vector<infiniTransfer_t> transfers;
  };
  void begin_round(Round& round, int tag, bool on_device, void* stream);
  // False: it has not ended in that time. On a device it never waits.
  bool end_round(Round& round, void* stream, double seconds);
  [[noreturn]] void fail_late(const Round& round) const;
  // What rounds left on a stream has been done.
  void rounds_are_over() { on_stream_ = false; }
  // Ends all that was posted. False: the transport may still use the memory.
  bool give_up() noexcept;

 private:
  struct Posted {
    int peer;
    size_t bytes;
    bool send;
  };
  size_t place_of_request();
  std::optional<Done> wait_at_most(double seconds);
  void check(int error, const char* what, int peer) const;  // -1: nobody knows with whom

  infiniTransport_t table_;
  std::vector<void*> requests_;
  std::vector<Posted> about_;
  size_t posted_ = 0;
  std::vector<void*> rounds_;  // that have begun
  bool on_stream_ = false;     // some of them may be there
};

}  // namespace infini
