// Runs a kernel: its blocks in a seeded order, the threads of a block as fibers in a seeded order
// from barrier to barrier.
#include "kernel.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>

#ifndef __has_feature  // g++
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define SIMT_EMU_ASAN 1
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace simt {

Engine engine;
thread_local bool in_kernel = false;

namespace {

// Contexts begin with makecontext(), and go on by jumps: swapcontext() calls the system. Sanitizers
// know no jumps between stacks. A fiber's first frames are left and never returned to, which a
// thread sanitizer would count.
__attribute__((no_sanitize("thread"))) void switch_to_scheduler() {
#ifdef SIMT_EMU_NO_HOOKS
  swapcontext(&engine.running->context, &engine.scheduler);
#else
  engine.running->stopped = true;
  if (_setjmp(engine.running->place) == 0) _longjmp(engine.scheduler_place, 1);
#endif
}

void run_thread(int id) {
  const Launch& launch = *engine.launch;
  Thread& thread = engine.threads[id];
  thread.fiber = engine.running;
  thread.fiber->thread = id;
  threadIdx = {static_cast<uint32_t>(id), 0, 0};
  launch.parameters->call(launch.kernel, launch.arguments.data());
  if (!thread.staged.empty()) {
    violate(SIMT_EMU_PENDING_AT_EXIT, "thread %d of block %lu ends with %zu copies in flight", id,
            engine.block, thread.staged.size());
    finish_copies(thread);
  }
  thread.state = ThreadState::ended;
}

__attribute__((no_sanitize("thread"))) void fiber_main() {
  for (;;) {
    while (engine.begun < engine.order.size()) run_thread(engine.order[engine.begun++]);
    engine.idle.push_back(engine.running);
    switch_to_scheduler();
  }
}

void begin_at_the_top(Fiber& fiber) {
#ifdef SIMT_EMU_ASAN
  __asan_unpoison_memory_region(fiber.stack + 4096, stack_bytes - 4096);
#endif
  fiber.stopped = false;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack;
  fiber.context.uc_stack.ss_size = stack_bytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, fiber_main, 0);
}

Fiber* take_fiber() {
  Engine& e = engine;
  if (e.idle.empty()) {
    auto fiber = std::make_unique<Fiber>();
    e.fibers.reserve(e.fibers.size() + 1);
    e.idle.reserve(e.fibers.size() + 1);  // for all of them: a fiber that ends needs no memory
    void* stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) throw std::bad_alloc();
    mprotect(stack, 4096, PROT_NONE);  // an overrun must not reach the next one
    fiber->stack = static_cast<uint8_t*>(stack);
    begin_at_the_top(*fiber);
    e.idle.push_back(fiber.get());
    e.fibers.push_back(std::move(fiber));
  }
  Fiber* fiber = e.idle.back();
  e.idle.pop_back();
  return fiber;
}

__attribute__((no_sanitize("thread"))) void resume(Fiber* fiber) {
  engine.running = fiber;
  engine.stack = fiber->stack;
  threadIdx.x = static_cast<uint32_t>(fiber->thread);
#ifdef SIMT_EMU_NO_HOOKS
  swapcontext(&engine.scheduler, &fiber->context);
#else
  if (_setjmp(engine.scheduler_place) != 0) return;
  if (fiber->stopped)
    _longjmp(fiber->place, 1);
  else
    setcontext(&fiber->context);
#endif
}

// Nobody can run: either all threads stand at the barrier, or those who do wait for ever.
void release_barrier(Engine& e, const std::vector<int>& waiting) {
  if (waiting.size() == e.threads.size()) {
    ++e.epoch;
    return;
  }
  const auto ended = std::find_if(e.threads.begin(), e.threads.end(), [](const Thread& thread) {
    return thread.state == ThreadState::ended;
  });
  violate(SIMT_EMU_DIVERGENT_BARRIER,
          "block %lu: thread %d and %zu others wait at a barrier, thread %d has ended", e.block,
          waiting[0], waiting.size() - 1, static_cast<int>(ended - e.threads.begin()));
  e.error = simtErrorLaunchFailure;
}

void shuffle(std::vector<int>& order) {
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[engine.draw() % i]);
}

void run_block(Engine& e, uint64_t block) {
  e.block = block;
  blockIdx = {static_cast<uint32_t>(block), 0, 0};
  ++e.epoch;
  std::memset(e.shared, static_cast<int>(0xA0 | (e.draw() & 15)), e.launch->shared_bytes);
  for (Thread& thread : e.threads) {
    thread.state = ThreadState::new_;
    thread.waited = !e.launch->early;
  }
  shuffle(e.order);
  e.begun = 0;
  std::vector<int> waiting;
  while (e.begun < e.order.size() && e.error == simtSuccess) {
    resume(take_fiber());
  }
  while (e.error == simtSuccess) {
    waiting.clear();
    for (const int thread : e.order)
      if (e.threads[thread].state == ThreadState::at_barrier) waiting.push_back(thread);
    if (waiting.empty()) return;
    release_barrier(e, waiting);
    shuffle(waiting);
    for (const int thread : waiting)
      if (e.error == simtSuccess) resume(e.threads[thread].fiber);
  }
}

