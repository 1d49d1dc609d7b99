// PyTorch's tensors: what memory does not show of them is refused, their storage is kept, whatever
// happens to the tensor, and PyTorch is told of writes.
#pragma once

#include "array.h"

namespace infini::python {

// Refuses types that compute their elements (wrappers, masked and fake tensors).
void require_plain_torch_type(nb::handle type, const char* name);
// Refuses tensors that a backward pass will ask for, and those whose elements are not what lies in
// memory.
void require_plain_torch(const Array& array, const char* name);

// The memory of a PyTorch tensor. A tensor can be given other memory at any time (x.data = y), so
// an alias of it holds the storage; and a storage can be resized, which a NumPy array over it
// forbids (on the CPU, where there is NumPy). What is left (x.share_memory_(), x.resize_() on a
// GPU) is found out before the memory is used. All of it needs the GIL.
class TorchMemory {
 public:
  explicit TorchMemory(const Array& array);
  // Throws when PyTorch has given the memory away since.
  void require_there() const;
  bool lies_at(const void* data) const { return data_ == data; }
  nb::handle alias() const { return alias_; }

 private:
  nb::object alias_, pin_;
  void* data_;
  const dlpack::ExchangeApi* api_;
};

// Which memory of the library's tensors is PyTorch's, for as long as they live.
void remember(const infinicore::Memory* memory, std::shared_ptr<TorchMemory> torch);
void forget(const infinicore::Memory* memory);
// Null when it is not PyTorch's.
std::shared_ptr<TorchMemory> torch_memory_of(const infinicore::Tensor& tensor);
// Throws when PyTorch has given the tensor's memory away since.
void require_there(const infinicore::Tensor& tensor);

// After elements of these PyTorch tensors were written behind its back: a backward pass that has
// saved one must know.
void raise_versions(const std::vector<nb::handle>& tensors);
// The same for whatever array, unless the write is only recorded.
void note_written(const Array& array);

}  // namespace infini::python
