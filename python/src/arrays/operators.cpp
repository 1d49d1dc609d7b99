// Elementwise and row operators on anybody's arrays: a function for each elementwise one of the library's table, and those
// of rows.
#include <algorithm>
#include <cstring>

#include "arrays/fresh.h"
#include "arrays/functions.h"
#include "doors/stream.h"
#include "doors/torch.h"
#include "errors.h"
#include "names.h"
#include "tensors/graph.h"

namespace infini::python {
namespace {

using infinicore::DataType;
using infinicore::Shape;
using infinicore::Tensor;
using Family = Framework::Family;

Hold hold() { return infinicore::context::isGraphRecording() ? Hold::tensor : Hold::caller; }

// The array that results are written to: the caller's, or a new one of the shape given.
struct Result {
  Result(nb::object out, const Array& like, const std::vector<int64_t>& shape, Call& call)
      : given(std::move(out)) {
    const int rank = static_cast<int>(shape.size());
    if (given.is_none()) {
      fresh.emplace(make_fresh(like, shape.data(), rank, call));
      return;
    }
    array = read_array(given, "out", call);
    if (!array.writable) fail_value("out is read-only");
    require_shape(array, shape.data(), rank);
    if (!can_convert(array))
      fail_type("out has strides that are no multiple of its elements' size");
  }
  const Array& target() const { return fresh ? fresh->array : array; }
  Tensor tensor() const { return to_tensor(target(), hold()); }
  nb::object take() {
    if (fresh) return fresh->take();
    note_written(array);
    return given;
  }

