// rearrange, pack, parse_shape and einsum: what the library's patterns mean, on anybody's arrays.
#include <array>
#include <cstring>

#include "convert.h"
#include "doors/stream.h"
#include "doors/torch.h"
#include "errors.h"
#include "fresh.h"
#include "functions.h"
#include "graph.h"
#include "names.h"

namespace infini::python {
namespace {

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

// What a pattern was asked for: the text, x's shape and the given sizes, as plain bytes and numbers.
struct Question {
  std::string_view text;
  int rank;
  const int64_t* shape;
  infinicore::AxisSize sizes[max_rank];  // names belong to the call's keywords
  size_t count = 0;
  nb::object out;

  void take(nb::handle name, nb::handle value) {
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
  uint64_t hash() const {
    uint64_t mixed = std::hash<std::string_view>()(text);
    const auto mix = [&](uint64_t word) { mixed = (mixed ^ word) * 0xff51afd7ed558ccdu; };
    for (int i = 0; i < rank; ++i) mix(static_cast<uint64_t>(shape[i]));
    for (size_t i = 0; i < count; ++i) mix(sizes[i].size);
    return mixed ^ mixed >> 32;
  }

 private:
  static size_t size_of(std::string_view axis, nb::handle value) {
    const nb::object number = nb::steal(PyNumber_Index(value.ptr()));
    const long long size = number ? PyLong_AsLongLong(number.ptr()) : -1;
    PyErr_Clear();
    if (size < 0)
      fail_value(axis, " is ", nb::cast<std::string>(nb::repr(value)), "; expected a size");
    return static_cast<size_t>(size);
  }
};

struct Answer {
  uint64_t hash = 0;
  std::string text;
  std::vector<int64_t> shape;
  std::vector<std::pair<std::string, size_t>> sizes;
  infinicore::PatternWalk walk;
  std::vector<int64_t> result;

  bool is_for(const Question& question, uint64_t other) const {
    if (hash != other || text != question.text || sizes.size() != question.count ||
        shape.size() != static_cast<size_t>(question.rank) ||
        std::memcmp(shape.data(), question.shape, shape.size() * sizeof shape[0]) != 0)
      return false;
    for (size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i].first != question.sizes[i].name || sizes[i].second != question.sizes[i].size)
        return false;
    return true;
  }
};

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

// Of the calling thread; good until its next question.
const Answer& ask(const Question& question) {
  static constexpr size_t slots = 256;
  thread_local std::unique_ptr<Answer[]> known = std::make_unique<Answer[]>(slots);
  const uint64_t hash = question.hash();
  Answer& slot = known[hash % slots];
  if (!slot.is_for(question, hash)) slot = answer(question, hash);
  return slot;
}

// One loop along an array: its extent, and the bytes of one step.
struct Loop {
  int64_t extent, step;
};

// `array` as the loops see it, from `offset` bytes behind its first element.
void walk_along(Array& walk, const Array& array, const Loop* loops, int count, int64_t offset) {
  walk.object = array.object;
  walk.framework = array.framework;
  walk.itemsize = array.itemsize;
  walk.element = array.element;
  walk.device = array.device;
  walk.writable = array.writable;
  walk.keeper = array.keeper;
  walk.data = static_cast<std::byte*>(array.data) + offset;
  walk.rank = count;
  for (int i = 0; i < count; ++i) {
    walk.shape[i] = loops[i].extent;
    walk.steps[i] = loops[i].step;
  }
  if (!array.own) return;
  infinicore::Strides strides;
  for (int i = 0; i < count; ++i) strides.push_back(loops[i].step / array.itemsize);
  walk.own =
      array.own->as_strided({walk.shape, walk.shape + count}, strides, offset / array.itemsize);
}

struct Loops {
  Loop dst[max_rank], src[max_rank];
  int count = 0;
  int64_t dst_offset = 0;

