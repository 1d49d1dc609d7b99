// Filling tensors and copying them between devices.
#include "tensor/op/copy.h"
#include "tensor/edge.h"

#include <ostream>

#include "infinicore/ops/rearrange.hpp"
#include "ops/transfer/between.h"
#include "tensor/elements.h"
#include "tensor/graph/step.h"
#include "tensor/thread_state.h"

namespace infinicore {
namespace detail {
namespace {

using infini::require;

class ZeroStep : public Step {
 public:
  explicit ZeroStep(const Tensor& tensor)
      : Step(tensor->memory()->place(), {tensor}), bytes_(tensor->nbytes()) {}
  void run(void* stream) const override {
    if (bytes_ == 0) return;
    place().device.make_current();
    place().device.set_async(data(0), 0, bytes_, stream);
  }
  std::string describe() const override { return "zero " + operands()[0]->info(); }

 private:
  size_t bytes_;
};

// Copies contiguous bytes between two accelerators and returns when they have arrived: host memory may
// change right after, and no vendor's stream orders another vendor's work.
class TransferStep : public Step {
 public:
  TransferStep(const Tensor& dst, const Tensor& src)
      : Step(dst->memory()->place(), {dst, src}),
        src_place_(src->memory()->place()),
        bytes_(dst->nbytes()) {}

  void run(void* stream) const override {
    if (bytes_ == 0) return;
    void* src_stream = this_thread().stream(src_place_);
    if (place().device.kind() == src_place_.device.kind() && from_peer(stream, src_stream)) return;
    const Memory host(src_place_, src_place_.pinned, bytes_, src_stream);
    pull(host.data(), src_stream);
    push(host.data(), stream);
  }
  std::string describe() const override {
    return "copy " + operands()[0]->info() + " <- " + operands()[1]->info();
  }
  bool can_capture() const override { return false; }

 private:
  bool from_peer(void* stream, void* src_stream) const {
    src_place_.device.make_current();
    src_place_.device.synchronize_stream(src_stream);
    place().device.make_current();
    place().device.synchronize_stream(stream);
    return place().device.copy_from_peer(data(0), src_place_.device, data(1), bytes_);
  }
  void push(const void* host, void* stream) const {
    copy(place().device, data(0), host, INFINIRT_MEMCPY_H2D, stream);
  }
  void pull(void* host, void* stream) const {
    copy(src_place_.device, host, data(1), INFINIRT_MEMCPY_D2H, stream);
  }
  void copy(infini::Device& device, void* dst, const void* src, infinirtMemcpyKind_t kind,
            void* stream) const {
    device.make_current();
    device.copy_async(dst, src, bytes_, kind, stream);
    device.synchronize_stream(stream);
  }

  infini::Place& src_place_;
  size_t bytes_;
};

// Copies between the host's memory and a device's with any strides; returns when the bytes have arrived.
class BetweenStep : public Step {
 public:
  BetweenStep(const Tensor& dst, const Tensor& src)
      : Step(dst->memory()->place(), {dst, src}),
        far_(place().device.kind() == INFINI_DEVICE_CPU ? src->memory()->place() : place()),
        copy_(far_.device,
              &far_ == &place() ? infini::Direction::to_device : infini::Direction::to_host,
              layout_of(*dst.operator->()), layout_of(*src.operator->())) {}

  void run(void* stream) const override {
    void* far_stream = &far_ == &place() ? stream : this_thread().stream(far_);
    copy_.run(data(0), data(1), far_stream);
    far_.device.make_current();
    far_.device.synchronize_stream(far_stream);
  }
  std::string describe() const override {
    return "copy " + operands()[0]->info() + " <- " + operands()[1]->info() +
           (copy_.pageable() ? std::string(", ") + copy_.pageable()->name() : "");
  }
  bool can_capture() const override { return false; }

 private:
  infini::Place& far_;  // the one that is not the host's
  infini::RearrangeBetween copy_;
};

}  // namespace

void fill_with_zero_bytes(const Tensor& tensor) {
  record_or_run(std::make_unique<ZeroStep>(tensor));
}

Tensor scalar_tensor(const Scalar& value, DataType dtype, const Device& device) {
  const Tensor scalar = Tensor::empty({}, dtype, Device::cpu());
  write_element(scalar->data(), dtype, value);
  const RunNow now;
  return scalar->to(device);
}

Tensor broadcast_to(const Tensor& src, const Shape& shape) {
  const auto& from = TensorAccess::impl(src, "src");
  if (from.shape() == shape) return src;
  const size_t rank = shape.size(), own = from.ndim();
  Strides strides(rank, 0);
  bool fits = own <= rank;
  for (size_t i = 0; fits && i < own; ++i) {
    const Size extent = from.shape()[i], wanted = shape[rank - own + i];
    fits = extent == wanted || extent == 1;
    if (extent == wanted) strides[rank - own + i] = from.strides()[i];
  }
  require(fits, INFINI_STATUS_BAD_TENSOR_SHAPE, "shape ", text(from.shape()),
          " cannot be broadcast to ", text(shape));
  infini::make_layout(static_cast<infiniDtype_t>(from.dtype()), rank, shape.data(),
                      strides.data());  // or throws
  return TensorAccess::make(shape, std::move(strides), from.dtype(), from.memory(),
                            const_cast<std::byte*>(from.data()));
}

}  // namespace detail

using namespace detail;

Tensor TensorImpl::broadcast_to(const Shape& shape) const {
  return at_edge([&] { return detail::broadcast_to(TensorAccess::self(*this), shape); });
}

void TensorImpl::copy_from(const Tensor& source) {
  return at_edge([&] {
    const TensorImpl& src = TensorAccess::impl(source, "src");
    require(dtype_ == src.dtype(), INFINI_STATUS_BAD_TENSOR_DTYPE, "copy of ", src.dtype(), " to ",
            dtype_, "; both sides must have one dtype");
    const Tensor self = TensorAccess::self(*this);
    const Tensor spread = detail::broadcast_to(source, shape_);
    infini::Place& place = memory_->place();
    if (&place == &src.memory()->place()) return op::rearrange_(self, spread);
    const bool to_host = place.device.kind() == INFINI_DEVICE_CPU;
    if (to_host || src.memory()->place().device.kind() == INFINI_DEVICE_CPU)
      return record_or_run(std::make_unique<BetweenStep>(self, spread));
    const Tensor dense = source->contiguous();
    if (contiguous_ && shape_ == src.shape())
      return record_or_run(std::make_unique<TransferStep>(self, dense));
    const Tensor arrived = empty_at(place, src.shape(), dtype_);
    record_or_run(std::make_unique<TransferStep>(arrived, dense));
    op::rearrange_(self, detail::broadcast_to(arrived, shape_));
  });
}

Tensor TensorImpl::to(const Device& device) const {
  return at_edge([&] {
    infini::Place& place = detail::place_of(device);
    const Tensor self = TensorAccess::self(*this);
    if (&place == &memory_->place()) return self;
    Tensor copy = empty_at(place, shape_, dtype_);
    copy->copy_from(self);
    return copy;
  });
}

}  // namespace infinicore
