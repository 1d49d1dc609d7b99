// The objects behind infiniop's handles.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/cells.h"
#include "base/threads/lazy.h"
#include "contract/device.h"
#include "infiniop.h"
#include "plan/layout/layout.h"

// Clients may read the first two members; the tag says what the object is, 0 once destroyed.
struct InfiniopHandle {
  infiniDevice_t device;
  int device_id;
  std::atomic<uint32_t> tag;
};
struct InfiniopDescriptor {
  infiniDevice_t device;
  int device_id;
  std::atomic<uint32_t> tag;
  std::atomic<uint32_t> family;  // of every operator, whatever its tag
};
struct InfiniopTensorDescriptor {
  std::atomic<uint32_t> tag;
};

namespace infini {

// A handle's payload: the device that it names.
struct HandleBody {
  Device* device;
};
// A layout cut to its rank.
struct TensorBody {
  explicit TensorBody(const Layout& layout);
  Layout layout() const;

  infiniDtype_t dtype;
  int rank;
  std::unique_ptr<int64_t[]> numbers;  // shape, then strides
};

using Handles = Cells<InfiniopHandle, HandleBody, 0x68616e64>;
using TensorDescriptors = Cells<InfiniopTensorDescriptor, TensorBody, 0x74656e73>;
constexpr uint32_t operator_family = 0x6f706572;
constexpr uint32_t rearrange_tag = 0x72656172, gemm_tag = 0x67656d6d, operator_tag = 0x6f707273;
template <class Operator, uint32_t tag>
using Operators = Cells<InfiniopDescriptor, Operator, tag, Lives::long_>;

// Creates an operator's descriptor for the device of `op`.
template <class Cells, class Operator>
InfiniopDescriptor* create_descriptor(Cells& cells, Operator op) {
  const infiniDevice_t kind = op.device().kind();
  const int id = op.device().id();
  return cells.create(
      [=](InfiniopDescriptor& head) {
        head.device = kind;
        head.device_id = id;
        head.family.store(operator_family, std::memory_order_relaxed);
      },
      std::move(op));
}

inline Device& device_of(infiniopHandle_t handle) {
  return *Handles::pin(handle, "handle")->device;
}
inline Layout layout_of(infiniopTensorDescriptor_t desc, const char* argument) {
  return TensorDescriptors::pin(desc, argument)->layout();
}

}  // namespace infini
