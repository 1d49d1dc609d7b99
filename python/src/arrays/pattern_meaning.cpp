// Questions about patterns, and their answers.
#include "arrays/pattern_meaning.h"

#include "errors.h"
#include "names.h"

namespace infini::python {

using infinicore::Shape;

std::string_view text_of(nb::handle pattern) {
  if (!PyUnicode_Check(pattern.ptr()))
    fail_type("pattern is a ", class_name(pattern), "; expected a string");
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(pattern.ptr(), &size);
  if (text == nullptr) {
    PyErr_Clear();
    fail_value("pattern is no text: it has half a character");
  }
  return {text, static_cast<size_t>(size)};
}

namespace {

size_t size_of(std::string_view axis, nb::handle value) {
  const nb::object number = nb::steal(PyNumber_Index(value.ptr()));
  const long long size = number ? PyLong_AsLongLong(number.ptr()) : -1;
  PyErr_Clear();
  if (size < 0)
    fail_value(axis, " is ", nb::cast<std::string>(nb::repr(value)), "; expected a size");
  return static_cast<size_t>(size);
}

Answer answer(const Question& question, uint64_t hash) {
  Answer made;
  made.hash = hash;
  made.text = question.text;
  made.shape.assign(question.shape, question.shape + question.rank);
  std::vector<infinicore::AxisSize> given(question.sizes, question.sizes + question.count);
  for (const auto& [name, size] : given) made.sizes.emplace_back(name, size);
  made.walk =
      infinicore::walk_pattern(question.text, {made.shape.begin(), made.shape.end()}, given);
  made.result.assign(made.walk.shape.begin(), made.walk.shape.end());
  return made;
}

infinicore::PatternWalk walk_of(nb::handle pattern, const std::vector<int64_t>& extents,
                                const nb::dict& sizes) {
  Question question{text_of(pattern), static_cast<int>(extents.size()), extents.data(), {}, 0, {}};
  for (const auto& [name, value] : sizes) question.take(name, value);
  const std::vector<infinicore::AxisSize> given(question.sizes, question.sizes + question.count);
  return infinicore::walk_pattern(question.text, Shape(extents.begin(), extents.end()), given);
}

nb::tuple shape_of(const infinicore::PatternWalk& walk) {
  const std::vector<int64_t> made(walk.shape.begin(), walk.shape.end());
  return to_tuple(made.data(), static_cast<int>(made.size()));
}

// The shape that a pattern makes of another one.
nb::tuple pattern_shape(nb::handle pattern, nb::handle shape, const nb::dict& sizes) {
  return shape_of(walk_of(pattern, parse_numbers(shape, "shape"), sizes));
}

// How many elements lie from one index of each dim to the next, row-major.
std::vector<int64_t> dense_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * static_cast<int64_t>(shape[i]);
  return strides;
}

// That shape, and (extent, step in the result, step in x) for each axis, both row-major.
nb::tuple pattern_loops(nb::handle pattern, nb::handle shape, const nb::dict& sizes) {
  const std::vector<int64_t> extents = parse_numbers(shape, "shape");
  const infinicore::PatternWalk walk = walk_of(pattern, extents, sizes);
  const std::vector<int64_t> to = dense_strides(walk.shape),
                             from = dense_strides(Shape(extents.begin(), extents.end()));
  nb::list loops;
  for (const auto& axis : walk.axes) {
    const int64_t source = axis.src_dim < 0 ? 0
                                            : from[static_cast<size_t>(axis.src_dim)] *
                                                  static_cast<int64_t>(axis.src_scale);
    loops.append(nb::make_tuple(
        axis.extent, to[static_cast<size_t>(axis.dst_dim)] * static_cast<int64_t>(axis.dst_scale),
        source));
  }
  return nb::make_tuple(shape_of(walk), nb::tuple(loops));
}

}  // namespace

void Question::take(nb::handle name, nb::handle value) {
  Py_ssize_t length = 0;
  const char* const letters = PyUnicode_AsUTF8AndSize(name.ptr(), &length);
  if (letters == nullptr) nb::raise_python_error();
  const std::string_view axis(letters, static_cast<size_t>(length));
  if (axis == "out" && (value.is_none() || !infinicore::pattern_has(text, axis))) {
    out = nb::borrow(value);
    return;
  }
  if (count == max_rank) fail_value("more than ", max_rank, " sizes are given");
  sizes[count++] = {axis, size_of(axis, value)};
}

const Answer& ask(const Question& question) {
  static constexpr size_t slots = 256;
  thread_local std::unique_ptr<Answer[]> known = std::make_unique<Answer[]>(slots);
  const uint64_t hash = question.hash();
  Answer& slot = known[hash % slots];
  if (!slot.is_for(question, hash)) slot = answer(question, hash);
  return slot;
}

void bind_pattern_meaning(nb::module_& module) {
  using namespace nb::literals;
  module.def("_pattern_shape", &pattern_shape, "pattern"_a, "shape"_a, "sizes"_a,
             "For infini.torch and infini.jax: the shape of rearrange's result.");
  module.def("_pattern_loops", &pattern_loops, "pattern"_a, "shape"_a, "sizes"_a,
             "For infini.jax: that shape, and (extent, step in the result, step in x) of each "
             "axis, in elements.");
}

}  // namespace infini::python
