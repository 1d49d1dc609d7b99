// aclOpExecutor: made by a first phase, consumed by the second unless it was made repeatable in
// between.
#include <algorithm>
#include <cstring>

#include "meta.h"

namespace cann_emulator {
namespace {

constexpr unsigned char poison = 0xDB;

Executor* find_executor(Call& call, aclOpExecutor* handle, int& code) {
  code = 0;
  if (!handle) {
    code = call.refused(ACLNN_ERR_INNER_NULLPTR, "executor is NULL");
    return nullptr;
  }
  auto it = meta().executors.find(address_of(handle));
  if (it != meta().executors.end()) return &it->second;
  code = call.broken(Rule::executor_reuse, ACLNN_ERR_INNER_NULLPTR,
                     "no such executor: a one-shot executor is gone after its second phase");
  return nullptr;
}

void unpin(Executor& executor) {
  if (executor.ran) return;
  for (uint64_t handle : executor.tensors)
    if (auto it = meta().tensors.find(handle); it != meta().tensors.end()) --it->second.pins;
}

void erase(uint64_t handle) {
  auto it = meta().executors.find(handle);
  if (it == meta().executors.end()) return;
  unpin(it->second);
  meta().executors.erase(it);
}

int check_workspace(Call& call, const Executor& e, void* workspace, uint64_t size, int device) {
  if (e.workspace_size == 0) return 0;
  if (!workspace)
    return call.broken(Rule::workspace, ACLNN_ERR_PARAM_NULLPTR, "workspace is NULL, ",
                       e.workspace_size, " bytes are needed");
  if (size < e.workspace_size)
    return call.broken(Rule::workspace, ACLNN_ERR_PARAM_NULLPTR, "workspace has ", size, " bytes, ",
                       e.workspace_size, " are needed");
  uint64_t begin = address_of(workspace), end = begin + size;
  if (begin % 32 || !device_bytes(call.s, begin, size, device))
    return call.broken(Rule::workspace, ACLNN_ERR_PARAM_INVALID,
                       "workspace is no aligned live memory of device ", device);
  for (const Access& access : e.launch.accesses)
    if (access.begin < end && begin < access.end)
      return call.broken(Rule::workspace, ACLNN_ERR_PARAM_INVALID, "workspace overlaps an operand");
  return 0;
}

// Queues the operator. Tensors may be destroyed after this, the workspace and the operands may not.
int launch(Call& call, Executor& e, void* workspace, uint64_t size, aclrtStream handle) {
  int code = 0;
  Stream* stream = find_stream(call, handle, code);
  if (!stream) return code;
  if ((code = check_workspace(call, e, workspace, size, stream->device))) return code;
  if (call.must_fail()) return ACLNN_ERR_RUNTIME_ERROR;
  if (!e.bind) return 0;  // nothing to do: an empty tensor
  Task task{e.launch.accesses, {}};
  uint64_t begin = address_of(workspace), bytes = e.workspace_size;
  if (bytes) task.accesses.push_back({begin, begin + bytes, true, true});
  task.run = [run = e.launch.run, begin, bytes, device = stream->device] {
    unsigned char* scratch = bytes ? device_bytes(state(), begin, bytes, device) : nullptr;
    if (bytes && !scratch) return;  // freed in flight: recorded
    if (bytes) std::memset(scratch, poison, bytes);
    run(state(), scratch);
  };
  enqueue(call, *stream, std::move(task));
  return 0;
}

// The executor is used up whether or not it could be queued.
int launch_if_memory_lasts(Call& call, Executor& e, void* workspace, uint64_t size,
                           aclrtStream stream) {
  try {
    return launch(call, e, workspace, size, stream);
  } catch (const std::bad_alloc&) {
    return ACLNN_ERR_INNER;
  }
}

aclnnStatus set_address(const char* name, aclOpExecutor* executor, size_t index, aclTensor* tensor,
                        void* address, bool output) {
  return answer(name, ACLNN_ERR_INNER, [&](Call& call) -> int {
    int code = 0;
    Executor* e = find_executor(call, executor, code);
    if (!e) return code;  // nothing is stored, unlike on the chip, where it happens to work
    if (!e->repeatable)
      return call.broken(Rule::address_between_phases, ACLNN_ERR_PARAM_INVALID,
                         "the executor is not repeatable");
    size_t position = output ? e->tensors.size() - 1 + index : index;
    if (position >= e->tensors.size() || e->tensors[position] != address_of(tensor))
      return call.broken(Rule::shape, ACLNN_ERR_PARAM_INVALID, "tensor ", index,
                         " is not that operand");
    meta().tensors[e->tensors[position]].address = address_of(address);
    e->launch = e->bind();
    return ACLNN_SUCCESS;
  });
}

}  // namespace

int finish_first_phase(Call& call, Executor executor, uint64_t* workspace_size,
                       aclOpExecutor** out) {
  if (call.must_fail()) return ACLNN_ERR_INNER_CREATE_EXECUTOR;
  ++call.s.counters.executors;
  *workspace_size = executor.workspace_size;
  if (executor.bind) executor.launch = executor.bind();
  uint64_t handle = call.s.next_handle++;
  const Executor& stored = meta().executors.emplace(handle, std::move(executor)).first->second;
  for (uint64_t tensor : stored.tensors) ++meta().tensors[tensor].pins;
  *out = handle_of<aclOpExecutor*>(handle);
  return ACLNN_SUCCESS;
}

aclnnStatus second_phase(const char* op, void* workspace, uint64_t size, aclOpExecutor* handle,
                         aclrtStream stream) {
  return answer(op, ACLNN_ERR_INNER, [&](Call& call) -> int {
    int code = 0;
    Executor* e = find_executor(call, handle, code);
    if (!e) return code;
    if (std::strcmp(e->op, op) != 0)
      return call.broken(Rule::executor_reuse, ACLNN_ERR_PARAM_INVALID,
                         "the executor was made for ", e->op);
    bool alive = std::all_of(e->tensors.begin(), e->tensors.end(),
                             [](uint64_t t) { return meta().tensors.count(t) != 0; });
    if (!alive)
      code = call.broken(Rule::live_handle, ACLNN_ERR_PARAM_INVALID,
                         "an operand's tensor was destroyed before the second phase");
    else
      code = launch_if_memory_lasts(call, *e, workspace, size, stream);
    if (!e->repeatable) {
      erase(address_of(handle));
    } else {
      if (e->ran) ++call.s.counters.repeatable_runs;
      unpin(*e);
      e->ran = true;
    }
    return code;
  });
}

}  // namespace cann_emulator

