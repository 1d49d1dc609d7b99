// CANN's two-phase operators as owned objects.
#include "backends/ascend/operators/operators.h"

#include <acl/acl.h>

#include <algorithm>
#include <utility>

namespace infini::ascend {
namespace {

constexpr uintptr_t address_alignment = 32;
constexpr size_t cached_calls = 8;

}  // namespace

Tensor make_tensor(aclDataType dtype, int64_t element_bytes, int rank, const int64_t* dims,
                   const int64_t* strides, int64_t elements, const void* address) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  require(first % static_cast<uintptr_t>(element_bytes) == 0, INFINI_STATUS_BAD_PARAM, "address ",
          address, " is no multiple of the element size ", element_bytes);
  const uintptr_t base = first / address_alignment * address_alignment;
  const int64_t offset = static_cast<int64_t>(first - base) / element_bytes;
  const int64_t storage = offset + elements;
  Tensor tensor(aclCreateTensor(dims, static_cast<uint64_t>(rank), dtype, strides, offset,
                                ACL_FORMAT_ND, &storage, 1, reinterpret_cast<void*>(base)));
  require(tensor != nullptr, INFINI_STATUS_INTERNAL_ERROR, "aclCreateTensor made no tensor");
  return tensor;
}

OperatorCall::~OperatorCall() {
  if (executor_ != nullptr) aclDestroyAclOpExecutor(executor_);
}

// The second phase consumes a one-shot executor even when it fails.
void OperatorCall::run(const char* name, SecondPhase phase, StreamMemory& memory, void* stream) {
  const Scratch workspace(memory, workspace_, stream);
  aclOpExecutor* executor = repeatable_ ? executor_ : std::exchange(executor_, nullptr);
  check(phase(workspace.get(), workspace_, executor, stream), name);
}

std::unique_ptr<OperatorCall> CallCache::take(const void* const (&key)[3]) {
  std::lock_guard lock(mutex_);
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const auto& call) {
    return std::equal(std::begin(key), std::end(key), call->key);
  });
  if (found == idle_.rend()) return nullptr;
  std::unique_ptr<OperatorCall> call = std::move(*found);
  idle_.erase(std::next(found).base());
  return call;
}

void CallCache::give(std::unique_ptr<OperatorCall> call) {
  if (!call->repeatable()) return;
  std::unique_ptr<OperatorCall> oldest;  // destroyed outside the lock
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(call));
  if (idle_.size() <= cached_calls) return;
  oldest = std::move(idle_.front());
  idle_.erase(idle_.begin());
}

}  // namespace infini::ascend
