// CANN's two-phase operators as owned objects: tensors, executors, and one prepared call.
#pragma once

#include <aclnn/acl_meta.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/ascend/runtime/check.h"
#include "backends/ascend/runtime/stream_memory.h"

namespace infini::ascend {

struct TensorDeleter {
  void operator()(aclTensor* tensor) const { aclDestroyTensor(tensor); }
};
using Tensor = std::unique_ptr<aclTensor, TensorDeleter>;

struct ArrayDeleter {
  void operator()(aclIntArray* array) const { aclDestroyIntArray(array); }
};
using IntArray = std::unique_ptr<aclIntArray, ArrayDeleter>;

// A view whose first element lies at `address`. CANN wants 32-byte aligned addresses and a storage
// shape that covers the view: the address is rounded down, the rest becomes an offset, and the
// storage is one row that ends with the view's last element (`elements` from the first). Strides in
// elements.
Tensor make_tensor(aclDataType dtype, int64_t element_bytes, int rank, const int64_t* dims,
                   const int64_t* strides, int64_t elements, const void* address);

using SecondPhase = int (*)(void* workspace, uint64_t bytes, aclOpExecutor* executor, void* stream);

// A call between its phases, with the operands that it keeps alive. It runs once, or again and
// again when CANN makes its executor repeatable; always by one thread at a time.
class OperatorCall {
 public:
  OperatorCall() = default;
  ~OperatorCall();
  OperatorCall(const OperatorCall&) = delete;

  // `phase` runs the first phase. `keep` asks for a repeatable executor; CANN may say no.
  template <class Phase>
  void prepare(const char* name, bool keep, Phase phase) {
    check(phase(&workspace_, &executor_), name);
    repeatable_ = keep && aclSetAclOpExecutorRepeatable(executor_) == 0;
    if (keep && !repeatable_)
      aclGetRecentErrMsg();  // a refusal is no error: do not leave its words
  }
  void run(const char* name, SecondPhase phase, StreamMemory& memory, void* stream);
  bool repeatable() const { return repeatable_; }

  Tensor tensors[4];
  IntArray array;
  const void* key[3] = {};  // the addresses it was made for

 private:
  aclOpExecutor* executor_ = nullptr;
  uint64_t workspace_ = 0;
  bool repeatable_ = false;
};

// Prepared calls of one kernel that wait for their next run, found by their operands' addresses.
class CallCache {
 public:
  std::unique_ptr<OperatorCall> take(const void* const (&key)[3]);
  void give(std::unique_ptr<OperatorCall> call);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<OperatorCall>> idle_;  // most recently used last
};

}  // namespace infini::ascend
