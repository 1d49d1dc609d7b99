// Reshard plans and products over ranks, and running them over a transport that is a Python object.
#include "reshard.h"

#include <nanobind/stl/vector.h>

#include "doors/array.h"
#include "doors/convert.h"
#include "doors/stream.h"
#include "doors/torch.h"
#include "errors.h"
#include "gil.h"
#include "infiniproduct.h"
#include "infinireshard.h"
#include "transport.h"

namespace infini::python {
namespace {

void require_success(infiniStatus_t status) {
  if (status != INFINI_STATUS_SUCCESS) throw infinicore::Error(status, infiniGetLastErrorString());
}

struct ReshardPlan {
  explicit ReshardPlan(const std::string& text) : text(text) {
    require_success(infiniReshardCreatePlan(&plan, text.c_str()));
    require_success(infiniReshardGetSize(plan, &dtype, &ndim, &ranks));
  }
  ~ReshardPlan() { infiniReshardDestroyPlan(plan); }
  ReshardPlan(const ReshardPlan&) = delete;

  std::string text;
  infiniReshardPlan_t plan = nullptr;
  infiniDtype_t dtype = INFINI_DTYPE_INVALID;
  size_t ndim = 0;
  int ranks = 0;
};

struct ProductPlan {
  explicit ProductPlan(const std::string& text) : text(text) {
    require_success(infiniProductCreatePlan(&plan, text.c_str()));
    require_success(infiniProductGetSize(plan, &dtype, &ranks, &steps));
  }
  ~ProductPlan() { infiniProductDestroyPlan(plan); }
  ProductPlan(const ProductPlan&) = delete;

