// Arrays as they come from Python: any object with DLPack, NumPy's array interface or the buffer
// protocol, and tensors of our own. Reading one copies no element.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "dlpack.h"
#include "infinicore.hpp"

namespace infini::python {

namespace nb = nanobind;

constexpr int max_rank = 64;

// A tensor of our own, as Python sees it. Views of what may not be written may not be written
// either.
struct PyTensor {
  infinicore::Tensor tensor;
  bool writable = true;
};

// What an array type is, found out once per type.
struct Framework {
  enum class Family { own, numpy, torch, cupy, jax, other };
  enum class Door { tensor, array_struct, exchange, dlpack, array_interface, buffer };
  nb::object type;
  Family family;
  Door door;
  const dlpack::ExchangeApi* api = nullptr;
  bool is_ndarray = false;  // NumPy's own, or derived from it

  bool is_numpy_scalar() const { return family == Family::numpy && !is_ndarray; }
};
// Throws TypeError for objects that are no arrays; `name` is the argument's.
const Framework& framework_of(nb::handle object, const char* name);
bool is_array(nb::handle object);

// What one element is: a number as DLPack names it, or something that only NumPy knows (dates,
// strings, records), which can be copied to its like.
struct Element {
  uint8_t code = 0;
  int bits = 0;
  bool swapped = false;  // the other byte order
  nb::object dtype;      // NumPy's, only where DLPack has no name

  bool same_as(const Element& other) const {
    return !dtype && !other.dtype
               ? code == other.code && bits == other.bits && swapped == other.swapped
               : dtype && other.dtype && dtype.equal(other.dtype);
  }
  // As infini calls it, where it has a name for it.
  std::optional<infinicore::DataType> known() const;
  std::string name() const;
};
Element element_of(infinicore::DataType dtype);

// Where the accelerator's work of one call goes: the current stream of the framework that brought
// the first foreign array on one, where that can be known; else the calling thread's.
struct Call {
  std::optional<infinicore::Device> device;
  void* stream = nullptr;
  const Framework* framework = nullptr;
  bool has_own = false;  // a tensor of our own, whose work may be on the thread's stream
};

// Room for any array's dims, of which copies take those that it has.
struct Dims {
  int rank = 0;
  int64_t shape[max_rank];
  int64_t steps[max_rank];  // in bytes

  Dims() = default;
  Dims(const Dims& other) : rank(other.rank) { take(other); }
  Dims& operator=(const Dims& other) {
    rank = other.rank;
    take(other);
    return *this;
  }

 private:
  void take(const Dims& other) {
    std::copy_n(other.shape, rank, shape);
    std::copy_n(other.steps, rank, steps);
  }
};

struct Array : Dims {
  nb::handle object;  // the caller holds it
  const Framework* framework = nullptr;
  void* data = nullptr;
  int64_t itemsize = 0;
  Element element;
  infinicore::Device device;
  bool writable = false;
  infinicore::Tensor own;        // when it is one of ours
  std::shared_ptr<void> keeper;  // what was taken from the object; dropped with the GIL held

  bool is_empty() const;
  int64_t count() const;
  // The bytes that the elements take, counted from the first one's; false where they are too many.
  bool reach(int64_t& below, int64_t& above) const;
  // Row-major without gaps; dims of size 1 do not matter.
  bool is_contiguous() const;
};

// Errors name the argument. The first array on an accelerator gives `call` its stream; the work
// that the others wait for is ordered before that.
Array read_array(nb::handle object, const char* name, Call& call);
Array read_tensor(const PyTensor& tensor);
// Of an object that is one; throws where it was made without a constructor.
const PyTensor& tensor_of(nb::handle object);

}  // namespace infini::python
