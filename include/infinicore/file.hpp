// infinicore/file.hpp: tensors in files (.npy, .npz, .safetensors, also sharded with an index), read in any part without the rest.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor.hpp"

namespace infinicore::file {
// One tensor of a file: its name there and what it is.
struct Entry {
  std::string name;
  DataType dtype;
  bool e5m2;  // F8 of 5 exponent bits; its elements are read as U8
  Shape shape;
};

// Of a dim: so many indices from `first` on, `step` apart (negative: backwards).
struct Range {
  int64_t first;
  Size count;
  int64_t step;
};

// An open file. Immutable; many threads may read. Opening reads its header and checks it.
class INFINI_EXPORT File {
 public:
  explicit File(const std::string& path);
  const std::vector<Entry>& tensors() const;
  // A new tensor in memory of the host; one range for each dim. Only what is needed is read.
  Tensor read(Size tensor, const std::vector<Range>& ranges) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace infinicore::file
