// A step: one prepared operator together with its tensors; what graphs replay and rebind.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "infinicore/graph/graph.hpp"
#include "plan/operators/functions.h"
#include "tensor/access.h"

namespace infinicore::detail {

// "1 operator", "2 operators"
std::string counted(size_t count, const std::string& noun);

// The addresses that a tensor's elements touch.
struct Span {
  std::uintptr_t begin, end;
};
Span span_of(const TensorImpl& tensor);
bool overlap(const Span& a, const Span& b);
// Equal dtypes, shapes and strides; those of dims of size 1 mean nothing.
bool same_layout(const TensorImpl& a, const TensorImpl& b);
// Whether all of `part` lies in `whole`, which is gapless or the same tensor.
bool holds(const TensorImpl& whole, const TensorImpl& part);

// The first operand is what the step writes; the others it only reads.
class Step {
 public:
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // On a stream of place().
  virtual void run(void* stream) const = 0;
  virtual std::string describe() const = 0;
  // False: it must not run on a stream in capture.
  virtual bool can_capture() const { return true; }
  virtual size_t workspace_bytes() const { return 0; }
  // True: what it does is to give the first operand the second one's elements, bit for bit.
  virtual bool is_copy() const { return false; }
  // The same step with these operands, of which those it reads hold the same elements in other
  // places. Null when the result could differ in a bit, or when it would not pay.
  virtual std::unique_ptr<Step> reading(const std::vector<Tensor>&) const { return nullptr; }
  // Throws when the operator does not accept these tensors in place of its own, which have the same
  // layouts at other addresses.
  virtual void check(const std::vector<Tensor>&) const {}

  infini::Place& place() const { return *place_; }
  const std::vector<Tensor>& operands() const { return operands_; }
  void swap_operands(std::vector<Tensor>& operands) noexcept;
  // Memory of at least workspace_bytes() for all runs to come; without it each run takes its own.
  void set_workspace(std::shared_ptr<Memory> workspace) { workspace_ = std::move(workspace); }
  // Empty when none was set.
  Span workspace_span() const;
  // It reads the source of a copy that the recorded step reads; see read_through.h.
  bool reads_through = false;

 protected:
  Step(infini::Place& place, std::vector<Tensor> operands);
  std::byte* data(size_t i) const { return data_[i]; }
  // Null: none was set.
  void* workspace() const { return workspace_ ? workspace_->data() : nullptr; }

 private:
  infini::Place* place_;
  std::vector<Tensor> operands_;  // destination first; kept alive
  std::byte* data_[infini::max_operands] = {};
  std::shared_ptr<Memory> workspace_;
};

// Records the step when this thread is recording, else runs it.
void record_or_run(std::unique_ptr<Step> step);
// Runs it on the calling thread's stream.
void run_now(const Step& step);
// Memory that work on `stream` uses must know.
inline void note_use(std::initializer_list<const TensorImpl*> tensors, void* stream) {
  for (const TensorImpl* tensor : tensors) tensor->memory()->used_on(stream);
}

// The place of both tensors; throws, naming both sides, when they are not on the same device.
infini::Place& common_place(const TensorImpl& a, const char* a_name, const TensorImpl& b,
                            const char* b_name);

}  // namespace infinicore::detail