  void add(size_t extent, int64_t dst_step, int64_t src_step) {
    dst[count] = {static_cast<int64_t>(extent), dst_step};
    src[count++] = {static_cast<int64_t>(extent), src_step};
  }
};

void copy_along(const Loops& loops, const Array& dst, const Array& src, const Call& call,
                const char* name) {
  Array to, from;
  walk_along(to, dst, loops.dst, loops.count, loops.dst_offset);
  walk_along(from, src, loops.src, loops.count, 0);
  copy_arrays(to, from, call, name);
}

// The loops of one array; of item `index` of a list where that is the first dim (index >= 0).
Loops loops_of(const Answer& answer, const Array& dst, const Array& src, int64_t index) {
  Loops loops;
  const int listed = index >= 0;
  for (const auto& axis : answer.walk.axes) {
    const int64_t dst_step = dst.steps[axis.dst_dim] * static_cast<int64_t>(axis.dst_scale);
    if (listed && axis.src_dim == 0) {
      const auto digit =
          index / static_cast<int64_t>(axis.src_scale) % static_cast<int64_t>(axis.extent);
      loops.dst_offset += digit * dst_step;
      continue;
    }
    loops.add(axis.extent, dst_step,
              axis.src_dim < 0
                  ? 0
                  : src.steps[axis.src_dim - listed] * static_cast<int64_t>(axis.src_scale));
  }
  return loops;
}

// The result: `out`, or a new array like `like`.
struct Result {
  Result(const Array& like, const std::vector<int64_t>& shape, nb::object out, Call& call)
      : out_(std::move(out)) {
    const auto rank = static_cast<int>(shape.size());
    if (has_out()) {
      given_ = read_array(out_, "out", call);
      require_shape(given_, shape.data(), rank);
    } else {
      made_.emplace(make_fresh(like, shape.data(), rank, call));
    }
  }
  bool has_out() const { return out_ && !out_.is_none(); }
  const Array& array() const { return has_out() ? given_ : made_->array; }
  const char* name() const { return has_out() ? "out" : "dst"; }
  nb::object take() {
    if (!has_out()) return made_->take();
    note_written(given_);
    return out_;
  }

