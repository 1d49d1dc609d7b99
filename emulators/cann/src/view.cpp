// Path classifier and strided copy.
#include "view.h"

#include <algorithm>
#include <cstring>

namespace cann_emulator {
namespace {

struct Dim {
  int64_t size, stride;
};

// Neighbours that are dense relative to each other become one dimension. Size-1 dimensions are not
// dropped: the vendor's merge is not known to do so, and a strict emulator does not assume it.
std::vector<Dim> merged(const Tensor& t) {
  std::vector<Dim> out;
  for (size_t i = 0; i < t.dims.size(); ++i) {
    if (!out.empty() && out.back().stride == t.dims[i] * t.strides[i])
      out.back() = {out.back().size * t.dims[i], t.strides[i]};
    else
      out.push_back({t.dims[i], t.strides[i]});
  }
  return out;
}

// Several pitches: 3 or 4 merged dimensions around a contiguous run of at least 32 elements.
bool rows_with_several_pitches(const std::vector<Dim>& dims) {
  if (dims.size() < 3 || dims.size() > 4) return false;
  const Dim& run = dims.back();
  return run.stride == 1 && run.size >= 32 &&
         std::all_of(dims.begin(), dims.end() - 1,
                     [&](const Dim& d) { return d.stride >= run.size; });
}

// Exactly one gap: a plain row pitch, or a uniform step.
bool one_gap(const std::vector<Dim>& dims) {
  if (dims.size() == 1) return true;
  return dims.size() == 2 && dims[1].stride == 1 && dims[0].stride > dims[1].size;
}

bool as_strided_on_ai_core(aclDataType dtype) {
  return dtype != ACL_DOUBLE && dtype != ACL_COMPLEX64 && dtype != ACL_COMPLEX128;
}

void copy_line(unsigned char* dst, int64_t dst_step, const unsigned char* src, int64_t src_step,
               int64_t n, size_t element) {
  auto line = [&](auto word) {
    for (int64_t i = 0; i < n; ++i, dst += dst_step, src += src_step) {
      std::memcpy(&word, src, sizeof word);
      std::memcpy(dst, &word, sizeof word);
    }
  };
  struct Wide {
    uint64_t low, high;
  };
  if (dst_step == static_cast<int64_t>(element) && src_step == dst_step)
    std::memcpy(dst, src, static_cast<size_t>(n) * element);
  else if (element == 1)
    line(uint8_t{});
  else if (element == 2)
    line(uint16_t{});
  else if (element == 4)
    line(uint32_t{});
  else if (element == 8)
    line(uint64_t{});
  else
    line(Wide{});
}

}  // namespace

SourcePath classify_source(const Tensor& t) {
  if (t.contiguous()) return SourcePath::direct;
  if (permutation_of_dense(t)) return SourcePath::transpose;
  bool has_zero = false, others_dense = true;
  int64_t expected = 1;
  for (size_t i = t.dims.size(); i-- > 0;) {
    if (t.dims[i] == 1) continue;
    if (t.strides[i] == 0) {
      has_zero = true;
    } else {
      others_dense = others_dense && t.strides[i] == expected;
      expected *= t.dims[i];
    }
  }
  if (has_zero && others_dense) return SourcePath::broadcast;
  std::vector<Dim> dims = merged(t);
  if (dims.size() == 2 && dims[1].stride == 1 && dims[0].stride > dims[1].size)
    return SourcePath::slice;
  if (dims.size() == 1) return SourcePath::strided_slice;
  return as_strided_on_ai_core(t.dtype) ? SourcePath::as_strided : SourcePath::ai_cpu;
}

TargetPath classify_target(const Tensor& t) {
  if (t.contiguous()) return TargetPath::tensor_move;
  if (permutation_of_dense(t)) return TargetPath::transpose;
  std::vector<Dim> dims = merged(t);
  bool listed = as_strided_on_ai_core(t.dtype);
  return listed && (one_gap(dims) || rows_with_several_pitches(dims)) ? TargetPath::ai_core
                                                                      : TargetPath::ai_cpu;
}

void count(Counters& c, SourcePath path) {
  uint64_t* slots[] = {&c.source_direct, &c.source_broadcast,     &c.source_transpose,
                       &c.source_slice,  &c.source_strided_slice, &c.source_as_strided,
                       &c.source_ai_cpu};
  ++*slots[static_cast<size_t>(path)];
}

void count(Counters& c, TargetPath path) {
  uint64_t* slots[] = {&c.tensor_move, &c.transpose, &c.ai_core, &c.ai_cpu};
  ++*slots[static_cast<size_t>(path)];
}

bool ai_cpu_takes(aclDataType dtype) {
  return dtype != ACL_UINT16 && dtype != ACL_UINT32 && dtype != ACL_UINT64;
}

std::vector<int64_t> dense_strides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

void strided_copy(unsigned char* dst, const std::vector<int64_t>& dst_strides,
                  const unsigned char* src, const std::vector<int64_t>& src_strides,
                  const std::vector<int64_t>& dims, size_t element) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return;
  size_t rank = dims.size();
  auto bytes = [&](int64_t stride) { return stride * static_cast<int64_t>(element); };
  if (rank == 0) {
    std::memcpy(dst, src, element);
    return;
  }
  std::vector<int64_t> index(rank, 0);
  for (;;) {
    copy_line(dst, bytes(dst_strides[rank - 1]), src, bytes(src_strides[rank - 1]), dims[rank - 1],
              element);
    size_t i = rank - 1;
    while (i-- > 0) {
      dst += bytes(dst_strides[i]);
      src += bytes(src_strides[i]);
      if (++index[i] < dims[i]) break;
      dst -= bytes(dst_strides[i]) * dims[i];
      src -= bytes(src_strides[i]) * dims[i];
      index[i] = 0;
    }
    if (i == static_cast<size_t>(-1)) return;
  }
}

}  // namespace cann_emulator
