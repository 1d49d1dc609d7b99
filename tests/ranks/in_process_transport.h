// A transport between threads of one process, which can be told to fail: for tests.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "infinireshard.h"

namespace infini::test {

// One for all ranks. A message waits until the other side asks for it; a send is done when its bytes were taken.
class InProcessNetwork {
 public:
  explicit InProcessNetwork(int ranks) : ends_(static_cast<size_t>(ranks)) {
    for (int i = 0; i < ranks; ++i) ends_[static_cast<size_t>(i)] = {this, i, ranks};
  }
  infiniTransport_t transport_of(int rank) {
    infiniTransport_t table{};
    table.size = sizeof table;
    table.context = &ends_[static_cast<size_t>(rank)];
    table.rank = rank;
    table.ranks = static_cast<int>(ends_.size());
    table.post_send = post_send;
    table.post_receive = post_receive;
    table.wait_any = wait_any;
    table.cancel = cancel;
    if (!parts_.empty()) {
      table.shared = parts_.data();
      table.shared_bytes = shared_bytes_;
    }
    if (rounds) {
      table.begin_round = begin_round;
      table.end_round = end_round;
    }
    table.describe = [](void*, int error) {
      return error == 7   ? "the cable was cut"
             : error == 8 ? "a message of a round is short"
                          : nullptr;
    };
    return table;
  }

  // From now on ranks share memory, `bytes` of each; those that are not in `here` have none.
  void share(size_t bytes, const std::vector<bool>& here) {
    shared_bytes_ = bytes;
    memory_.assign(here.size() * (bytes / 64 + 1), Line{});
    parts_.assign(here.size(), nullptr);
    for (size_t i = 0; i < here.size(); ++i)
      if (here[i]) parts_[i] = &memory_[i * (bytes / 64 + 1)];
  }
  // What another rank would see in that memory.
  char* shared_part(int rank) { return static_cast<char*>(parts_[static_cast<size_t>(rank)]); }

  // How bytes come from one rank's memory to another's.
  void (*copy)(void* to, const void* from, size_t bytes) =
      [](void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); };

  // Whether transports have rounds. How one waits for a stream, for rounds of device memory; rounds without transfers; of others
  // what was longest.
  bool rounds = false;
  void (*await)(void* stream) = [](void*) {};
  std::atomic<int> empty_rounds{0};
  std::atomic<size_t> longest_transfer{0};

  // What goes wrong with the n-th send of a rank (from 0 on), if anything.
  enum class Fault { none, lost, shortened, refused };
  Fault fault = Fault::none;
  int faulty_rank = 0, faulty_send = 0;

 private:
  struct End {
    InProcessNetwork* network;
    int rank, ranks;
    int sends = 0;
  };
  struct Request {
    bool done = false, dead = false;
    const char* from = nullptr;
    char* to = nullptr;
    size_t bytes = 0;
    std::vector<std::shared_ptr<Request>> parts;  // of a round
    std::vector<size_t> wanted;
  };
  using Key = std::tuple<int, int, int>;  // from, to, tag
  struct Queue {
    std::deque<std::shared_ptr<Request>> sends, receives;
  };

  // The lock is held. Brings sends and receives together.
  void match(Queue& queue) {
    const auto drop_dead = [](auto& list) {
      while (!list.empty() && list.front()->dead) list.pop_front();
    };
    while (true) {
      drop_dead(queue.sends), drop_dead(queue.receives);
      if (queue.sends.empty() || queue.receives.empty()) return;
      Request &send = *queue.sends.front(), &receive = *queue.receives.front();
      const size_t bytes = send.bytes < receive.bytes ? send.bytes : receive.bytes;
      copy(receive.to, send.from, bytes);
      receive.bytes = bytes;
      send.done = receive.done = true;
      queue.sends.pop_front(), queue.receives.pop_front();
      changed_.notify_all();
    }
  }
  static std::shared_ptr<Request>& request_of(void* p) {
    return *static_cast<std::shared_ptr<Request>*>(p);
  }

