// The naive reference.
#include "harness/rearrange/reference.h"

#include <cstring>

#include "base/dtype.h"

namespace infini::harness {

void naive_rearrange(void* dst, const Layout& dst_layout, const void* src,
                     const Layout& src_layout) {
  const auto bytes = dtype_bytes(dst_layout.dtype);
  const int64_t count = element_count(dst_layout);
  int64_t index[max_rank] = {};
  int64_t to = 0, from = 0;  // element offsets of the current index
  for (int64_t n = 0; n < count; ++n) {
    std::memcpy(static_cast<char*>(dst) + to * bytes, static_cast<const char*>(src) + from * bytes,
                static_cast<size_t>(bytes));
    for (int i = dst_layout.rank; i-- > 0;) {  // the next index, like an odometer
      if (dst_layout.shape[i] == 1) continue;
      to += dst_layout.strides[i];
      from += src_layout.strides[i];
      if (++index[i] < dst_layout.shape[i]) break;
      to -= index[i] * dst_layout.strides[i];
      from -= index[i] * src_layout.strides[i];
      index[i] = 0;
    }
  }
}

}  // namespace infini::harness
