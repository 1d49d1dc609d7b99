// What is done with whole files: convert, rearrange, slice, shard, unshard; each writes new files and changes none.
#pragma once

#include <string>
#include <vector>

#include "base/export.h"
#include "file/tensor_file.h"
#include "file/transfer.h"
#include "plan/pattern/pattern.h"

namespace infini::file {

struct JobOptions {
  int64_t memory = int64_t{1} << 30;
  bool replace = false;    // an existing file of this name
  std::string glob = "*";  // the tensors that are meant; the others are copied as they are
  infiniDevice_t device = INFINI_DEVICE_CPU;  // that puts elements in order and converts them
  int device_id = 0;
  std::string dtype;  // of those tensors in the result; empty: as they are
  std::function<void(int64_t done, int64_t all)>
      progress;  // bytes written; may throw to end the job
};

// * is any text, ? any character.
bool glob_matches(std::string_view glob, std::string_view text);

// A range of indices as Python writes them: "1:5", "::2", "-1" (keeps the dim, of size 1), "" or ":".
struct Range {
  int64_t first = 0, count = 0, step = 1;
};
// One for each dim, missing ones are whole; throws BAD_PARAM.
std::vector<Range> parse_ranges(std::string_view text, const std::vector<int64_t>& shape);

// How to read a part of a tensor of a file, row-major at dst_offset 0.
Transfer transfer_of(const FileTensor& tensor, const std::vector<Range>& ranges);

INFINI_TOOL_EXPORT void convert_file(const std::string& in, const std::string& out,
                                     const JobOptions& options);
INFINI_TOOL_EXPORT void rearrange_file(const std::string& in, const std::string& out,
                                       const std::string& pattern,
                                       const std::vector<std::pair<std::string, int64_t>>& sizes,
                                       const JobOptions& options);
INFINI_TOOL_EXPORT void slice_file(const std::string& in, const std::string& out,
                                   const std::string& ranges, const JobOptions& options);
// OUT.safetensors becomes OUT-rank-0-of-8.safetensors and so on; tensors that are not meant are in every file.
INFINI_TOOL_EXPORT void shard_file(const std::string& in, const std::string& out, int64_t ranks,
                                   int64_t dim, const JobOptions& options);
std::string shard_path(const std::string& path, int64_t rank, int64_t ranks);
// Files that are named as shard_file() names them are taken by their ranks, and all have to be there.
INFINI_TOOL_EXPORT void unshard_files(const std::vector<std::string>& in, const std::string& out,
                                      int64_t dim, const JobOptions& options);

}  // namespace infini::file
