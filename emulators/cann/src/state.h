// The emulator's one state, guarded by one recursive lock: devices, memory, streams, events, and
// the record of broken rules.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "cann_emulator.h"

namespace cann_emulator {

using Clock = std::chrono::steady_clock;

// Bytes that queued work reads or writes.
struct Access {
  uint64_t begin, end;
  bool writes;
  bool all;  // every byte of the range, not only some
};

struct Task {
  std::vector<Access> accesses;
  std::function<void()> run;
  uint64_t sequence = 0;
};

// What has been ordered before the next task of a stream: up to which task of each other stream.
using Known = std::map<uint64_t, uint64_t>;

struct Context {
  int device = 0;
  bool is_default = false;
  uint64_t default_stream = 0;
};

struct Stream {
  uint64_t context = 0;
  int device = 0;
  bool is_default = false;
  bool running = false;
  uint64_t handle = 0;
  std::deque<Task> queue;
  Known known;
};

// One recording of an event; the event's next recording makes a new one, so waits keep what they
// saw.
struct Recording {
  uint64_t stream = 0;
  uint64_t sequence = 0;  // of the task that records
  Known known;            // what that stream knew then
  bool done = false;
  Clock::time_point time;
};

struct Event {
  int device = 0;
  bool can_time = false, can_wait = false, query_before_record = false;
  std::shared_ptr<Recording> recording;
};

// Device memory: the address lies in a reserved range that the host cannot touch; the bytes live in
// `bytes`.
struct Block {
  int device = 0;
  size_t size = 0;                   // what the client asked for
  std::vector<unsigned char> bytes;  // rounded up, and a red zone behind
};

struct HostBlock {
  size_t size = 0;
  std::unique_ptr<unsigned char[]> bytes;
};

struct Device {
  uint64_t default_context = 0;
  int references = 0;
  size_t used = 0;
};

struct State {
  std::recursive_mutex lock;
  bool configured = false, initialised = false;
  std::vector<Device> devices;
  size_t memory_per_device = 0;

  uint64_t next_sequence = 1;
  uint64_t next_handle =
      0x5AC0000000000010;  // never reused, never a valid address: stale handles are always caught
  std::map<uint64_t, Context> contexts;
  std::map<uint64_t, Stream> streams;
  std::map<uint64_t, Event> events;
  std::map<uint64_t, Block> blocks;
  std::map<uint64_t, HostBlock> host_blocks;
  uint64_t arena_begin = 0, arena_end = 0, arena_next = 0;

  std::vector<Violation> violations;
  Counters counters{};
  uint64_t calls_to_failure = 0;
  bool task_lost = false;  // the host had no memory for queued work: the next wait says so
  bool fault_fired = false, refuse_repeatable = false, refuse_gapped = false;
  std::function<Live(Live)> count_meta_objects;  // set by the tensor library
};

State& state();
void configure(State& s);  // reads the environment once

// Scope of one API call: holds the lock, knows the call's name, turns a broken rule into a record,
// a message and a code.
class Call {
 public:
  explicit Call(const char* name);
  Call(const Call&) = delete;

  State& s;

  // True when this call has been chosen to fail; the message is then set.
  bool must_fail();
  template <class... Parts>
  int broken(Rule rule, int code, const Parts&... parts) {
    return record(rule, code, join(parts...).c_str());
  }
  template <class... Parts>
  int refused(int code,
              const Parts&... parts) {  // a legal request that cannot be met: no rule was broken
    return message(code, join(parts...).c_str());
  }
  // 0 when aclInit was called and the thread has a device; otherwise the error code.
  int require_initialised();
  int require_context();

 private:
  template <class... Parts>
  static std::string join(const Parts&... parts) {
    try {
      std::ostringstream out;
      (out << ... << parts);
      return out.str();
    } catch (const std::bad_alloc&) {  // a rule is broken all the same, and a release goes on
      return {};
    }
  }
  int record(Rule rule, int code, const char* detail) noexcept;
  int message(int code, const char* detail) noexcept;

  std::unique_lock<std::recursive_mutex> lock_;
  const char* name_;
};

// One API call: what the body returns, or `without_memory` where the host has none. C functions let no exception out.
template <class Code, class Body>
Code answer(const char* name, Code without_memory, const Body& body) {
  try {
    Call call(name);
    return body(call);
  } catch (const std::bad_alloc&) {
    return without_memory;
  }
}

// Devices and contexts (device.cpp)
uint64_t current_context();  // 0: none
Context* find_context(State& s, uint64_t handle);
int current_device();  // -1: none

// Streams (stream.cpp). A null handle is the current context's default stream.
Stream* find_stream(Call& call, aclrtStream handle, int& code);
// Also looks for a race: queued work of another stream that touches the same bytes, one of them
// writing, in no order.
void enqueue(Call& call, Stream& stream, Task task);
void order_after(Stream& stream, const Recording& recording);
void run_one(State& s, Stream& stream);  // never throws
void run_all(State& s, Stream& stream);
void run_until(State& s, const Recording& recording);
bool in_flight(State& s, uint64_t begin, uint64_t end, bool also_reads);

// Memory (memory.cpp)
enum class Place { device, pinned, pageable };
Place place_of(State& s, const void* p);
Block* find_block(State& s, uint64_t address, uint64_t* base = nullptr);
// Host pointer to `size` bytes at a device address of `device`, or null when they are not all live.
unsigned char* device_bytes(State& s, uint64_t address, size_t size, int device);
bool check_red_zones(Call& call);

inline uint64_t address_of(const void* p) { return reinterpret_cast<uint64_t>(p); }
template <class T>
T handle_of(uint64_t id) {
  return reinterpret_cast<T>(id);
}

}  // namespace cann_emulator