  static int post_send(void* context, int peer, int tag, const void* data, size_t bytes,
                       void** request) {
    End& end = *static_cast<End*>(context);
    InProcessNetwork& net = *end.network;
    const std::lock_guard lock(net.mutex_);
    const bool faulty = end.rank == net.faulty_rank && end.sends++ == net.faulty_send;
    if (faulty && net.fault == Fault::refused) return 7;
    auto made = std::make_shared<Request>();
    made->from = static_cast<const char*>(data);
    made->bytes = faulty && net.fault == Fault::shortened ? bytes / 2 : bytes;
    *request = new std::shared_ptr<Request>(made);
    if (faulty && net.fault == Fault::lost) {
      made->done = true;
      return 0;
    }
    Queue& queue = net.queues_[{end.rank, peer, tag}];
    queue.sends.push_back(made);
    net.match(queue);
    return 0;
  }
  static int post_receive(void* context, int peer, int tag, void* data, size_t bytes,
                          void** request) {
    End& end = *static_cast<End*>(context);
    InProcessNetwork& net = *end.network;
    const std::lock_guard lock(net.mutex_);
    auto made = std::make_shared<Request>();
    made->to = static_cast<char*>(data);
    made->bytes = bytes;
    *request = new std::shared_ptr<Request>(made);
    Queue& queue = net.queues_[{peer, end.rank, tag}];
    queue.receives.push_back(made);
    net.match(queue);
    return 0;
  }
  static int wait_any(void* context, void** requests, int count, double seconds, int* index,
                      size_t* bytes) {
    InProcessNetwork& net = *static_cast<End*>(context)->network;
    std::unique_lock lock(net.mutex_);
    const auto find = [&] {
      for (*index = 0; *index < count; ++*index)
        if (requests[*index] != nullptr && request_of(requests[*index])->done) return true;
      *index = -1;
      return false;
    };
    if (!net.changed_.wait_for(lock, std::chrono::duration<double>(seconds), find)) return 0;
    *bytes = request_of(requests[*index])->bytes;
    delete &request_of(requests[*index]);
    requests[*index] = nullptr;
    return 0;
  }
  static int cancel(void* context, void** requests, int count) {
    InProcessNetwork& net = *static_cast<End*>(context)->network;
    const std::lock_guard lock(net.mutex_);
    for (int i = 0; i < count; ++i)
      if (requests[i] != nullptr) {
        request_of(requests[i])->dead = true;
        for (const auto& part : request_of(requests[i])->parts) part->dead = true;
        delete &request_of(requests[i]);
        requests[i] = nullptr;
      }
    return 0;
  }

  static int begin_round(void* context, int tag, const infiniTransfer_t* transfers, int count,
                         int on_device, void* stream, void** round) {
    InProcessNetwork& net = *static_cast<End*>(context)->network;
    if (on_device != 0) net.await(stream);
    net.empty_rounds += count == 0;
    auto made = std::make_shared<Request>();
    for (const infiniTransfer_t* one = transfers; one != transfers + count; ++one) {
      for (size_t most = net.longest_transfer; most < one->bytes;)
        net.longest_transfer.compare_exchange_weak(most, one->bytes);
      void* request = nullptr;
      const auto post = [&](auto how) {
        return how(context, one->peer, round_tag + tag, one->data, one->bytes, &request);
      };
      if (const int error = one->sends != 0 ? post(post_send) : post(post_receive)) {
        const std::lock_guard lock(net.mutex_);
        for (const auto& part : made->parts) part->dead = true;
        return error;
      }
      made->parts.push_back(request_of(request));
      made->wanted.push_back(one->bytes);
      delete &request_of(request);
    }
    *round = new std::shared_ptr<Request>(made);
    return 0;
  }
  // Of device memory, too: copies are over when they were made.
  static int end_round(void* context, void* round, void*, double seconds, int* done) {
    InProcessNetwork& net = *static_cast<End*>(context)->network;
    std::unique_lock lock(net.mutex_);
    const Request& whole = *request_of(round);
    const auto over = [&] {
      return std::all_of(whole.parts.begin(), whole.parts.end(),
                         [](const auto& part) { return part->done; });
    };
    *done = net.changed_.wait_for(lock, std::chrono::duration<double>(seconds), over);
    if (*done == 0) return 0;
    bool all_whole = true;
    for (size_t i = 0; i < whole.parts.size(); ++i)
      all_whole =
          all_whole && (whole.parts[i]->to == nullptr || whole.parts[i]->bytes == whole.wanted[i]);
    if (!all_whole) return 8;
    delete &request_of(round);
    return 0;
  }
  static constexpr int round_tag = 1000;  // what posted messages have, they have not

  struct alignas(64) Line {
    char bytes[64];
  };
  std::vector<Line> memory_;
  std::vector<void*> parts_;  // by rank
  size_t shared_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, Queue> queues_;
  std::vector<End> ends_;
};

}  // namespace infini::test
