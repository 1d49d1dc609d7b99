// From arrays to tensors of the library, over the same memory.
#include "doors/convert.h"

#include <algorithm>
#include <bit>

#include "doors/stream.h"
#include "doors/torch.h"
#include "errors.h"
#include "tensors/graph.h"

namespace infini::python {
namespace {

using infinicore::DataType;
using infinicore::Shape;
using infinicore::Strides;
using infinicore::Tensor;

// The framework may use the memory for something else now: after what this thread has asked for.
void return_to(const Framework* framework, const infinicore::Device& device) noexcept {
  if (framework == nullptr || device == infinicore::Device::cpu()) return;
  try {
    if (const auto theirs = current_stream(*framework, device))
      order(device, infinicore::context::getStream(device), *theirs);
  } catch (const std::exception&) {  // nobody to tell; the next call on that device will
  }
}

// What a tensor keeps of a Python array. It may die on any thread, with or without the GIL, and
// even after the interpreter: then there is nothing left to release.
struct Kept {
  PyObject* object = nullptr;
  std::shared_ptr<void> keeper;
  Tensor own;
  std::shared_ptr<TorchMemory> torch;
  const infinicore::Memory* memory =
      nullptr;  // of the tensor that keeps it, where that is PyTorch's
  const Framework* framework;
  infinicore::Device device;

  explicit Kept(const Array& array)
      : keeper(array.keeper), own(array.own), framework(array.framework), device(array.device) {
    if (own) torch = torch_memory_of(own);
    if (framework && framework->family == Framework::Family::torch)
      torch = recorded_memory(array);
    else
      object = array.object.inc_ref().ptr();
  }
  ~Kept() {
    if (!Py_IsInitialized()) {
      new std::shared_ptr<void>(std::move(keeper));  // its release would call into Python
      new std::shared_ptr<TorchMemory>(std::move(torch));
      return;
    }
    const Locked locked;
    return_to(framework, device);
    if (memory) forget(memory);
    keeper.reset();
    torch.reset();
    Py_XDECREF(object);
  }
  Kept(const Kept&) = delete;
};

// A tensor over the array's memory that keeps it.
Tensor keep(const Array& array, const Shape& shape, const Strides& strides, DataType dtype) {
  const auto kept = std::make_shared<Kept>(array);
  const Tensor made =
      Tensor::strided_from_blob(array.data, shape, strides, dtype, array.device, [kept](void*) {});
  if (kept->torch) {
    remember(made->memory().get(), kept->torch);
    kept->memory = made->memory().get();
  }
  return made;
}

// The largest power of two, up to 16, that divides the element and all steps.
int64_t word_of(const Array& array) {
  uint64_t bits = static_cast<uint64_t>(array.itemsize) | 16;
  for (int i = 0; i < array.rank; ++i)
    if (array.shape[i] > 1) bits |= static_cast<uint64_t>(array.steps[i]);
  return static_cast<int64_t>(bits & (~bits + 1));
}

DataType type_of_word(int64_t word) {
  switch (word) {
    case 1: return DataType::U8;
    case 2: return DataType::U16;
    case 4: return DataType::U32;
    case 8: return DataType::U64;
    default: return DataType::C128;
  }
}

// `word` bytes at each point, all steps being multiples of it.
Tensor view_in_words(const Array& array, DataType dtype, int64_t word, Hold hold) {
  const bool split = word != array.itemsize;
  const auto rank = static_cast<size_t>(array.rank);
  Shape shape(rank + split);
  Strides strides(rank + split);
  const int shift = std::countr_zero(static_cast<uint64_t>(word));
  for (size_t i = 0; i < rank; ++i) {
    shape[i] = static_cast<size_t>(array.shape[i]);
    strides[i] = array.shape[i] > 1 ? array.steps[i] >> shift : 0;
  }
  if (split) {
    shape[rank] = static_cast<size_t>(array.itemsize / word);
    strides[rank] = 1;
  }
  return hold == Hold::tensor
             ? noted(keep(array, shape, strides, dtype))
             : Tensor::strided_from_blob(array.data, shape, strides, dtype, array.device);
}

}  // namespace

bool can_convert(const Array& array) {
  return array.own || (array.element.known() && word_of(array) >= array.itemsize);
}

Tensor to_tensor(const Array& array, Hold hold) {
  if (array.own) return noted(array.own);
  const auto dtype = array.element.known();
  if (!dtype)
    fail_type("elements of type ", array.element.name(),
              " can be copied, but are no numbers of infini's");
  return view_in_words(array, *dtype, array.itemsize, hold);
}

std::pair<Tensor, Tensor> to_words(const Array& dst, const Array& src, Hold hold) {
  const bool whole = std::has_single_bit(static_cast<uint64_t>(dst.itemsize)) &&
                     dst.itemsize <= 16 && word_of(dst) >= dst.itemsize &&
                     word_of(src) >= src.itemsize;
  if (whole) {
    const DataType dtype = dst.element.known().value_or(type_of_word(dst.itemsize));
    const auto view = [&](const Array& array) {
      return array.own ? noted(array.own) : view_in_words(array, dtype, array.itemsize, hold);
    };
    return {view(dst), view(src)};
  }
  const int64_t word = std::min(word_of(dst), word_of(src));
  // Our own tensor is held, too, by what keeps its object.
  return {view_in_words(dst, type_of_word(word), word, hold),
          view_in_words(src, type_of_word(word), word, hold)};
}

}  // namespace infini::python
