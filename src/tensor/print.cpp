// Tensors as text.
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/float_formats.h"
#include "tensor/access.h"
#include "tensor/edge.h"
#include "tensor/thread_state.h"

namespace infinicore {
namespace {

// Dims longer than this are shortened to their ends, unless the tensor is small.
constexpr Size edge = 3, small = 1000;

template <class T>
T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

float load_f8(const std::byte* p) { return infini::f32_from_f8(load<uint8_t>(p)); }
float load_f16(const std::byte* p) { return infini::f32_from_f16(load<uint16_t>(p)); }

template <class T>
void write_complex(std::ostream& out, T real, T imaginary) {
  out << real << (imaginary < 0 ? "" : "+") << imaginary << "j";
}

void write_element(std::ostream& out, const std::byte* p, DataType dtype) {
  switch (dtype) {
    case DataType::BOOL: out << (load<uint8_t>(p) ? "true" : "false"); break;
    case DataType::I8: out << int{load<int8_t>(p)}; break;
    case DataType::I16: out << load<int16_t>(p); break;
    case DataType::I32: out << load<int32_t>(p); break;
    case DataType::I64: out << load<int64_t>(p); break;
    case DataType::BYTE:
    case DataType::U8: out << int{load<uint8_t>(p)}; break;
    case DataType::U16: out << load<uint16_t>(p); break;
    case DataType::U32: out << load<uint32_t>(p); break;
    case DataType::U64: out << load<uint64_t>(p); break;
    case DataType::F8: out << load_f8(p); break;
    case DataType::F16: out << load_f16(p); break;
    case DataType::BF16: out << infini::f32_from_bf16(load<uint16_t>(p)); break;
    case DataType::F32: out << load<float>(p); break;
    case DataType::F64: out << load<double>(p); break;
    case DataType::C16: write_complex(out, load_f8(p), load_f8(p + 1)); break;
    case DataType::C32: write_complex(out, load_f16(p), load_f16(p + 2)); break;
    case DataType::C64: write_complex(out, load<float>(p), load<float>(p + 4)); break;
    case DataType::C128: write_complex(out, load<double>(p), load<double>(p + 8)); break;
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