using namespace cann_emulator;

extern "C" {

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  return answer("aclSetAclOpExecutorRepeatable", ACLNN_ERR_INNER, [&](Call& call) -> int {
    int code = 0;
    Executor* e = find_executor(call, executor, code);
    if (!e) return code;
    if (call.must_fail()) return ACLNN_ERR_INNER;
    if (call.s.refuse_repeatable || !e->may_repeat)
      return call.refused(ACLNN_ERR_INNER, "this executor cannot be made repeatable");
    if (!e->repeatable) ++call.s.counters.repeatable_granted;
    e->repeatable = true;
    return ACLNN_SUCCESS;
  });
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  return answer("aclDestroyAclOpExecutor", ACLNN_ERR_INNER, [&](Call& call) -> int {
    int code = 0;
    if (!find_executor(call, executor, code)) return code;
    erase(address_of(executor));
    return ACLNN_SUCCESS;
  });
}

aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                             void* address) {
  return set_address("aclSetTensorAddr", executor, index, tensor, address, false);
}
aclnnStatus AclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                             void* address) {
  return set_address("AclSetTensorAddr", executor, index, tensor, address, false);
}
aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                  void* address) {
  return set_address("aclSetInputTensorAddr", executor, index, tensor, address, false);
}
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                   void* address) {
  return set_address("aclSetOutputTensorAddr", executor, index, tensor, address, true);
}

}  // extern "C"
