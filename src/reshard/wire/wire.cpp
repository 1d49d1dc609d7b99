// Calls of a client's transport.
#include "reshard/wire/wire.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace infini {

Deadline after_seconds(double seconds) {
  constexpr double longest = 1e9;  // some thirty years
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::clamp(seconds, 0.0, longest)));
}

double seconds_until(Deadline deadline) {
  return std::max(std::chrono::duration<double>(deadline - Clock::now()).count(), 0.0);
}

Wire::Wire(const infiniTransport_t* transport) : table_{} {
  require_pointer(transport, "transport");
  require(transport->size >= offsetof(infiniTransport_t, takes_device_memory) + sizeof(int),
          INFINI_STATUS_BAD_PARAM, "transport->size is ", transport->size,
          "; expected sizeof(infiniTransport_t)");
  std::memcpy(&table_, transport, std::min(transport->size, sizeof table_));
  require(
      table_.post_send != nullptr && table_.post_receive != nullptr && table_.wait_any != nullptr,
      INFINI_STATUS_NULL_POINTER, "the transport lacks post_send, post_receive or wait_any");
  require((table_.begin_round == nullptr) == (table_.end_round == nullptr),
          INFINI_STATUS_NULL_POINTER, "the transport has one of begin_round and end_round");
  require(table_.ranks >= 1 && table_.rank >= 0 && table_.rank < table_.ranks,
          INFINI_STATUS_BAD_PARAM, "the transport says that this is rank ", table_.rank, " of ",
          table_.ranks);
}

void Wire::check(int error, const char* what, int peer) const {
  if (error == 0) return;
  const char* words = table_.describe ? table_.describe(table_.context, error) : nullptr;
  fail(INFINI_STATUS_INTERNAL_ERROR, "the transport cannot ", what,
       peer < 0 ? "" : " rank " + std::to_string(peer), ": ", words ? words : "error ",
       words ? "" : std::to_string(error));
}

size_t Wire::place_of_request() {
  for (size_t i = 0; i < requests_.size(); ++i)
    if (requests_[i] == nullptr) return i;
  requests_.push_back(nullptr);
  about_.push_back({});
  return requests_.size() - 1;
}

size_t Wire::send(int peer, int tag, const void* data, size_t bytes) {
  const size_t number = place_of_request();
  check(table_.post_send(table_.context, peer, tag, data, bytes, &requests_[number]), "send to",
        peer);
  about_[number] = {peer, bytes, true};
  ++posted_;
  return number;
}

size_t Wire::receive(int peer, int tag, void* data, size_t bytes) {
  const size_t number = place_of_request();
  check(table_.post_receive(table_.context, peer, tag, data, bytes, &requests_[number]),
        "receive from", peer);
  about_[number] = {peer, bytes, false};
  ++posted_;
  return number;
}

Wire::Done Wire::wait_any(Deadline deadline) {
  const auto done = wait_at_most(seconds_until(deadline));
  if (!done) fail_late();
  return *done;
}

std::optional<Wire::Done> Wire::poll() { return posted_ == 0 ? std::nullopt : wait_at_most(0); }

std::optional<Wire::Done> Wire::wait_at_most(double seconds) {
  int index = -1;
  size_t bytes = 0;
  const int error = table_.wait_any(table_.context, requests_.data(),
                                    static_cast<int>(requests_.size()), seconds, &index, &bytes);
  const bool known = index >= 0 && static_cast<size_t>(index) < requests_.size();
  if (error != 0)
    known ? check(error, "go on with", about_[static_cast<size_t>(index)].peer)
          : check(error, "go on", -1);
  if (index < 0) return std::nullopt;
  require(known, INFINI_STATUS_INTERNAL_ERROR, "the transport says that request ", index, " of ",
          requests_.size(), " is done");
  const auto number = static_cast<size_t>(index);
  requests_[number] = nullptr;
  --posted_;
  const Posted& about = about_[number];
  require(about.send || bytes == about.bytes, INFINI_STATUS_INTERNAL_ERROR, "rank ", about.peer,
          " sent ", bytes, " bytes where ", about.bytes, " were expected");
  return Done{number, bytes};
}

void Wire::begin_round(Round& round, int tag, bool on_device, void* stream) {
  const bool before = std::exchange(on_stream_, true);  // cancel is asked if this throws
  check(table_.begin_round(table_.context, tag, round.transfers.data(),
                           static_cast<int>(round.transfers.size()), on_device ? 1 : 0, stream,
                           &round.handle),
        "begin a round", -1);
  rounds_.push_back(round.handle);
  on_stream_ = before || on_device;
}

bool Wire::end_round(Round& round, void* stream, double seconds) {
  int done = 0;
  const int error = table_.end_round(table_.context, round.handle, stream, seconds, &done);
  check(error, "end a round", -1);
  if (done != 0) std::erase(rounds_, round.handle);
  return done != 0;
}

void Wire::fail_late(const Round& round) const {
  std::string peers;
  for (const infiniTransfer_t& one : round.transfers)
    if (peers.size() < 60)
      peers += (peers.empty() ? "" : ", ") +
               std::string(one.sends != 0 ? "sending to rank " : "a message of rank ") +
               std::to_string(one.peer);
  fail_late(peers);
}

void Wire::fail_late(std::string peers) const {
  for (size_t i = 0; i < requests_.size() && peers.size() < 60; ++i)
    if (requests_[i] != nullptr)
      peers += (peers.empty() ? "" : ", ") +
               std::string(about_[i].send ? "sending to rank " : "a message of rank ") +
               std::to_string(about_[i].peer);
  fail(INFINI_STATUS_INTERNAL_ERROR, "no progress until the timeout; waited for: ", peers);
}

bool Wire::give_up() noexcept {
  if (posted_ == 0 && rounds_.empty() && !on_stream_) return true;
  requests_.insert(requests_.end(), rounds_.begin(), rounds_.end());
  const bool ended =
      table_.cancel != nullptr &&
      table_.cancel(table_.context, requests_.data(), static_cast<int>(requests_.size())) == 0;
  requests_.assign(requests_.size(), nullptr);
  about_.resize(requests_.size());
  posted_ = 0;
  rounds_.clear();
  on_stream_ = false;
  return ended;
}

}  // namespace infini
