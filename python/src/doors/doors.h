// The doors through which arrays come in, each kind in a file of its own; read_array() picks one.
#pragma once

#include "array.h"

namespace infini::python {

void read_array_struct(Array& array, const char* name);
void read_array_interface(Array& array, const char* name);
void read_exchange(Array& array, const char* name, Call& call);
// The producer orders its work before `call`'s stream itself.
void read_dlpack(Array& array, const char* name, Call& call);
void read_buffer(Array& array, const char* name);
// False, and nothing is changed, where the object has none.
bool try_read_only_buffer(Array& array, const char* name);

void set_rank(Array& array, int64_t rank, const char* name);
// Row-major steps, for sources that leave them out.
void set_dense_steps(Array& array);
// Holds an object's memory by the buffer protocol; writable where it allows that.
std::shared_ptr<Py_buffer> hold_buffer(nb::handle object);

}  // namespace infini::python
