// Tensors, arrays and executors of the two-phase operators, and the checks that every operator's
// first phase makes.
#pragma once
#include <map>

#include "state.h"

namespace cann_emulator {

struct Tensor {
  std::vector<int64_t> dims, strides;  // in elements
  int64_t offset = 0;
  aclDataType dtype = ACL_DT_UNDEFINED;
  std::vector<int64_t> storage;
  uint64_t address = 0;
  int pins = 0;  // executors between their phases that use this tensor

  int64_t count() const;
  int64_t last_element() const;  // offset + sum of stride * (dim - 1)
  bool contiguous() const;
  uint64_t first_byte() const {
    return address + static_cast<uint64_t>(offset) * size_of_element();
  }
  size_t span() const;  // bytes from first_byte to the end of the last element
  size_t size_of_element() const;
  Access access(bool writes) const;  // the bytes of the view
};

size_t size_of(aclDataType dtype);
bool permutation_of_dense(const Tensor& tensor);
bool dense_in_order(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides);

// One queued operator: the operands' bytes it touches, and the work itself, which gets the
// workspace's bytes.
struct Launch {
  std::vector<Access> accesses;
  std::function<void(State&, unsigned char* workspace)> run;
};

// What the first phase leaves for the second.
struct Executor {
  const char* op = "";
  std::vector<uint64_t> tensors;  // handles, inputs then output
  uint64_t workspace_size = 0;
  bool may_repeat = true;
  std::function<Launch()>
      bind;  // from the addresses that the tensors have now; null: nothing to do

  bool repeatable = false, ran = false;
  Launch launch;
};

struct Meta {
  std::map<uint64_t, Tensor> tensors;
  std::map<uint64_t, std::vector<int64_t>> arrays;
  std::map<uint64_t, double> scalars;
  std::map<uint64_t, Executor> executors;
};
Meta& meta();

Tensor* find_tensor(Call& call, const aclTensor* handle, const char* argument, int& code);

// Layout, storage, address and dtype of one operand; 0 or the code to return.
int check_tensor(Call& call, const Tensor& tensor, const char* argument,
                 const std::vector<aclDataType>& dtypes, size_t max_rank = 8);

// First phase's end: stores the executor and hands out its handle and workspace size.
int finish_first_phase(Call& call, Executor executor, uint64_t* workspace_size,
                       aclOpExecutor** out);
// The whole second phase of operator `op`.
aclnnStatus second_phase(const char* op, void* workspace, uint64_t workspace_size,
                         aclOpExecutor* executor, aclrtStream stream);

}  // namespace cann_emulator
