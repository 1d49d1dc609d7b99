// One kernel in flight: clusters of cores, each core a fiber with its own local memory.
#pragma once
#include <ucontext.h>

#include <vector>

#include "state.h"

namespace xpu_emu {

constexpr size_t lm_size = 8 << 10;       // a core's local memory, stack included
constexpr size_t lm_budget = 6 << 10;     // of it for data; the rest is the stack's
constexpr size_t sm_size = 256 << 10;     // a cluster's shared memory
constexpr size_t stack_size = 128 << 10;  // the host's frames are larger than the chip's
constexpr size_t window_size = 16 << 10;  // the part of the stack whose bytes have a state

enum Memory : int { lm = 1, sm = 2, gm = 4 };  // bits of a fence, as in the vendor's mask

// A copy in flight. `side` is its end in LM or SM; `in` means from global memory.
struct Dma {
  Memory side;
  bool in;
  Address global;
  uint8_t* local;
  int size;
  uint64_t checksum;  // of what must not change while the copy is in flight
  size_t log;         // index into the access log
  bool local_done = false, global_done = false;
};

// What one core did to global memory, and between which barriers of its cluster.
struct GlobalAccess {
  Address begin, end;
  int cluster, core;
  uint32_t issued, visible;
};

enum ByteState : uint8_t { arriving = 1, leaving = 2, vector_store = 4 };
enum class CoreState { ready, at_barrier, ended };

struct Core {
  int id = 0;
  CoreState state = CoreState::ended;
  ucontext_t context;
  uint8_t *stack = nullptr, *top = nullptr;  // top: where the kernel's own frames begin
  std::vector<Dma> pending;
  std::vector<uint8_t> bytes;           // ByteState of the window below `top`
  std::vector<uint8_t> used;            // which of them a DMA has touched: the data budget
  size_t used_begin = 0, used_end = 0;  // all of the latter lie in here
  std::vector<std::pair<uint8_t*, int>> vector_stores;
  size_t data_bytes = 0;
  bool told_budget = false;
};

// The state of one byte of shared memory.
struct SharedByte {
  uint32_t written = 0, read = 0;  // epoch of the last access
  uint8_t writer = 0, reader = 0;
  uint8_t state = 0;
};
constexpr uint8_t many_readers = 255;

struct Engine {
  const Launch* launch = nullptr;
  int cluster = 0;
  uint32_t epoch = 1;  // one more per barrier and per cluster, for ever
  std::vector<Core> cores;
  ucontext_t scheduler;
  uint8_t *shared = nullptr, *shared_end = nullptr;
  bool shared_ready = false;
  std::vector<SharedByte> shared_bytes;
  std::vector<GlobalAccess> reads, writes;
  bool faulted = false;
  uint64_t random = 1;

  uint64_t draw() {
    return (random = random * 6364136223846793005ull + 1442695040888963407ull) >> 33;
  }
};
Engine& engine();
Core*& current_core();  // null outside a kernel

void yield_core();          // lets another core run
[[noreturn]] void fault();  // ends the kernel with an exception

// dma.cpp
void finish_core(Core& core);
void check_global_races(Engine& engine);

// access.cpp: every load and store of a kernel passes here.
void check_access(const void* p, size_t size, bool write);
void check_shared(Core& core, uint8_t* p, size_t size, bool write);

}  // namespace xpu_emu
