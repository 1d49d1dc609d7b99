// Device memory in stream order.
#include "backends/ascend/runtime/stream_memory.h"

#include <acl/acl.h>

#include <bit>

#include "backends/ascend/runtime/check.h"

namespace infini::ascend {
namespace {

constexpr size_t granule = size_t{1} << 20;

// Powers of two up to a MiB, then whole MiBs: few sizes, so that blocks are found again.
size_t rounded(size_t bytes) {
  if (bytes <= granule) return std::bit_ceil(bytes < 512 ? size_t{512} : bytes);
  return bytes > SIZE_MAX - granule ? bytes : (bytes + granule - 1) / granule * granule;
}

}  // namespace

void* allocate_or_trim(size_t bytes, StreamMemory& spare) {
  void* p = nullptr;
  int code = aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  if (code != 0 && spare.trim()) code = aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  check(code, "aclrtMalloc");
  return p;
}

void* StreamMemory::take_idle(Idle& idle, size_t bytes) {
  const auto found = idle.lower_bound(bytes);
  if (found == idle.end() || found->first > 2 * bytes + granule) return nullptr;
  void* p = found->second;
  idle.erase(found);
  blocks_[p].idle = false;
  return p;
}

void* StreamMemory::take(size_t bytes, void* stream) {
  bytes = rounded(bytes);
  {
    std::lock_guard lock(mutex_);
    if (void* p = take_idle(of_stream_[stream], bytes)) return p;
    if (void* p = take_idle(common_, bytes)) return p;
  }
  void* p = allocate_or_trim(bytes, *this);
  try {
    std::lock_guard lock(mutex_);
    blocks_.insert_or_assign(p, Block{bytes, false});
  } catch (...) {
    aclrtFree(p);
    throw;
  }
  return p;
}

StreamMemory::Given StreamMemory::give(void* p, void* stream) noexcept {
  std::lock_guard lock(mutex_);
  const auto block = blocks_.find(p);
  if (block == blocks_.end()) return Given::foreign;
  if (block->second.idle) return Given::twice;
  try {
    of_stream_[stream].emplace(block->second.bytes, p);
    block->second.idle = true;
  } catch (...) {  // no memory for the note: the block stays taken for ever
  }
  return Given::idle;
}

bool StreamMemory::forget(void* p) noexcept {
  std::lock_guard lock(mutex_);
  const auto block = blocks_.find(p);
  if (block == blocks_.end()) return true;
  if (block->second.idle) return false;
  blocks_.erase(block);
  return true;
}

void StreamMemory::stream_done(void* stream) noexcept {
  std::lock_guard lock(mutex_);
  const auto idle = of_stream_.find(stream);
  if (idle == of_stream_.end()) return;
  common_.merge(idle->second);
  of_stream_.erase(idle);
}

// The wait is under the lock: a block that is idle then was given back before it, and its last work
// queued before that.
bool StreamMemory::trim() noexcept {
  std::lock_guard lock(mutex_);
  bool any = false;
  if (blocks_.empty() || aclrtSynchronizeDevice() != 0) return false;
  auto release = [&](Idle& idle) {
    for (const auto& [size, p] : idle) {
      aclrtFree(p);
      blocks_.erase(p);
      any = true;
    }
    idle.clear();
  };
  for (auto& [stream, idle] : of_stream_) release(idle);
  of_stream_.clear();
  release(common_);
  return any;
}

}  // namespace infini::ascend
