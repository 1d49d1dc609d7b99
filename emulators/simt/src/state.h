// The emulator's whole state: devices, memory, streams, recorded work, and the clocks that say what
// is ordered. One lock guards it all; whoever waits for a stream runs the work.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../../common/ranges_and_clocks.h"
#include "simt_emulator.h"

namespace simt {

using Error = simtError_t;
using emulators::Address, emulators::Clock, emulators::Range;

constexpr int most_devices = 8;
constexpr uint64_t capacity = 4ull << 30;  // of each device
constexpr size_t most_shared = 48 << 10, most_threads = 1024;
constexpr size_t queue_capacity = 64;  // a fuller stream starts to run

// The bytes that one operation has read and written.
struct Footprint {
  std::vector<Range> reads, writes;
  bool merged = false;  // sorted, and neighbours joined
};

using Work = std::function<Error(Footprint&)>;

struct Operation {
  const char* name = "";
  Work execute;
  std::function<bool()> ready;  // empty: always
  size_t slot = 0;
  uint64_t number = 0;
  Clock clock;
};

// Device memory. It belongs to the host's view from the call that makes it to the call that frees
// it, and is usable for operations in between of both in the stream's order.
struct Allocation {
  Address begin = 0;
  uint64_t size = 0;
  int device = 0;
  bool usable = true;       // operations that run now may touch it
  bool host_freed = false;  // a stream-ordered release is on its way
  bool of_graph = false;    // made in a capture: its graph owns it
};

struct Node {
  const char* name;
  Work execute;
  std::vector<int> after;
};

// Work that was captured. Owns the memory that was allocated in the capture.
struct Recording {
  int device = 0;
  std::vector<Node> nodes;
  std::vector<Address> memory;
  ~Recording();
};

struct Capture {
  simtStream* origin = nullptr;
  simtStreamCaptureMode mode{};
  std::thread::id thread;
  bool invalidated = false, ended = false;
  std::shared_ptr<Recording> recording = std::make_shared<Recording>();
};

}  // namespace simt

struct simtStream {
  int device = 0;
  size_t slot = 0;
  bool closed = false;
  simt::Clock clock;
  std::deque<simt::Operation> queue;
  std::shared_ptr<simt::Capture> capture;  // with the nodes that the next one comes after
  std::vector<int> tail;
};
struct simtEvent {
  int device = 0;
  bool timing = true, closed = false;
  uint64_t issued = 0, done = 0;  // how many records were enqueued, and which one has run
  double milliseconds = 0;        // when the last one ran
  simt::Clock clock;
  std::shared_ptr<simt::Capture> capture;  // recorded in a capture, after these nodes
  std::vector<int> tail;
};
struct simtGraph {
  std::shared_ptr<simt::Recording> recording;
  bool closed = false;
};
struct simtGraphExec {
  std::shared_ptr<simt::Recording> recording;
  bool closed = false;
};

namespace simt {

struct Device {
  std::map<Address, Allocation> allocations;
  uint64_t used = 0;
  Address cursor = 0;
  simtStream* default_stream = nullptr;
  Error error = simtSuccess;  // every call returns it once a kernel has failed
};

// Destroyed objects stay: late use is an error, not a crash.
struct State {
  std::recursive_mutex mutex;
  int device_count = 2;
  Device devices[most_devices];
  std::vector<std::shared_ptr<simtStream>> streams;
  std::vector<std::shared_ptr<simtEvent>> events;
  std::vector<std::shared_ptr<simtGraph>> graphs;
  std::vector<std::shared_ptr<simtGraphExec>> execs;
  std::vector<std::weak_ptr<Capture>> captures;
  std::map<Address, uint64_t> pinned;
  std::map<const void*, const SimtParameters*> kernels;
  std::vector<uint64_t> slot_numbers{0};  // the last operation of each slot; 0: the host
  std::vector<size_t> free_slots;
  Clock host;
  struct Done {
    Operation operation;
    Footprint footprint;
  };
  std::deque<Done> history;
  std::vector<simtStream*>
      runnable;  // as step() finds them; has room for all, so that waiting needs no memory

  std::mt19937_64 random{1};
  double milliseconds = 0;  // the devices' clock
  SimtEmuStats stats{};
  std::vector<std::string> violations;
  int violation_counts[SIMT_EMU_RULES] = {};
  int64_t calls = 0, fail_call = 0, fail_kernel = 0;
  Error fail_with = simtSuccess;

  State();
};
State& state();
using Lock = std::lock_guard<std::recursive_mutex>;

// violations.cpp
void violate(SimtEmuRule rule, const char* format, ...) __attribute__((format(printf, 2, 3)));

// call.cpp: what every function of the runtime does first and last.
enum Traits : unsigned {
  plain = 0,
  unsafe = 1,   // forbidden while a capture forbids it
  waits = 2,    // the host may wait: counted
  keeps_on = 4  // answers also when the device has failed
};
Error enter(unsigned traits);
Error leave(Error error);
template <class Body>
Error call(unsigned traits, const Body& body) {
  const Lock lock(state().mutex);
  const Error first = enter(traits);
  try {
    return leave(first == simtSuccess ? body() : first);
  } catch (const std::bad_alloc&) {  // of the host: nothing was enqueued, nothing is half made
    return leave(simtErrorMemoryAllocation);
  }
}
int& current_device();

// memory.cpp
bool is_device_address(Address address);
int device_of(Address address);
uint8_t* view(Address address);  // the emulator's own way to device memory
const Allocation* find_allocation(Address address, uint64_t size);
bool is_pinned(Address address, uint64_t size);
Error allocate(int device, uint64_t size, Address& out);
void release(Address begin);
void expose(int device, bool to_kernels);  // kernels run with real loads and stores

// streams.cpp
simtStream* find_stream(simtStream_t handle, Error& error);
simtStream* default_stream(int device);
simtStream* create_stream(int device);
// Enqueues, or records where the stream is captured.
Error submit(simtStream& stream, const char* name, Work work);
void enqueue(simtStream& stream, Operation operation);
bool step();  // runs one operation of a random stream
void run_until(const std::function<bool()>& done);
Error synchronise(simtStream& stream);
void synchronise_device(int device);
void host_operation(const char* name, Footprint footprint);
void forget_ordered();

// kernel.cpp
struct Launch {
  const void* kernel = nullptr;
  const SimtParameters* parameters = nullptr;
  std::vector<uint4> storage;  // the arguments' bytes
  std::vector<void*> arguments;
  dim3 grid, block;
  size_t shared_bytes = 0;
  int device = 0;
  bool early = false;
};
Error run_kernel(const Launch& launch, Footprint& footprint);

}  // namespace simt
