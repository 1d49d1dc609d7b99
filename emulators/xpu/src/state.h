// The emulator's whole state: devices, memory, streams, and the clocks that say what is ordered.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "../../common/ranges_and_clocks.h"
#include "xpu/runtime.h"
#include "xpu_emulator.h"

namespace xpu_emu {

constexpr int device_count = 2;
constexpr int physical_clusters = 12;
constexpr int max_cores = 64;
constexpr int max_streams = 256;
constexpr uint64_t hbm_capacity = 8ull << 30;
constexpr uint64_t l3_capacity = 16ull << 20;
constexpr size_t stream_capacity = 64;  // a fuller queue starts to run

using emulators::Address, emulators::Clock, emulators::Range;

// The bytes that one operation has read and written, for the race check between operations.
struct Footprint {
  std::vector<Range> reads, writes;
};

struct Event {
  uint64_t issued = 0, done = 0;  // how many records were enqueued, and which one has fired
  Clock clock;                    // of the last record
  bool closed = false;
};

struct Stream;
struct Operation {
  size_t slot = 0;
  uint64_t number = 0;
  Clock clock;
  int device = 0;
  std::string name;
  std::vector<Address> names;              // device addresses it was given
  std::function<bool()> ready;             // empty: always
  std::function<int(Footprint&)> execute;  // 0 or a positive code
};

struct Stream {
  int device = 0;
  size_t slot = 0;
  bool closed = false;
  Clock clock;
  std::deque<Operation> queue;
};

struct Allocation {
  Address begin = 0;
  uint64_t size = 0;
  int device = 0;
};

struct Device {
  std::map<Address, Allocation> allocations;
  uint64_t used[2] = {0, 0};
  Address cursor[2] = {0, 0};
  Stream* default_stream = nullptr;
  int fresh_error = 0;  // not yet told to anybody
  bool abnormal = false;
};

struct State {
  std::recursive_mutex mutex;
  Device devices[device_count];
  std::vector<std::unique_ptr<Stream>> streams;  // closed ones stay: late use is an error
  std::vector<std::shared_ptr<Event>> events;
  std::map<void*, uint64_t> host_blocks, registered;
  std::vector<uint64_t> slot_numbers{0};  // last operation of each slot; 0: the host
  std::vector<size_t> free_slots;
  Clock host;
  struct Done {
    Operation operation;
    Footprint footprint;
  };
  std::deque<Done> history;

  std::mt19937_64 random{1};
  XpuEmuStats stats{};
  std::vector<std::string> violations;
  int violation_counts[XPU_EMU_RULES] = {};
  int64_t calls = 0, fail_call = 0, fail_kernel = 0;
  uint64_t hbm_limit = hbm_capacity;
  bool early_sources = false;

  State();
};
State& state();

using Lock = std::lock_guard<std::recursive_mutex>;

// violations.cpp
void violate(XpuEmuRule rule, const char* format, ...) __attribute__((format(printf, 2, 3)));
// Counts a fallible call; the code it must fail with, or 0.
int injected(int code);

// memory.cpp
bool is_device_address(const void* p);
int device_of(Address address);
uint8_t* backing(Address address);  // the emulator's own view of device memory
const Allocation* find_allocation(Address address, uint64_t size);
int allocate(int device, XPUMemoryKind kind, uint64_t size, void** out);
int release(void* p);

// streams.cpp
int current_device();
Stream* stream_of(XPUStream handle, int& error);
void enqueue(Stream& stream, Operation operation);
void run_until(const std::function<bool()>& done);
void synchronise(Stream& stream);
int take_error(int device);
void host_operation(const char* name, int device, Footprint footprint);
void forget_ordered();

// kernel.cpp
struct Launch {
  XPUFunc function = nullptr;
  std::vector<uint8_t> arguments;
  int clusters = 0, cores = 0, device = 0;
};
int run_kernel(const Launch& launch, Footprint& footprint);

}  // namespace xpu_emu
