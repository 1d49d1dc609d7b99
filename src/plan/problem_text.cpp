// Writing problem texts.
#include "plan/problem_text.h"

#include "base/dtype.h"

namespace infini {
namespace {

std::string strides_text(const char* key, const Layout& layout) {
  if (layout.rank == 0 || is_contiguous(layout)) return "";
  std::string text = std::string(" ") + key;
  for (int i = 0; i < layout.rank; ++i)
    text += (i == 0 ? '=' : ',') + std::to_string(layout.strides[i]);
  return text;
}

std::string number(const char* key, int64_t value) {
  return std::string(" ") + key + "=" + std::to_string(value);
}

}  // namespace

std::string rearrange_text(const Layout& dst, const Layout& src) {
  return std::string("rearrange ") + dtype_name(dst.dtype) + " " + shape_string(dst) +
         strides_text("dst", dst) + strides_text("src", src);
}

std::string gemm_text(const Layout& c, const Layout& a, const Layout& b) {
  const auto batch = [](const Layout& x) { return x.rank == 3 ? x.shape[0] : -1; };
  std::string text = std::string("gemm ") + dtype_name(a.dtype) + number("m", c.shape[c.rank - 2]) +
                     number("n", c.shape[c.rank - 1]) + number("k", a.shape[a.rank - 1]);
  if (c.rank == 3) text += number("batch", batch(c));
  if (batch(a) != batch(c)) text += number("a_batch", batch(a));
  if (batch(b) != batch(c)) text += number("b_batch", batch(b));
  if (c.dtype != a.dtype) text += std::string(" out=") + dtype_name(c.dtype);
  return text + strides_text("c", c) + strides_text("a", a) + strides_text("b", b);
}

}  // namespace infini