  std::string text;
  infiniProductPlan_t plan = nullptr;
  infiniDtype_t dtype = INFINI_DTYPE_INVALID;
  size_t steps = 0;
  int ranks = 0;
};

nb::tuple as_tuple(const std::vector<size_t>& numbers) {
  nb::list list;
  for (const size_t number : numbers) list.append(number);
  return nb::tuple(list);
}

nb::tuple shapes(const ReshardPlan& plan, int rank) {
  std::vector<size_t> dst(plan.ndim), src(plan.ndim);
  require_success(infiniReshardGetShapes(plan.plan, rank, dst.data(), src.data()));
  return nb::make_tuple(as_tuple(dst), as_tuple(src));
}

nb::dict traffic(const ReshardPlan& plan, int rank) {
  size_t sends = 0, sent = 0, receives = 0, received = 0, local = 0;
  require_success(
      infiniReshardGetTraffic(plan.plan, rank, &sends, &sent, &receives, &received, &local));
  nb::dict all;
  all["sends"] = sends, all["sent_bytes"] = sent, all["receives"] = receives;
  all["received_bytes"] = received, all["local_bytes"] = local;
  return all;
}

nb::slice slice_of(const size_t* range) {
  const auto start = static_cast<Py_ssize_t>(range[0]), count = static_cast<Py_ssize_t>(range[1]),
             step = static_cast<Py_ssize_t>(range[2]);
  return nb::slice(nb::int_(start), nb::int_(start + (count - 1) * step + 1), nb::int_(step));
}

nb::list parts(const ReshardPlan& plan, int rank) {
  size_t count = 0;
  require_success(infiniReshardGetParts(plan.plan, rank, &count, nullptr, nullptr));
  std::vector<int> sources(count + 1);
  std::vector<size_t> ranges(count * 6 * plan.ndim + 1);
  require_success(infiniReshardGetParts(plan.plan, rank, &count, sources.data(), ranges.data()));
  nb::list all;
  const size_t* next = ranges.data();
  for (size_t i = 0; i < count; ++i) {
    nb::list sides[2];
    for (nb::list& side : sides)
      for (size_t dim = 0; dim < plan.ndim; ++dim, next += 3) side.append(slice_of(next));
    all.append(nb::make_tuple(sources[i], nb::tuple(sides[0]), nb::tuple(sides[1])));
  }
  return all;
}

nb::tuple product_shapes(const ProductPlan& plan, int rank) {
  std::vector<size_t> c(2), a(2), b(2);
  require_success(infiniProductGetShapes(plan.plan, rank, c.data(), a.data(), b.data()));
  return nb::make_tuple(as_tuple(c), as_tuple(a), as_tuple(b));
}

nb::dict product_traffic(const ProductPlan& plan, int rank) {
  size_t sends = 0, sent = 0, receives = 0, received = 0;
  require_success(infiniProductGetTraffic(plan.plan, rank, &sends, &sent, &receives, &received));
  nb::dict all;
  all["sends"] = sends, all["sent_bytes"] = sent, all["receives"] = receives;
  all["received_bytes"] = received;
  return all;
}

// A shard: memory and strides in elements. None: the rank holds nothing of it.
struct Shard {
  Array array;
  void* data = nullptr;
  std::vector<ptrdiff_t> strides;
  const ptrdiff_t* strides_or_null() const { return data ? strides.data() : nullptr; }
};

Shard read_shard(infiniDtype_t dtype, nb::handle object, const char* name,
                 const std::vector<size_t>& shape, Call& call) {
  Shard shard;
  if (object.is_none()) return shard;
  shard.array = read_array(object, name, call);
  const Array& array = shard.array;
  const auto known = array.element.known();
  if (!known || static_cast<int>(*known) != static_cast<int>(dtype))
    fail_type(name, " holds ", array.element.name(), "; the plan is for another type");
  if (static_cast<size_t>(array.rank) != shape.size())
    fail_value(name, " has ", array.rank, " dims; the plan has ", shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    if (static_cast<size_t>(array.shape[i]) != shape[i])
      fail_value("dim ", i, " of ", name, " is ", array.shape[i], "; this rank's shard has ",
                 shape[i]);
    if (array.steps[i] % array.itemsize != 0)
      fail_value(name, " has elements at fractions of their size");
    shard.strides.push_back(array.steps[i] / array.itemsize);
  }
  shard.data = array.data;
  return shard;
}

// Shards that one call needs are in one memory; it is the call's device.
infinicore::Device common_device(std::initializer_list<std::pair<const char*, const Shard*>> all) {
  const std::pair<const char*, const Shard*>* first = nullptr;
  for (const auto& one : all) {
    if (one.second->data == nullptr) continue;
    if (first == nullptr) first = &one;
    if (first->second->array.device != one.second->array.device)
      fail_value(first->first, " is on ", first->second->array.device.toString(), ", ", one.first,
                 " on ", one.second->array.device.toString());
  }
  return first ? first->second->array.device : infinicore::Device::cpu();
}

// Runs `work` on the shards' device without the GIL; an exception of the transport's is raised instead of its status. What the
// transport did not let go of is never freed.
template <class Work>
void run_unlocked(infinicore::Device device, bool in_order, Transport& wire,
                  std::initializer_list<nb::handle> operands, Work work) {
  infiniStatus_t status;
  std::string words;
  {
    const CurrentDevice current(device);
    const Unlocked unlocked(true);
    if (!in_order) infinicore::context::syncDevice();
    status = work();
    if (status != INFINI_STATUS_SUCCESS) words = infiniGetLastErrorString();
  }
  if (status == INFINI_STATUS_SUCCESS) return;
  if (wire.left_open())
    for (const nb::handle one : operands) one.inc_ref();
  wire.rethrow(words);
  throw infinicore::Error(status, words);
}

void run(const ReshardPlan& plan, nb::handle dst, nb::handle src, nb::handle transport,
         double timeout, size_t piece_bytes, size_t staging_bytes, int tag, bool wait) {
  Transport wire(transport);
  const int rank = wire.table()->rank;
  std::vector<size_t> dst_shape(plan.ndim), src_shape(plan.ndim);
  if (rank < plan.ranks)
    require_success(infiniReshardGetShapes(plan.plan, rank, dst_shape.data(), src_shape.data()));
  Call call;
  const Shard to = read_shard(plan.dtype, dst, "dst", dst_shape, call);
  const Shard from = read_shard(plan.dtype, src, "src", src_shape, call);
  if (to.data && !to.array.writable) fail_value("dst is read-only");
  const infinicore::Device device = common_device({{"dst", &to}, {"src", &from}});
  infiniReshardOptions_t options{};
  options.size = sizeof options;
  options.timeout = timeout;
  options.piece_bytes = piece_bytes;
  options.staging_bytes = staging_bytes;
  options.tag = tag;
  const bool by_rounds = wire.table()->begin_round != nullptr;
  if (!wait &&
      (device == infinicore::Device::cpu() || !by_rounds ||
       wire.table()->takes_device_memory == 0) &&
      (to.data || from.data))
    fail_value("wait=False is for shards on a GPU and a process group that has nccl for them");
  options.without_agreement = wait ? 0 : 1;
  // Rounds take their place on the stream of the shards' framework.
  const bool in_order = call.stream == nullptr || (by_rounds && !call.has_own);
  if (by_rounds) options.stream = call.stream;
  run_unlocked(device, in_order, wire, {dst, src}, [&] {
    return infiniReshard(plan.plan, to.data, to.strides_or_null(), from.data,
                         from.strides_or_null(), wire.table(), &options);
  });
  if (to.data) note_written(to.array);
}

void multiply(const ProductPlan& plan, nb::handle c, nb::handle a, nb::handle b,
              nb::handle transport, double alpha, double beta, double timeout, int tag) {
  Transport wire(transport);
  const int rank = wire.table()->rank;
  std::vector<size_t> c_shape(2), a_shape(2), b_shape(2);
  if (rank < plan.ranks)
    require_success(
        infiniProductGetShapes(plan.plan, rank, c_shape.data(), a_shape.data(), b_shape.data()));
  Call call;
  const Shard to = read_shard(plan.dtype, c, "c", c_shape, call);
  const Shard left = read_shard(plan.dtype, a, "a", a_shape, call);
  const Shard right = read_shard(plan.dtype, b, "b", b_shape, call);
  if (to.data && !to.array.writable) fail_value("c is read-only");
  const infinicore::Device device = common_device({{"c", &to}, {"a", &left}, {"b", &right}});
  infiniReshardOptions_t options{};
  options.size = sizeof options;
  options.timeout = timeout;
  options.tag = tag;
  run_unlocked(device, call.stream == nullptr, wire, {c, a, b}, [&] {
    return infiniProduct(plan.plan, to.data, to.strides_or_null(), left.data,
                         left.strides_or_null(), right.data, right.strides_or_null(), alpha, beta,
                         wire.table(), &options);
  });
  if (to.data) note_written(to.array);
}

}  // namespace

void bind_reshard(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<ReshardPlan>(module, "ReshardPlan",
                          "What each rank sends, receives and copies when a tensor changes its "
                          "distribution over ranks.")
      .def(nb::init<const std::string&>(), "text"_a)
      .def_ro("text", &ReshardPlan::text)
      .def_ro("ranks", &ReshardPlan::ranks, "How many ranks take part.")
      .def_ro("ndim", &ReshardPlan::ndim)
      .def("shapes", &shapes, "rank"_a,
           "The shapes of a rank's shards: (after, before). A 0 where it holds nothing.")
      .def("traffic", &traffic, "rank"_a, "Messages and bytes of a rank.")
      .def("parts", &parts, "rank"_a,
           "What a rank's shard is made of afterwards: (source rank, slices of it, slices of the "
           "source's shard).")
      .def("_run", &run, "dst"_a.none(), "src"_a.none(), "transport"_a, "timeout"_a,
           "piece_bytes"_a, "staging_bytes"_a, "tag"_a, "wait"_a)
      .def("__repr__",
           [](const ReshardPlan& plan) { return "ReshardPlan(\"" + plan.text + "\")"; });
  nb::class_<ProductPlan>(module, "ProductPlan",
                          "Which panels each rank sends, receives and multiplies in a product of "
                          "matrices that are spread over ranks.")
      .def(nb::init<const std::string&>(), "text"_a)
      .def_ro("text", &ProductPlan::text)
      .def_ro("ranks", &ProductPlan::ranks, "How many ranks take part.")
      .def_ro("steps", &ProductPlan::steps, "Panels by which C is summed up.")
      .def("shapes", &product_shapes, "rank"_a,
           "The shapes of a rank's parts: (c, a, b). A 0 where it holds nothing.")
      .def("traffic", &product_traffic, "rank"_a, "Messages and bytes of a rank.")
      .def("_run", &multiply, "c"_a.none(), "a"_a.none(), "b"_a.none(), "transport"_a, "alpha"_a,
           "beta"_a, "timeout"_a, "tag"_a)
      .def("__repr__",
           [](const ProductPlan& plan) { return "ProductPlan(\"" + plan.text + "\")"; });
}

}  // namespace infini::python