// Whatever a kernel that was stopped has left.
void clean_up(Engine& e) {
  for (Thread& thread : e.threads) thread.staged.clear();
  for (SharedWord& word : e.shared_words) word.arriving = false;
  e.idle.clear();
  for (const auto& fiber : e.fibers) {
    begin_at_the_top(*fiber);
    e.idle.push_back(fiber.get());
  }
}

void prepare(Engine& e, const Launch& launch) {
  e.launch = &launch;
  e.error = simtSuccess;
  e.reads.clear();
  e.writes.clear();
  e.random = state().random();
  e.read_window = e.write_window = {};
  if (e.shared == nullptr) {
    e.shared_words.resize(most_shared / SharedWord::bytes);
    void* shared =
        mmap(nullptr, 2 * most_shared, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw std::bad_alloc();
    e.shared = static_cast<uint8_t*>(shared);
  }
  blockDim = launch.block;
  gridDim = launch.grid;
  e.threads.resize(launch.block.x);
  e.order.resize(launch.block.x);
  std::iota(e.order.begin(), e.order.end(), 0);
}

// A host without memory for the threads' stacks is a kernel that failed.
void run_blocks(Engine& e, const std::vector<uint32_t>& blocks) {
  in_kernel = true;
  try {
    for (const uint32_t block : blocks)
      if (e.error == simtSuccess) run_block(e, block);
  } catch (const std::bad_alloc&) {
    e.error = simtErrorMemoryAllocation;
  }
  in_kernel = false;
}

}  // namespace

void fault(Error error) {
  engine.error = error;
  switch_to_scheduler();
  __builtin_unreachable();
}

Error run_kernel(const Launch& launch, Footprint& footprint) {
  State& s = state();
  Engine& e = engine;
  ++s.stats.launches;
  if (s.devices[launch.device].error != simtSuccess) return simtSuccess;  // nothing runs any more
  if (s.fail_kernel != 0 && --s.fail_kernel == 0) return simtErrorLaunchFailure;
  prepare(e, launch);
  std::vector<uint32_t> blocks(launch.grid.x);
  std::iota(blocks.begin(), blocks.end(), 0u);
  std::shuffle(blocks.begin(), blocks.end(), s.random);
  expose(launch.device, true);
  run_blocks(e, blocks);
  expose(launch.device, false);
  if (e.error != simtSuccess) clean_up(e);
  check_races();
  for (const GlobalAccess& access : e.reads) footprint.reads.push_back({access.begin, access.end});
  for (const GlobalAccess& access : e.writes)
    footprint.writes.push_back({access.begin, access.end});
  return e.error;
}

namespace {

Error launch_kernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                    size_t shared_bytes, simtStream_t handle, bool early) {
  Error error = simtSuccess;
  simtStream* stream = find_stream(handle, error);
  if (stream == nullptr) return error;
  if (stream->device != current_device()) return simtErrorInvalidResourceHandle;
  const auto known = state().kernels.find(kernel);
  if (known == state().kernels.end()) return simtErrorInvalidDeviceFunction;
  if (grid.x == 0 || grid.x > 0x7fffffff || block.x == 0 || block.x > most_threads ||
      grid.y * grid.z * block.y * block.z != 1 || shared_bytes > most_shared)
    return simtErrorInvalidConfiguration;
  auto launch = std::make_shared<Launch>();
  launch->kernel = kernel;
  launch->parameters = known->second;
  launch->grid = grid;
  launch->block = block;
  launch->shared_bytes = shared_bytes;
  launch->device = stream->device;
  launch->early = early;
  const SimtParameters& parameters = *known->second;
  size_t words = 0;
  for (int i = 0; i < parameters.count; ++i) words += (parameters.bytes[i] + 15) / 16;
  launch->storage.resize(words);
  uint4* next = launch->storage.data();
  for (int i = 0; i < parameters.count; ++i) {
    std::memcpy(next, arguments[i], parameters.bytes[i]);
    launch->arguments.push_back(next);
    next += (parameters.bytes[i] + 15) / 16;
  }
  return submit(*stream, "kernel",
                [launch](Footprint& footprint) { return run_kernel(*launch, footprint); });
}

}  // namespace
}  // namespace simt

using namespace simt;

void simtRegisterKernel(const void* kernel, const SimtParameters* parameters) {
  const Lock lock(state().mutex);
  state().kernels[kernel] = parameters;
}

simtError_t simtLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, simtStream_t stream) {
  return call(plain, [&] {
    return launch_kernel(kernel, grid, block, arguments, shared_bytes, stream, false);
  });
}
simtError_t simtLaunchKernelEarly(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                  size_t shared_bytes, simtStream_t stream) {
  return call(plain, [&] {
    return launch_kernel(kernel, grid, block, arguments, shared_bytes, stream, true);
  });
}

// A barrier orders the threads; it completes no copy.
void simtSyncThreads() {
  this_thread().state = ThreadState::at_barrier;
  switch_to_scheduler();
}

void* simtSharedMemory() { return engine.shared; }

void simtWaitForPredecessor() { this_thread().waited = true; }
