// The C API's objects for one run, destroyed whatever happens; and a stream that runs or records.
#pragma once

#include <string>

#include "infiniop.h"
#include "infinirt.h"
#include "plan/layout/layout.h"

namespace infini::fuzz {

template <class Object, infiniStatus_t (*destroy)(Object)>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (object_ != nullptr) destroy(object_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Object* out() { return &object_; }
  operator Object() const { return object_; }

 private:
  Object object_ = nullptr;
};

using TensorDescriptor = Owned<infiniopTensorDescriptor_t, infiniopDestroyTensorDescriptor>;
using RearrangeDescriptor =
    Owned<infiniopRearrangeDescriptor_t, infiniopDestroyRearrangeDescriptor>;
using RearrangeBatchDescriptor =
    Owned<infiniopRearrangeBatchDescriptor_t, infiniopDestroyRearrangeBatchDescriptor>;
using GemmDescriptor = Owned<infiniopGemmDescriptor_t, infiniopDestroyGemmDescriptor>;

// The CPU's, for the whole process.
infiniopHandle_t cpu_handle();

infiniStatus_t create(TensorDescriptor& desc, const Layout& layout);

enum class How { at_once, on_a_stream, recorded };

// Where a run goes: the default stream, one of its own, or one that is being captured.
class Queue {
 public:
  explicit Queue(How how);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  infinirtStream_t stream() const { return stream_; }
  bool records() const { return how_ == How::recorded; }
  // Runs what was recorded, twice; does nothing else.
  void finish();

 private:
  How how_;
  infinirtStream_t stream_ = nullptr;
};

// Ends with a finding unless the call succeeded.
void expect_success(infiniStatus_t status, const char* call);

}  // namespace infini::fuzz
