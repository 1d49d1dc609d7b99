// copy, contiguous, permute, transpose, matmul: on anybody's arrays.
#include "arrays/functions.h"

#include <algorithm>

#include "arrays/fresh.h"
#include "arrays/prepared.h"
#include "doors/convert.h"
#include "doors/numpy_head.h"
#include "doors/stream.h"
#include "doors/torch.h"
#include "errors.h"
#include "names.h"
#include "tensors/graph.h"

namespace infini::python {
namespace {

using infinicore::Shape;
using infinicore::Tensor;

Hold hold() { return infinicore::context::isGraphRecording() ? Hold::tensor : Hold::caller; }

void require_writable(const Array& array, const char* name) {
  if (!array.writable) fail_value(name, " is read-only");
}

bool is_aligned(const Array& array) {
  return reinterpret_cast<uintptr_t>(array.data) % static_cast<uintptr_t>(array.itemsize) == 0;
}

void require_dims(const Array& array, const char* name) {
  if (array.rank == 0)
    fail(INFINI_STATUS_BAD_TENSOR_SHAPE, name, " is a scalar; matmul needs at least 1 dim");
}

// The array with its dims in another order.
void reorder(Array& array, const Shape& order) {
  if (order.size() != static_cast<size_t>(array.rank))
    fail_value("dims has ", order.size(), " entries; the array has ", array.rank, " dims");
  bool seen[max_rank] = {};
  int64_t shape[max_rank], steps[max_rank];
  for (int i = 0; i < array.rank; ++i) {
    if (seen[order[i]]) fail_value("dims names dim ", order[i], " twice");
    seen[order[i]] = true;
    shape[i] = array.shape[order[i]];
    steps[i] = array.steps[order[i]];
  }
  std::copy_n(shape, array.rank, array.shape);
  std::copy_n(steps, array.rank, array.steps);
  if (array.own) array.own = array.own->permute(order);
}

// The elements of src in a new array, or in `out`, which then has src's shape.
nb::object delivered(const Array& src, nb::object out, Call& call) {
  if (out.is_none()) {
    if (is_small_numpy(src) && hold() == Hold::caller && has_numpy_head(src))
      return run_prepared_numpy_copy(src);
    Fresh dst = make_fresh(src, src.shape, src.rank, call);
    copy_arrays(dst.array, src, call);
    return dst.take();
  }
  const Array dst = read_array(out, "out", call);
  require_shape(dst, src.shape, src.rank);
  copy_arrays(dst, src, call, "out");
  note_written(dst);
  return out;
}

nb::object contiguous(nb::object x, nb::object out) {
  Call call;
  Array src = read_array(x, "x", call);
  if (out.is_none() && src.is_contiguous()) return x;
  return delivered(src, std::move(out), call);
}

nb::object permute_all(nb::handle x, const nb::args& dims, nb::object out) {
  Call call;
  Array src = read_array(x, "x", call);
  reorder(src, parse_order(parse_numbers(dims, "dims"), src.rank));
  return delivered(src, std::move(out), call);
}

nb::object transpose(nb::handle x, int64_t dim0, int64_t dim1, nb::object out) {
  Call call;
  Array src = read_array(x, "x", call);
  Shape order(static_cast<size_t>(src.rank));
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::swap(order[parse_dim(dim0, src.rank)], order[parse_dim(dim1, src.rank)]);
  reorder(src, order);
  return delivered(src, std::move(out), call);
}

// The copy that copy(dst, src) would make, prepared and not run.
infinicore::op::Rearrange prepared_copy(nb::handle dst, nb::handle src) {
  Call call;
  const Array to = read_array(dst, "dst", call), from = read_array(src, "src", call);
  if (!to.element.same_as(from.element))
    fail_type("dst is ", to.element.name(), ", src is ", from.element.name());
  const auto [y, x] = to_words(to, from, Hold::caller);
  return {y, x->broadcast_to(y->shape())};
}

nb::str explain(nb::handle dst, nb::handle src) {
  return nb::str(prepared_copy(dst, src).describe().c_str());
}

nb::dict plan(nb::handle dst, nb::handle src) {
  const auto plan = prepared_copy(dst, src).plan();
  nb::list loops;
  for (const auto& loop : plan.loops)
    loops.append(nb::make_tuple(loop.extent, loop.dst_step, loop.src_step));
  nb::dict facts;
  facts["atom_bytes"] = plan.atom_bytes;
  facts["dst_offset"] = plan.dst_offset;
  facts["src_offset"] = plan.src_offset;
  facts["loops"] = loops;
  facts["bytes_written"] = plan.bytes_written;
  facts["bytes_read"] = plan.bytes_read;
  facts["candidate"] = plan.candidate;
  facts["schedule"] = plan.schedule;
  facts["text"] = plan.text;
  return facts;
}

// [..., m, k]·[..., k, n], as NumPy: a vector is a matrix of one row or column, whose dim the
// result lacks.
struct Product {
  Tensor a, b;
  bool row, column;