 private:
  nb::object out_;
  Array given_;
  std::optional<Fresh> made_;
};

bool is_list(nb::handle x) { return PyList_Check(x.ptr()) || PyTuple_Check(x.ptr()); }

std::vector<Array> read_list(nb::handle list, Call& call) {
  std::vector<Array> arrays;
  for (nb::handle item : nb::borrow(list)) arrays.push_back(read_array(item, "x", call));
  if (arrays.empty()) fail_value("the list has no array");
  return arrays;
}

nb::object rearrange_list(nb::handle list, Question& question, const nb::kwargs& sizes) {
  Call call;
  const std::vector<Array> arrays = read_list(list, call);
  const Array& first = arrays[0];
  std::vector<int64_t> shape = {static_cast<int64_t>(arrays.size())};
  shape.insert(shape.end(), first.shape, first.shape + first.rank);
  if (shape.size() > max_rank) fail_value("the arrays have ", first.rank, " dims");
  for (const Array& array : arrays) {
    if (array.rank != first.rank ||
        std::memcmp(array.shape, first.shape, sizeof(int64_t) * static_cast<size_t>(first.rank)) !=
            0)
      fail_value("the arrays of a list have one shape; the first has ",
                 nb::cast<std::string>(nb::str(to_tuple(first.shape, first.rank))), ", another ",
                 nb::cast<std::string>(nb::str(to_tuple(array.shape, array.rank))));
  }
  question.rank = static_cast<int>(shape.size());
  question.shape = shape.data();
  for (auto [name, value] : sizes) question.take(name, value);
  const Answer& meaning = ask(question);
  Result result(first, meaning.result, question.out, call);
  for (size_t i = 0; i < arrays.size(); ++i)
    copy_along(loops_of(meaning, result.array(), arrays[i], static_cast<int64_t>(i)),
               result.array(), arrays[i], call, result.name());
  return result.take();
}

nb::object rearrange(nb::handle x, nb::handle pattern, const nb::kwargs& sizes) {
  Question question;
  question.text = text_of(pattern);
  if (is_list(x)) return rearrange_list(x, question, sizes);
  Call call;
  const Array src = read_array(x, "x", call);
  question.rank = src.rank;
  question.shape = src.shape;
  if (PyDict_Size(sizes.ptr()) > 0)
    for (auto [name, value] : sizes) question.take(name, value);
  const Answer& meaning = ask(question);
  Result result(src, meaning.result, question.out, call);
  copy_along(loops_of(meaning, result.array(), src, -1), result.array(), src, call, result.name());
  return result.take();
}

// Each array's dims between the first `before` and the last `after` become one, in which the arrays
// lie one after another.
nb::tuple pack(nb::handle list, int before, int after) {
  Call call;
  const std::vector<Array> arrays = read_list(list, call);
  const Array& first = arrays[0];
  std::vector<int64_t> shape;
  nb::list packed_shapes;
  int64_t total = 0;
  for (const Array& array : arrays) {
    if (array.rank < before + after)
      fail_value("an array has ", array.rank, " dims; the pattern needs ", before + after);
    int64_t packed = 1;
    for (int i = before; i < array.rank - after; ++i) packed *= array.shape[i];
    total += packed;
    packed_shapes.append(to_tuple(array.shape + before, array.rank - after - before));
    std::vector<int64_t> own(array.shape, array.shape + before);
    own.push_back(0);
    own.insert(own.end(), array.shape + array.rank - after, array.shape + array.rank);
    if (shape.empty()) shape = own;
    if (shape != own) fail_value("the arrays differ in dims that are not packed");
  }
  shape[static_cast<size_t>(before)] = total;
  Result result(first, shape, nb::object(), call);
  const Array& dst = result.array();
  int64_t at = 0;
  for (const Array& array : arrays) {
    Loops loops;
    loops.dst_offset = at * dst.steps[before];
    int64_t packed = 1;
    for (int i = before; i < array.rank - after; ++i) packed *= array.shape[i];
    int64_t scale = packed;
    for (int i = 0; i < array.rank; ++i) {
      const bool inside = i >= before && i < array.rank - after;
      if (inside) scale /= std::max<int64_t>(array.shape[i], 1);
      const int dim = i < before ? i : inside ? before : i - (array.rank - after) + before + 1;
      loops.add(static_cast<size_t>(array.shape[i]), dst.steps[dim] * (inside ? scale : 1),
                array.steps[i]);
    }
    if (packed > 0) copy_along(loops, dst, array, call, "dst");
    at += packed;
  }
  return nb::make_tuple(result.take(), packed_shapes);
}

nb::dict sizes_by_name(nb::handle x, nb::handle pattern) {
  Call call;
  const Array array = read_array(x, "x", call);
  nb::dict sizes;
  for (const auto& [name, size] :
       infinicore::parse_shape(text_of(pattern), {array.shape, array.shape + array.rank}))
    sizes[name.c_str()] = size;
  return sizes;
}

nb::object einsum(nb::handle first, nb::handle second, nb::handle third, nb::object out) {
  const bool pattern_first = PyUnicode_Check(first.ptr());
  const std::string pattern(text_of(pattern_first ? first : third));
  Call call;
  const Array a = read_array(pattern_first ? second : first, "a", call),
              b = read_array(pattern_first ? third : second, "b", call);
  const StreamScope scope(call);
  note_recorded(call);
  const Hold hold = infinicore::context::isGraphRecording() ? Hold::tensor : Hold::caller;
  const infinicore::Tensor x = operand(a, "a", hold), y = operand(b, "b", hold);
  const Shape shape = infinicore::op::einsum_shape(x->shape(), y->shape(), pattern);
  Result result(a, {shape.begin(), shape.end()}, std::move(out), call);
  const Array& c = result.array();
  if (!c.writable) fail_value("out is read-only");
  if (!can_convert(c)) fail_type("out has strides that are no multiple of its elements' size");
  const infinicore::Tensor z = to_tensor(c, hold);
  {
    const Unlocked unlocked(worth_unlocking(c, a.count()));
    infinicore::op::einsum_(z, x, y, pattern);
  }
  return result.take();
}

// The shape that a pattern makes of another one.
nb::tuple pattern_shape(nb::handle pattern, nb::handle shape, const nb::dict& sizes) {
  const std::vector<int64_t> extents = parse_numbers(shape, "shape");
  Question question{text_of(pattern), static_cast<int>(extents.size()), extents.data(), {}, 0, {}};
  for (const auto& [name, value] : sizes) question.take(name, value);
  const std::vector<infinicore::AxisSize> given(question.sizes, question.sizes + question.count);
  const auto walk =
      infinicore::walk_pattern(question.text, Shape(extents.begin(), extents.end()), given);
  const std::vector<int64_t> made(walk.shape.begin(), walk.shape.end());
  return to_tuple(made.data(), static_cast<int>(made.size()));
}

}  // namespace

void bind_patterns(nb::module_& module) {
  using namespace nb::literals;
  module.def("rearrange", &rearrange,
             "A new array of x's elements in another order, in one copy: "
             "rearrange(x, \"b s (h d) -> b h s d\", h=8).\n\n"
             "Parentheses split dims on the left and join axes on the right; sizes that do not "
             "follow from x are given by name. \"...\"\nstands for all other dims, 1 for a dim of "
             "size 1; names and numbers that are new on the right repeat x. A list of\narrays is "
             "one array with a first dim. With `out`, an array of the result's shape and any "
             "strides, the elements go there, and\nit is returned; in a pattern with an axis "
             "called out, out is the size of that axis.");
  module.def("_pattern_shape", &pattern_shape, "pattern"_a, "shape"_a, "sizes"_a,
             "For infini.torch and infini.jax: the shape of rearrange's result.");
  module.def("_pack", &pack, "arrays"_a, "before"_a, "after"_a,
             "For pack: the packed array and the packed shapes.");
  module.def("parse_shape", &sizes_by_name, "x"_a.none(), "pattern"_a,
             "The sizes of x's dims by name, as a dict: parse_shape(x, \"b _ h w\"). Dims called _ "
             "are left out, \"...\" is any number of them.");
  module.def("einsum", &einsum, "a"_a.none(), "b"_a.none(), "pattern"_a.none(), nb::kw_only(),
             "out"_a = nb::none(),
             "A product of two arrays over named axes: einsum(a, b, \"b i k, b k j -> b i j\").\n\n"
             "Names are words, or letters without blanks; the pattern may also come first, as in "
             "NumPy. Axes of both that the result\nlacks are summed; it must be a product of "
             "matrices, so axes of one array alone are kept.");
}

}  // namespace infini::python
