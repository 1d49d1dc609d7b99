// rearrange, pack, parse_shape and einsum: what the library's patterns mean, on anybody's arrays.
#include <array>
#include <cstring>

#include "arrays/fresh.h"
#include "arrays/functions.h"
#include "arrays/pattern_meaning.h"
#include "doors/convert.h"
#include "doors/stream.h"
#include "doors/torch.h"
#include "errors.h"
#include "names.h"
#include "tensors/graph.h"

namespace infini::python {
namespace {

using infinicore::Shape;

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

// What has a shape need not have elements: fake tensors, those that require a gradient.
Shape shape_of(nb::handle x) {
  if (nb::hasattr(x, "shape")) return parse_shape(x.attr("shape"));
  Call call;
  const Array array = read_array(x, "x", call);
  return {array.shape, array.shape + array.rank};
}

nb::dict sizes_by_name(nb::handle x, nb::handle pattern) {
  nb::dict sizes;
  for (const auto& [name, size] : infinicore::parse_shape(text_of(pattern), shape_of(x)))
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