  // The result's tensor with the dims that it lacks.
  Tensor widened(Tensor c) const {
    if (row) c = c->unsqueeze(c->ndim() - (column ? 0 : 1));
    if (column) c = c->unsqueeze(c->ndim());
    return c;
  }
};

// What a product of the two has; whether the dims fit is checked by the library, which names them.
struct ProductShape {
  int64_t extents[max_rank];
  int rank = 0;

  ProductShape(const Array& a, const Array& b) {
    const int left = std::max(a.rank - 2, 0), right = std::max(b.rank - 2, 0);
    const int batches = std::max(left, right);
    const auto extent = [&](const Array& side, int own, int i) {
      return i < batches - own ? 1 : side.shape[i - (batches - own)];
    };
    for (int i = 0; i < batches; ++i) {
      const int64_t l = extent(a, left, i);
      extents[rank++] = l == 1 ? extent(b, right, i) : l;
    }
    if (a.rank > 1) extents[rank++] = a.shape[a.rank - 2];
    if (b.rank > 1) extents[rank++] = b.shape[b.rank - 1];
  }
};

Product product_of(const Array& a, const Array& b, Hold hold) {
  Product product{operand(a, "a", hold), operand(b, "b", hold), a.rank == 1, b.rank == 1};
  if (product.row) product.a = product.a->unsqueeze(0);
  if (product.column) product.b = product.b->unsqueeze(1);
  return product;
}

void run_product(const Product& product, const Array& out, double alpha, double beta) {
  if (!can_convert(out)) fail_type("out has strides that are no multiple of its elements' size");
  const Tensor c = product.widened(to_tensor(out, hold()));
  const Unlocked unlocked(worth_unlocking(out, static_cast<int64_t>(product.a->shape().back())));
  infinicore::op::matmul_(c, product.a, product.b, alpha, beta);
}

// Whether neither a recording nor the order of two streams asks for tensors.
bool is_plain(const Array& dst, const Array& src, const Call& call) {
  return dst.device == src.device && hold() == Hold::caller &&
         (!call.has_own || dst.device == infinicore::Device::cpu());
}

bool try_prepared(const Array& c, const Array& a, const Array& b, double alpha, double beta,
                  const Call& call) {
  return a.rank > 0 && b.rank > 0 && is_plain(c, a, call) && is_plain(c, b, call) &&
         is_aligned(a) && is_aligned(b) &&
         run_prepared_gemm(c, a, b, alpha, beta, stream_for(call, c.device));
}

nb::object matmul_into(const Array& a, const Array& b, nb::object out, double alpha, double beta,
                       Call& call) {
  const Array c = read_array(out, "out", call);
  require_writable(c, "out");
  if (!try_prepared(c, a, b, alpha, beta, call)) {
    const StreamScope scope(call);
    note_recorded(call);
    run_product(product_of(a, b, hold()), c, alpha, beta);
  }
  note_written(c);
  return out;
}

nb::object matmul_fresh(const Array& a, const Array& b, double alpha, Call& call) {
  require_dims(a, "a");
  require_dims(b, "b");
  const ProductShape shape(a, b);
  Fresh made = make_fresh(a, shape.extents, shape.rank, call);
  if (try_prepared(made.array, a, b, alpha, 0, call)) return made.take();
  const StreamScope scope(call);
  note_recorded(call);
  run_product(product_of(a, b, hold()), made.array, alpha, 0);
  return made.take();
}

}  // namespace

void require_shape(const Array& out, const int64_t* shape, int rank) {
  if (out.rank == rank && std::equal(shape, shape + rank, out.shape)) return;
  const auto text = [](const int64_t* extents, int count) {
    return nb::cast<std::string>(nb::str(to_tuple(extents, count)));
  };
  fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "out has the shape ", text(out.shape, out.rank),
       "; the result has ", text(shape, rank));
}

