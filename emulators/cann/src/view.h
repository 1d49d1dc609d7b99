// Which unit of the chip handles a strided view, and the strided copy itself. The rules are those
// of the A2/A3 chips.
#pragma once
#include "meta.h"

namespace cann_emulator {

// How Contiguous reads a source.
enum class SourcePath { direct, broadcast, transpose, slice, strided_slice, as_strided, ai_cpu };
// How ViewCopy writes a destination whose source is contiguous.
enum class TargetPath { tensor_move, transpose, ai_core, ai_cpu };

SourcePath classify_source(const Tensor& tensor);
TargetPath classify_target(const Tensor& tensor);
void count(Counters& counters, SourcePath path);
void count(Counters& counters, TargetPath path);

// The AI CPU's copy does not know the unsigned types of 16 bits and more.
bool ai_cpu_takes(aclDataType dtype);

// dst[i] = src[i] for every index of dims; strides in elements, may be 0 on the source side and
// negative on both.
void strided_copy(unsigned char* dst, const std::vector<int64_t>& dst_strides,
                  const unsigned char* src, const std::vector<int64_t>& src_strides,
                  const std::vector<int64_t>& dims, size_t element);
std::vector<int64_t> dense_strides(const std::vector<int64_t>& dims);

// Whether a byte of dst is one of src; of two types, whether their ranges meet.
bool share_bytes(const Tensor& dst, const Tensor& src);

}  // namespace cann_emulator
