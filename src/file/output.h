// New files that appear only when they are complete: written beside their place under a temporary name, flushed to the disk, renamed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "file/descriptor.h"

namespace infini::file {

// A set of files that appear together or, after an error or an interrupt, not at all.
class Outputs {
 public:
  Outputs() = default;
  Outputs(const Outputs&) = delete;
  ~Outputs();  // what is not finished disappears

  // A new file of this size. Refuses a place where something is (unless `replace`, and then only a regular file that is none of
  // `inputs`, links followed), and folders that are not there.
  const Descriptor& add(const std::string& path, int64_t bytes, bool replace,
                        const std::vector<std::shared_ptr<const Descriptor>>& inputs);
  // Flushes all files and gives them their names.
  void finish();

 private:
  struct File {
    std::string path, temporary;
    bool replace;
    std::unique_ptr<Descriptor> descriptor;
  };
  std::vector<File> files_;
};

}  // namespace infini::file
