// Tensors as text.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <iostream>
#include <sstream>

#include "infinicore/io.hpp"
#include "tensor/access.h"
#include "tensor/edge.h"
#include "tensor/elements.h"
#include "tensor/thread_state.h"

namespace infinicore {
namespace {

// How tensors are printed: for all streams, unless a stream has an option of its own.
enum Option { line_width, threshold, edge_items, precision, sci_mode, option_count };
std::atomic<int> options[option_count] = {0, 1000, 3, -1, -1};

// The stream's own words for them: 0 is none, else the value and 2.
int word_of(Option option) {
  static const int words[option_count] = {std::ios_base::xalloc(), std::ios_base::xalloc(),
                                          std::ios_base::xalloc(), std::ios_base::xalloc(),
                                          std::ios_base::xalloc()};
  return words[option];
}
int option_of(std::ostream& out, Option option) {
  const long own = out.iword(word_of(option));
  return own == 0 ? options[option].load() : static_cast<int>(own - 2);
}
std::ostream& set_option(std::ostream& out, Option option, int value) {
  out.iword(word_of(option)) = value + 2L;
  return out;
}

struct Style {
  explicit Style(std::ostream& out)
      : width(static_cast<Size>(std::max(0, option_of(out, line_width)))),
        small(static_cast<Size>(std::max(0, option_of(out, threshold)))),
        edge(static_cast<Size>(std::max(1, option_of(out, edge_items)))),
        digits(option_of(out, precision)),
        scientific(option_of(out, sci_mode)) {}
  void apply(std::ostream& out) const {
    if (digits >= 0) out.precision(digits);
    if (scientific == 1) out.setf(std::ios_base::scientific, std::ios_base::floatfield);
    if (scientific == 0) out.setf(std::ios_base::fixed, std::ios_base::floatfield);
  }
  Size width, small, edge;  // dims longer than two edges are shortened, unless the tensor is small
  int digits, scientific;
};

void write_element(std::ostream& out, const std::byte* p, DataType dtype) {
  const Scalar value = detail::read_element(p, dtype);
  if (dtype == DataType::BOOL) {
    out << (value.to<bool>() ? "true" : "false");
  } else if (value.kind() == Scalar::Kind::Signed) {
    out << value.to<int64_t>();
  } else if (value.kind() == Scalar::Kind::Unsigned) {
    out << value.to<uint64_t>();
  } else if (value.kind() == Scalar::Kind::Real) {
    out << value.to<double>();
  } else {
    const auto z = value.to<std::complex<double>>();
    out << z.real() << (z.imag() < 0 ? "" : "+") << z.imag() << "j";
  }
}

std::string element_text(const std::ostream& format, const std::byte* p, DataType dtype) {
  std::ostringstream out;
  out.copyfmt(format);
  write_element(out, p, dtype);
  return out.str();
}

// `p` is the first element of a block of dims dim.. of a tensor in host memory.
void write_block(std::ostream& out, const TensorImpl& tensor, const std::byte* p, Size dim,
                 const Style& style) {
  if (dim == tensor.ndim()) return write_element(out, p, tensor.dtype());
  const Size extent = tensor.shape()[dim];
  const Stride step = tensor.strides()[dim] * static_cast<Stride>(tensor.element_size());
  const bool innermost = dim + 1 == tensor.ndim();
  const std::string next_line = ",\n " + std::string(dim, ' ');
  Size column = dim + 1;
  out << "[";
  for (Size i = 0; i < extent; ++i) {
    const bool first = i == 0;
    const bool skips = tensor.numel() > style.small && extent > 2 * style.edge && i == style.edge;
    if (skips) i = extent - style.edge - 1;
    const std::byte* const at = p + static_cast<Stride>(i) * step;
    if (!innermost) {
      if (!first) out << next_line;
      if (skips)
        out << "...";
      else
        write_block(out, tensor, at, dim + 1, style);
      continue;
    }
    const std::string words = skips ? "..." : element_text(out, at, tensor.dtype());
    const bool full = style.width > 0 && column + 2 + words.size() > style.width;
    if (!first) out << (full ? next_line : ", ");
    column = first || !full ? column + 2 + words.size() : dim + 1 + words.size();
    out << words;
  }
  out << "]";
}

}  // namespace

std::string TensorImpl::info() const {
  return detail::at_edge([&] {
    std::string text = toString(dtype_) + " " + detail::to_string(shape_);
    if (!contiguous_) {
      text += " strides [";
      for (size_t i = 0; i < ndim(); ++i) text += (i ? ", " : "") + std::to_string(strides_[i]);
      text += "]";
    }
    return text + " on " + device().toString() + (is_pinned() ? " pinned" : "");
  });
}

std::string toString(const Tensor& tensor) {
  return detail::at_edge([&] {
    std::ostringstream out;
    out << tensor;
    return out.str();
  });
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return detail::at_edge([&]() -> std::ostream& {
    if (!tensor) return out << "Tensor()";
    const detail::RunNow now;
    const Tensor host = tensor->to(Device::cpu());
    // Into a text first: a stream that fails half-way does not keep our format.
    std::ostringstream whole;
    whole.copyfmt(out);
    whole.width(0);
    const Style style(out);
    style.apply(whole);
    write_block(whole, *host.operator->(), host->data(), 0, style);
    return out << whole.str();
  });
}

void TensorImpl::debug() const {
  return detail::at_edge([&] {
    std::cout << info() << "\n" << detail::TensorAccess::self(*this) << std::endl;
  });
}

void TensorImpl::debug(const std::string& filename) const {
  return detail::at_edge([&] {
    std::ofstream file(filename);
    file << info() << "\n" << detail::TensorAccess::self(*this) << "\n";
    file.flush();
    infini::require(file.good(), INFINI_STATUS_INTERNAL_ERROR, "cannot write ", filename);
  });
}

namespace print_options {

void set_line_width(int columns) { options[Option::line_width] = columns; }
void set_threshold(int elements) { options[Option::threshold] = elements; }
void set_edge_items(int items) { options[Option::edge_items] = items; }
void set_precision(int digits) { options[Option::precision] = digits; }
void set_sci_mode(int mode) { options[Option::sci_mode] = mode; }

std::ostream& operator<<(std::ostream& out, line_width option) {
  return set_option(out, Option::line_width, option.value);
}
std::ostream& operator<<(std::ostream& out, threshold option) {
  return set_option(out, Option::threshold, option.value);
}
std::ostream& operator<<(std::ostream& out, edge_items option) {
  return set_option(out, Option::edge_items, option.value);
}
std::ostream& operator<<(std::ostream& out, precision option) {
  return set_option(out, Option::precision, option.value);
}
std::ostream& operator<<(std::ostream& out, sci_mode option) {
  return set_option(out, Option::sci_mode, option.value);
}

}  // namespace print_options
}  // namespace infinicore
