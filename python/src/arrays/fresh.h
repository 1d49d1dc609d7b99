// Results: new arrays of the framework that an argument came from.
#pragma once

#include "doors/array.h"

namespace infini::python {

struct Fresh {
  nb::object object;  // holds the memory
  Array array;        // of it
  const Framework* wanted;

  // The result as the framework wants it, once its elements are computed or their work is
  // submitted.
  nb::object take();
};

// An array of NumPy's whose copy would be allocated by NumPy.
bool is_small_numpy(const Array& array);
// Contiguous, uninitialised, on the device of `like` and with its elements. NumPy, PyTorch and CuPy
// allocate for themselves, except large results on the CPU, which lie in the library's pool; for
// others it is a tensor of ours, which take() hands over where they accept it.
Fresh make_fresh(const Array& like, const int64_t* shape, int rank, Call& call);

}  // namespace infini::python
