// One kernel in flight: blocks one after the other, the threads of a block as fibers.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include "state.h"

namespace simt {

constexpr size_t stack_bytes = 128 << 10;

// An asynchronous copy of one vector into shared memory.
struct Staged {
  uint8_t* to;
  Address from;
  bool taken;  // the bytes were read when it was issued, else when it is waited for
  uint8_t bytes[16];
};

enum class ThreadState { new_, at_barrier, ended };

struct Thread {
  ThreadState state = ThreadState::new_;
  bool waited = false;  // for the kernel in front of this one
  struct Fiber* fiber = nullptr;
  std::vector<Staged> staged;
};

// A stack. It runs one thread after the other until one stops at a barrier, and lives on when the
// block has ended.
struct Fiber {
  ucontext_t context;  // of its beginning, or where it stopped
  jmp_buf place;       // where it stopped, unless a sanitizer must know of switches
  bool stopped = false;
  uint8_t* stack = nullptr;
  int thread = -1;
};

// Who used a place of shared memory last, and in which epoch.
struct SharedUse {
  uint32_t written = 0, read = 0;
  uint16_t writer = 0, reader = 0;
};
constexpr uint16_t many_readers = 0xffff;
constexpr uint16_t atomic_threads = 0xfffe;  // all that use a place by atomic operations

// Four bytes of shared memory: used as a whole, as nearly always, or one by one.
struct SharedWord {
  static constexpr size_t bytes = 4;
  SharedUse whole, each[bytes];
  uint32_t split = 0;  // the last epoch in which bytes were used one by one
  bool arriving = false;
};

// What one thread did to global memory.
struct GlobalAccess {
  Address begin, end;
  uint64_t thread;
};

// A piece of memory that the running kernel may touch.
struct Window {
  Address begin = 0, end = 0;
  bool holds(Address address, size_t size) const {
    return address >= begin && address + size <= end;
  }
};

struct Engine {
  const Launch* launch = nullptr;
  Fiber* running = nullptr;
  uint8_t* stack = nullptr;  // of the running fiber
  uint64_t block = 0;
  uint32_t epoch = 1;  // one more for each barrier and each block, for ever
  std::vector<Thread> threads;
  std::vector<int> order;  // in which the block's threads begin
  size_t begun = 0;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber*> idle;
  ucontext_t scheduler;
  jmp_buf scheduler_place;
  uint8_t* shared = nullptr;
  std::vector<SharedWord> shared_words;
  Window read_window, write_window;  // where the last accesses were found to be right
  std::vector<GlobalAccess> reads, writes;
  Error error = simtSuccess;
  uint64_t random = 1;

  uint64_t draw() {
    return (random = random * 6364136223846793005ull + 1442695040888963407ull) >> 33;
  }
};
extern Engine engine;
// Whether this thread of the host runs a kernel: host code may stand in a kernel's source file.
extern thread_local bool in_kernel __attribute__((tls_model("initial-exec")));
inline Thread& this_thread() { return engine.threads[engine.running->thread]; }

[[noreturn]] void fault(Error error);  // ends the kernel

// Inside a kernel: its frames let no exception pass, so that the host's lack of memory is a fault.
template <class Vector, class Value>
void append_or_fault(Vector& all, const Value& value) {
  const bool done = [&] {
    try {
      all.push_back(value);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }();  // the handler is left before the stack is
  if (!done) fault(simtErrorMemoryAllocation);
}

// access.cpp: every load and store of a kernel passes here. The thread's own stack is its own.
void check_far_access(uint8_t* p, size_t size, bool write);
inline void check_access(const void* pointer, size_t size, bool write) {
  if (!in_kernel) return;
  auto* p = static_cast<uint8_t*>(const_cast<void*>(pointer));
  if (static_cast<size_t>(p - engine.stack) >= stack_bytes) check_far_access(p, size, write);
}
void check_aligned(const void* p, size_t alignment);
void check_shared(uint8_t* p, size_t size, bool write);
void check_shared(uint8_t* p, size_t size, bool write, uint16_t id);  // as this one
void check_races();                                                   // of the whole kernel

// staging.cpp
void finish_copies(Thread& thread);

}  // namespace simt
