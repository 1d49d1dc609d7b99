// Reading arrays, each kind through the cheapest door that it has.
#include "array.h"

#include "doors.h"
#include "errors.h"
#include "torch.h"

namespace infini::python {

using Door = Framework::Door;

void set_rank(Array& array, int64_t rank, const char* name) {
  if (rank < 0 || rank > max_rank)
    fail_value(name, " has ", rank, " dims; 0 to ", max_rank, " are possible");
  array.rank = static_cast<int>(rank);
}

void set_dense_steps(Array& array) {
  int64_t step = array.itemsize;
  for (int i = array.rank; i-- > 0; step *= array.shape[i]) array.steps[i] = step;
}

namespace {

// What a producer says may be wrong: nothing is computed from extents that are none, or from steps
// that reach further than addresses do.
void require_possible(const Array& array, const char* name) {
  bool empty = false, fits = true;
  int64_t bytes = array.itemsize, below, above;
  for (int i = 0; i < array.rank; ++i) {
    if (array.shape[i] < 0) fail_value(name, " has a dim of ", array.shape[i]);
    empty |= array.shape[i] == 0;
    fits &= !__builtin_mul_overflow(bytes, array.shape[i], &bytes);
  }
  if (empty) return;
  if (!fits || !array.reach(below, above))
    fail_value(name, " has more elements, or longer steps, than addresses can count");
  if (array.data == nullptr) fail_value(name, " has elements but no memory");
}

}  // namespace

bool Array::is_empty() const {
  for (int i = 0; i < rank; ++i)
    if (shape[i] == 0) return true;
  return false;
}

bool Array::reach(int64_t& below, int64_t& above) const {
  int64_t low = 0, high = itemsize, far = 0;  // in registers, for which nobody waits
  bool fits = true;
  for (int i = 0; i < rank; ++i) {
    fits &= !__builtin_mul_overflow(shape[i] - 1, steps[i], &far);
    fits &= steps[i] < 0 ? !__builtin_add_overflow(low, far, &low)
                         : !__builtin_add_overflow(high, far, &high);
  }
  below = low, above = high;
  return fits;
}

int64_t Array::count() const {
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) count *= shape[i];
  return count;
}

bool Array::is_contiguous() const {
  int64_t step = itemsize;
  bool dense = true;
  for (int i = rank; i-- > 0; step *= shape[i]) {
    if (shape[i] == 0) return true;
    dense = dense && (shape[i] == 1 || steps[i] == step);
  }
  return dense;
}

const PyTensor& tensor_of(nb::handle object) {
  if (!nb::inst_ready(object))
    fail_type("the tensor was never made: use Tensor.empty() or another maker");
  return *nb::inst_ptr<PyTensor>(object);
}

namespace {

void take_tensor(Array& array, const PyTensor& from) {
  array.own = from.tensor;
  const infinicore::TensorImpl& tensor = *array.own.operator->();
  array.data = const_cast<std::byte*>(tensor.data());
  array.itemsize = static_cast<int64_t>(tensor.element_size());
  array.element = element_of(tensor.dtype());
  array.device = tensor.device();
  array.writable = from.writable;
  array.rank = static_cast<int>(tensor.ndim());
  for (int i = 0; i < array.rank; ++i) {
    array.shape[i] = static_cast<int64_t>(tensor.shape()[i]);
    array.steps[i] = tensor.strides()[i] * array.itemsize;
  }
}

}  // namespace

Array read_tensor(const PyTensor& from) {
  Array array;
  take_tensor(array, from);
  return array;
}

// (One array, which is neither copied nor set to zeros: both take as long as all the rest.)
Array read_array(nb::handle object, const char* name, Call& call) {
  const Framework& framework = framework_of(object, name);
  Array array;
  array.object = object;
  array.framework = &framework;
  if (framework.door == Door::tensor) {
    take_tensor(array, tensor_of(object));
    require_there(array.own);
    call.has_own = true;
    return array;
  }
  switch (framework.door) {
    case Door::array_struct: read_array_struct(array, name); break;
    case Door::array_interface: read_array_interface(array, name); break;
    case Door::exchange: read_exchange(array, name, call); break;
    case Door::dlpack: read_dlpack(array, name, call); break;
    default: read_buffer(array, name);
  }
  require_possible(array, name);
  return array;
}

}  // namespace infini::python
