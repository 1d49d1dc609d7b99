// Files of tensors: what infini.open stands on.
#include "infinicore/file.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays/functions.h"
#include "gil.h"
#include "names.h"

namespace infini::python {
namespace {

using infinicore::file::File;

nb::list tensors(const File& file) {
  nb::list all;
  for (const auto& entry : file.tensors()) {
    const std::vector<int64_t> shape(entry.shape.begin(), entry.shape.end());
    all.append(nb::make_tuple(entry.name, name_of(entry.dtype), entry.e5m2,
                              to_tuple(shape.data(), static_cast<int>(shape.size()))));
  }
  return all;
}

nb::object read(const File& file, size_t tensor,
                const std::vector<std::tuple<int64_t, size_t, int64_t>>& ranges) {
  std::vector<infinicore::file::Range> plain;
  for (const auto& [first, count, step] : ranges) plain.push_back({first, count, step});
  infinicore::Tensor made;
  {
    const Unlocked unlocked(true);
    made = file.read(tensor, plain);
  }
  return nb::cast(PyTensor{std::move(made)});
}

}  // namespace

void bind_files(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<File>(module, "_File")
      .def(nb::init<const std::string&>(), "path"_a)
      .def("tensors", &tensors)
      .def("read", &read, "tensor"_a, "ranges"_a);
}

}  // namespace infini::python
