// Tensors as text.
#include <fstream>
#include <iostream>
#include <sstream>

#include "tensor/access.h"
#include "tensor/edge.h"
#include "tensor/elements.h"
#include "tensor/thread_state.h"

namespace infinicore {
namespace {

// Dims longer than this are shortened to their ends, unless the tensor is small.
constexpr Size edge = 3, small = 1000;

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

// `p` is the first element of a block of dims dim.. of a tensor in host memory.
void write_block(std::ostream& out, const TensorImpl& tensor, const std::byte* p, Size dim) {
  if (dim == tensor.ndim()) return write_element(out, p, tensor.dtype());
  const Size extent = tensor.shape()[dim];
  const Stride step = tensor.strides()[dim] * static_cast<Stride>(tensor.element_size());
  const bool innermost = dim + 1 == tensor.ndim();
  out << "[";
  for (Size i = 0; i < extent; ++i) {
    if (i > 0) out << (innermost ? ", " : ",\n " + std::string(dim, ' '));
    if (tensor.numel() > small && extent > 2 * edge && i == edge) {
      out << "...";
      i = extent - edge - 1;
      continue;
    }
    write_block(out, tensor, p + static_cast<Stride>(i) * step, dim + 1);
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
    write_block(out, *host.operator->(), host->data(), 0);
    return out;
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

}  // namespace infinicore