Tensor operand(const Array& array, const char* name, Hold hold) {
  require_dims(array, name);
  return packed(array, name, hold);
}

Tensor packed(const Array& array, const char* name, Hold hold) {
  if (can_convert(array) && is_aligned(array)) return to_tensor(array, hold);
  if (!array.element.known())
    fail_type(name, " is ", array.element.name(), ", which cannot be computed with");
  Shape shape(array.shape, array.shape + array.rank);
  PyTensor dense{Tensor::empty(shape, *array.element.known(), array.device)};
  auto [y, x] = to_words(read_tensor(dense), array, hold);
  y->copy_from(x);
  return dense.tensor;
}

void copy_arrays(const Array& dst, const Array& src, const Call& call, const char* name) {
  require_writable(dst, name);
  if (!dst.element.same_as(src.element))
    fail_type(name, " is ", dst.element.name(), ", src is ", src.element.name(),
              "; only infini.copy and infini.convert convert");
  if (is_plain(dst, src, call)) return run_prepared_copy(dst, src, stream_for(call, dst.device));
  const StreamScope scope(call);
  note_recorded(call);
  auto [y, x] = to_words(dst, src, hold());
  const Unlocked unlocked(worth_unlocking(dst));
  y->copy_from(x);
}

nb::object copy(nb::object dst, nb::handle src) {
  Call call;
  const Array to = read_array(dst, "dst", call), from = read_array(src, "src", call);
  if (to.element.same_as(from.element)) {
    copy_arrays(to, from, call);
  } else {
    require_writable(to, "dst");
    copy_converted(to, from, call);
  }
  note_written(to);
  return dst;
}

nb::object matmul(nb::handle a, nb::handle b, nb::object out, double alpha, double beta) {
  Call call;
  const Array left = read_array(a, "a", call), right = read_array(b, "b", call);
  if (!out.is_none()) return matmul_into(left, right, out, alpha, beta, call);
  if (beta != 0)
    fail_value("beta is ", beta, " but there is no out whose elements it could multiply");
  return matmul_fresh(left, right, alpha, call);
}

void bind_functions(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "copy", &copy, "dst"_a.none(), "src"_a.none(),
      "Copies src's elements to dst, which may have any strides, and returns dst.\n\n"
      "src is broadcast as NumPy does, and converted where the dtypes differ (as convert does). "
      "Where they overlap, src is\nread first; what is converted must not overlap.");
  module.def(
      "contiguous", &contiguous, "x"_a.none(), nb::kw_only(), "out"_a = nb::none(),
      "x itself when it is row-major without gaps, else a copy that is, of the same framework.\n\n"
      "With `out`: always a copy there, whatever its strides, and `out` is returned.");
  module.def("permute", &permute_all, "x"_a.none(), "dims"_a, "out"_a = nb::none(),
             "A contiguous copy of x with its dims in the order `dims`, of the same framework; or "
             "`out`, filled with it.");
  module.def("transpose", &transpose, "x"_a.none(), "dim0"_a = -2, "dim1"_a = -1, nb::kw_only(),
             "out"_a = nb::none(),
             "A contiguous copy of x with two dims exchanged, of the same framework; or `out`, "
             "filled with it.");
  module.def("matmul", &matmul, "a"_a.none(), "b"_a.none(), "out"_a = nb::none(), nb::kw_only(),
             "alpha"_a = 1.0, "beta"_a = 0.0,
             "alpha·a·b (+ beta·out) over any number of broadcast batch dims, for f16, bf16, f32 "
             "and f64.\n\n"
             "Any strides; the result is of a's framework, or `out`, which is then returned.");
  module.def("explain", &explain, "dst"_a.none(), "src"_a.none(),
             "How copy(dst, src) would be done, in one line.");
  module.def("_plan", &plan, "dst"_a.none(), "src"_a.none(),
             "For plan: the fields of infini.Plan, loops as tuples.");
}

}  // namespace infini::python
