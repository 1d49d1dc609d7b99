// Runs a kernel: clusters one after the other in a seeded order, the cores of a cluster as fibers
// that switch at barriers and, at random, at fences.
#include "kernel.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#ifndef __has_feature  // g++
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define XPU_EMU_ASAN 1
#endif

#include "xpu/kernel/xtdk.h"

namespace xpu_emu {

Engine& engine() {
  static Engine* const instance = new Engine;
  return *instance;
}

Core*& current_core() {
  static thread_local Core* core = nullptr;
  return core;
}

namespace {
// A core's first frames are left and never returned to, which a thread sanitizer would count.
__attribute__((no_sanitize("thread"))) void switch_to_scheduler(Core& core) {
  swapcontext(&core.context, &engine().scheduler);
}

__attribute__((no_sanitize("thread"))) void core_main() {
  Core& core = *current_core();
  core.top = static_cast<uint8_t*>(__builtin_frame_address(0));
  const Launch& launch = *engine().launch;
  reinterpret_cast<void (*)(const void*)>(launch.function)(launch.arguments.data());
  finish_core(core);
  core.state = CoreState::ended;
  switch_to_scheduler(core);
}

void prepare_core(Core& core, int id) {
  if (!core.stack) {
    void* block = mmap(nullptr, stack_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) throw std::bad_alloc();
    mprotect(block, 4096, PROT_NONE);  // an overrun must not reach the next core
    core.stack = static_cast<uint8_t*>(block);
    core.bytes.assign(window_size, 0);
    core.used.assign(window_size, 0);
  }
  uint8_t* const end = core.stack + stack_size;
#ifdef XPU_EMU_ASAN
  __asan_unpoison_memory_region(core.stack + 4096, stack_size - 4096);
#endif
  std::memset(end - lm_size, static_cast<int>(0xA0 | (engine().draw() & 15)), lm_size);
  core.id = id;
  core.top = end;
  core.pending.clear();
  core.vector_stores.clear();
  for (size_t i = core.used_begin; i < core.used_end; ++i) core.used[i] = 0;
  core.used_begin = window_size;
  core.used_end = core.data_bytes = 0;
  core.told_budget = false;
  core.state = CoreState::ready;
  getcontext(&core.context);
  core.context.uc_stack.ss_sp = core.stack;
  core.context.uc_stack.ss_size = stack_size;
  core.context.uc_link = nullptr;
  makecontext(&core.context, core_main, 0);
}

void resume(Core& core) {
  current_core() = &core;
  swapcontext(&engine().scheduler, &core.context);
  current_core() = nullptr;
}

// Nobody can run: either all cores stand at the barrier, or those who do wait for ever.
void release_barrier(Engine& e) {
  int waiting = 0, missing = -1, example = 0;
  for (const Core& core : e.cores) {
    if (core.id >= e.launch->cores) continue;
    if (core.state == CoreState::at_barrier)
      ++waiting, example = core.id;
    else
      missing = core.id;
  }
  if (missing >= 0) {
    violate(XPU_EMU_DIVERGENT_BARRIER,
            "cluster %d: core %d and %d others wait at a barrier, core %d has ended", e.cluster,
            example, waiting - 1, missing);
    e.faulted = true;
    return;
  }
  ++e.epoch;
  for (Core& core : e.cores)
    if (core.id < e.launch->cores) core.state = CoreState::ready;
}

void run_cluster(Engine& e, int cluster) {
  const int cores = e.launch->cores;
  e.cluster = cluster;
  ++e.epoch;
  e.shared_ready = false;
  for (int i = 0; i < cores; ++i) prepare_core(e.cores[i], i);
  std::vector<int> ready(cores);
  std::iota(ready.begin(), ready.end(), 0);
  while (!e.faulted) {
    while (!ready.empty() && !e.faulted) {
      const size_t pick = e.draw() % ready.size();
      const int id = ready[pick];
      ready[pick] = ready.back();
      ready.pop_back();
      resume(e.cores[id]);
      if (e.cores[id].state == CoreState::ready) ready.push_back(id);
    }
    const auto end = e.cores.begin() + cores;
    const bool waits = std::any_of(
        e.cores.begin(), end, [](const Core& core) { return core.state == CoreState::at_barrier; });
    if (!waits || e.faulted) return;
    release_barrier(e);
    for (int i = 0; i < cores; ++i)
      if (e.cores[i].state == CoreState::ready) ready.push_back(i);
  }
}

// What was in flight when a kernel was stopped will never land.
void forget_states(Engine& e) {
  for (auto& byte : e.shared_bytes) byte.state = 0;
  for (Core& core : e.cores) std::fill(core.bytes.begin(), core.bytes.end(), 0);
}

void collect(const std::vector<GlobalAccess>& log, std::vector<Range>& out) {
  out.reserve(log.size());
  for (const auto& access : log) {
    if (!out.empty() && out.back().end == access.begin)
      out.back().end = access.end;
    else
      out.push_back({access.begin, access.end});
  }
}
}  // namespace

void yield_core() { switch_to_scheduler(*current_core()); }

void fault() {
  Core& core = *current_core();
  engine().faulted = true;
  core.state = CoreState::ended;
  switch_to_scheduler(core);
  __builtin_unreachable();
}

int run_kernel(const Launch& launch, Footprint& footprint) {
  State& s = state();
  Engine& e = engine();
  ++s.stats.launches;
  if (s.fail_kernel && --s.fail_kernel == 0) return XPUERR_KEXCEPTION;
  e.launch = &launch;
  e.faulted = false;
  e.random = s.random();
  e.cores.resize(max_cores);
  e.shared_bytes.resize(sm_size);
  for (int i = 0; i < max_cores; ++i) e.cores[i].id = i;
  std::vector<int> order(launch.clusters);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), s.random);
  for (int cluster : order)
    if (!e.faulted) run_cluster(e, cluster);
  if (e.faulted) forget_states(e);
  check_global_races(e);
  collect(e.reads, footprint.reads);
  collect(e.writes, footprint.writes);
  e.reads.clear();
  e.writes.clear();
  e.launch = nullptr;
  return e.faulted ? XPUERR_KEXCEPTION : 0;
}
}  // namespace xpu_emu

using namespace xpu_emu;

int core_id() { return current_core() ? current_core()->id : 0; }
int core_num() { return engine().launch ? engine().launch->cores : 0; }
int cluster_id() { return engine().cluster; }
int cluster_num() { return engine().launch ? engine().launch->clusters : 0; }

// A barrier orders the cores; it completes no copy.
void sync_cluster() {
  current_core()->state = CoreState::at_barrier;
  yield_core();
}
void sync_all() { sync_cluster(); }

void xpu_emu_bind_shared(void* begin, void* end) {
  Engine& e = engine();
  e.shared = static_cast<uint8_t*>(begin);
  e.shared_end = static_cast<uint8_t*>(end);
  if (static_cast<size_t>(e.shared_end - e.shared) > sm_size) {
    violate(XPU_EMU_SM_BUDGET, "%zu bytes of shared memory, the cluster has %zu",
            static_cast<size_t>(e.shared_end - e.shared), sm_size);
    fault();
  }
  if (e.shared_ready) return;
  e.shared_ready = true;
  std::memset(e.shared, 0xB5, e.shared_end - e.shared);
}