  nb::object given;
  Array array;
  std::optional<Fresh> fresh;
};

std::vector<int64_t> shape_of(const Array& array) {
  return {array.shape, array.shape + array.rank};
}

// The shape that NumPy gives arrays which are repeated against each other; what does not fit is the library's to say.
std::vector<int64_t> common_shape(const std::vector<Array>& arrays) {
  std::vector<int64_t> shape;
  for (const Array& array : arrays) {
    const auto rank = static_cast<size_t>(array.rank);
    if (rank > shape.size()) shape.insert(shape.begin(), rank - shape.size(), 1);
    for (size_t i = 0; i < rank; ++i) {
      int64_t& extent = shape[shape.size() - rank + i];
      if (extent == 1) extent = array.shape[i];
    }
  }
  return shape;
}

nb::object elementwise(const char* name, const std::vector<nb::handle>& sources,
                       const std::vector<const char*>& names, nb::object out) {
  Call call;
  std::vector<Array> arrays;
  for (size_t i = 0; i < sources.size(); ++i)
    arrays.push_back(read_array(sources[i], names[i], call));
  Result result(std::move(out), arrays[0], common_shape(arrays), call);
  const StreamScope scope(call);
  note_recorded(call);
  std::vector<Tensor> operands{result.tensor()};
  for (size_t i = 0; i < arrays.size(); ++i)
    operands.push_back(packed(arrays[i], names[i], hold()));
  {
    const Unlocked unlocked(worth_unlocking(result.target()));
    infinicore::op::elementwise_(name, operands);
  }
  return result.take();
}

// A tensor of ours as an array of the framework that `like` came from.
nb::object handed_over(const Tensor& tensor, const Array& like) {
  const nb::object own = nb::cast(PyTensor{tensor});
  switch (like.framework->family) {
    case Family::numpy: return own.attr("numpy")();
    case Family::torch: return nb::module_::import_("torch").attr("from_dlpack")(own);
    case Family::cupy: return nb::module_::import_("cupy").attr("from_dlpack")(own);
    case Family::jax: return nb::module_::import_("jax.dlpack").attr("from_dlpack")(own);
    default: return own;
  }
}

// For results whose elements are of another type than any argument's: run(the result's tensor).
template <class Run>
nb::object delivered(nb::object out, const Array& like, const std::vector<int64_t>& shape,
                     DataType dtype, Call& call, const Run& run) {
  if (!out.is_none()) {
    Result result(std::move(out), like, shape, call);
    const StreamScope scope(call);
    note_recorded(call);
    run(result.tensor());
    return result.take();
  }
  const Tensor made = Tensor::empty(Shape(shape.begin(), shape.end()), dtype, like.device);
  {
    const StreamScope scope(call);
    note_recorded(call);
    run(made);
  }
  return handed_over(made, like);
}

nb::object cast(nb::handle x, nb::handle dtype, nb::object out) {
  Call call;
  const Array src = read_array(x, "x", call);
  return delivered(std::move(out), src, shape_of(src), parse_dtype(dtype), call,
                   [&](const Tensor& y) {
                     const Tensor from = packed(src, "x", hold());
                     const Unlocked unlocked(worth_unlocking(src));
                     infinicore::op::cast_(y, from);
                   });
}

nb::object random_sample(nb::handle logits, float random_val, float topp, int topk,
                         float temperature, nb::object out) {
  Call call;
  const Array src = read_array(logits, "logits", call);
  std::vector<int64_t> shape = shape_of(src);
  if (!shape.empty()) shape.pop_back();
  return delivered(std::move(out), src, shape, DataType::I64, call, [&](const Tensor& token) {
    const Tensor from = packed(src, "logits", hold());
    const Unlocked unlocked(worth_unlocking(src));
    infinicore::op::random_sample_(token, from, random_val, topp, topk, temperature);
  });
}

// An operator whose result is like x: run(y, x).
template <class Run>
nb::object like_x(nb::handle x, nb::object out, Call& call, const Run& run) {
  const Array src = read_array(x, "x", call);
  Result result(std::move(out), src, shape_of(src), call);
  const StreamScope scope(call);
  note_recorded(call);
  const Tensor y = result.tensor(), from = packed(src, "x", hold());
  run(y, from, worth_unlocking(result.target()));
  return result.take();
}

nb::object rms_norm(nb::handle x, nb::handle w, float epsilon, nb::object out) {
  Call call;
  const Array weights = read_array(w, "w", call);
  return like_x(x, std::move(out), call, [&](const Tensor& y, const Tensor& from, bool unlock) {
    const Tensor factor = packed(weights, "w", hold());
    const Unlocked unlocked(unlock);
    infinicore::op::rms_norm_(y, from, factor, epsilon);
  });
}

nb::object causal_softmax(nb::handle x, nb::object out) {
  Call call;
  return like_x(x, std::move(out), call, [](const Tensor& y, const Tensor& from, bool unlock) {
    const Unlocked unlocked(unlock);
    infinicore::op::causal_softmax_(y, from);
  });
}

nb::object rope(nb::handle x, nb::handle positions, nb::handle sin_table, nb::handle cos_table,
                bool neox, nb::object out) {
  Call call;
  const Array places = read_array(positions, "positions", call),
              sin = read_array(sin_table, "sin_table", call),
              cos = read_array(cos_table, "cos_table", call);
  return like_x(x, std::move(out), call, [&](const Tensor& y, const Tensor& from, bool unlock) {
    const Tensor at = packed(places, "positions", hold()), s = packed(sin, "sin_table", hold()),
                 c = packed(cos, "cos_table", hold());
    const Unlocked unlocked(unlock);
    infinicore::op::rope_(y, from, at, s, c,
                          neox ? INFINIOP_ROPE_ALGO_GPT_NEOX : INFINIOP_ROPE_ALGO_GPT_J);
  });
}

// A function for every elementwise operator of the table; cast has arguments of its own.
void bind_elementwise(nb::module_& module) {
  using namespace nb::literals;
  for (size_t i = 0;; ++i) {
    const char* const name = infiniopOperatorName(i);
    if (name == nullptr || std::strcmp(name, "cast") == 0) break;  // the last of them
    const std::string about =
        std::string(infiniopOperatorAbout(name)) +
        ", elementwise; any strides, repeated as NumPy does. The result is of the first argument's "
        "framework, or `out`.";
    if (infiniopOperatorOperands(name) == 2)
      module.def(
          name,
          [name](nb::handle x, nb::object out) {
            return elementwise(name, {x}, {"x"}, std::move(out));
          },
          "x"_a.none(), nb::kw_only(), "out"_a = nb::none(), about.c_str());
    else
      module.def(
          name,
          [name](nb::handle a, nb::handle b, nb::object out) {
            return elementwise(name, {a, b}, {"a", "b"}, std::move(out));
          },
          "a"_a.none(), "b"_a.none(), nb::kw_only(), "out"_a = nb::none(), about.c_str());
  }
}

}  // namespace

void bind_operators(nb::module_& module) {
  using namespace nb::literals;
  bind_elementwise(module);
  module.def(
      "cast", &cast, "x"_a.none(), "dtype"_a, nb::kw_only(), "out"_a = nb::none(),
      "x's elements as another type: rounded to nearest even, integers saturate, NaN becomes "
      "0 there.");
  module.def("rms_norm", &rms_norm, "x"_a.none(), "w"_a.none(), nb::kw_only(), "epsilon"_a = 1e-5f,
             "out"_a = nb::none(), "x·w / sqrt(mean(x²) + epsilon) over the last dim.");
  module.def("causal_softmax", &causal_softmax, "x"_a.none(), nb::kw_only(), "out"_a = nb::none(),
             "Softmax over the last dim of [..., s, T], of which row i sees the first T - s + i + "
             "1; the others are 0.");
  module.def(
      "rope", &rope, "x"_a.none(), "positions"_a.none(), "sin_table"_a.none(), "cos_table"_a.none(),
      nb::kw_only(), "neox"_a = false, "out"_a = nb::none(),
      "Rotary embedding of [s, h, dh] or [b, s, h, dh]: pairs 2i and 2i + 1, with neox i and "
      "i + dh/2. Tables: [rows, dh/2].");
  module.def("random_sample", &random_sample, "logits"_a.none(), nb::kw_only(),
             "random_val"_a = 0.0f, "topp"_a = 1.0f, "topk"_a = 0, "temperature"_a = 1.0f,
             "out"_a = nb::none(),
             "The token drawn from logits [n], or one for each row of [batch, n]; the first of the "
             "largest where random_val is 0.");
}

}  // namespace infini::python
