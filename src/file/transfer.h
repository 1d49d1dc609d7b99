// Moving a tensor from files to files in pieces that fit a given memory.
//
// A tensor's addresses are those of one space for all files of a side: file k begins at k · file_step. So a shard is a loop whose step is
// file_step, and a slice, a transpose, a shard and its inverse are the same thing: a nest of loops with a step on each side.
// Law: a block reads what it needs of each file once, and the blocks cover every element once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "contract/device.h"
#include "file/descriptor.h"
#include "infinicore.h"

namespace infini::file {

constexpr int64_t file_step = int64_t{1} << 44;  // bytes: no file is longer

struct TransferDim {
  int64_t extent, dst_step, src_step;  // bytes
};

struct Transfer {
  std::vector<TransferDim> dims;
  int64_t dst_offset = 0, src_offset = 0;
  infiniDtype_t dst_dtype = INFINI_DTYPE_INVALID, src_dtype = INFINI_DTYPE_INVALID;
  bool dst_e5m2 = false, src_e5m2 = false;
};

struct TransferPlan {
  std::vector<TransferDim> dims;  // outermost of dst first; extents of 1 dropped, neighbours joined
  std::vector<int64_t> block;     // extents of a block
  int64_t blocks = 1;
  int64_t dst_offset = 0, src_offset = 0;
  // A block's source is read in spans of the files; inside a span all bytes are read, whether they are needed or not.
  std::vector<size_t> span_dims;                         // nearest first, by step of the source
  int64_t span_bytes = 0, raw_bytes = 0, out_bytes = 0;  // of a whole block
};
// Throws BAD_PARAM where even the smallest block does not fit.
TransferPlan make_transfer_plan(const Transfer& transfer, int64_t memory);

// Called now and then with the bytes written so far by this transfer.
using Progress = std::function<void(int64_t bytes)>;

// dst: for each file of the destination, likewise src. What must be put in order or converted is brought to the device for it.
void run_transfer(const Transfer& transfer, const std::vector<const Descriptor*>& dst,
                  const std::vector<const Descriptor*>& src, int64_t memory, Device& device,
                  const Progress& progress = {});

// The same into memory: dst_offset counts from `to`.
void read_transfer(const Transfer& transfer, char* to, const std::vector<const Descriptor*>& src,
                   int64_t memory);

}  // namespace infini::file
