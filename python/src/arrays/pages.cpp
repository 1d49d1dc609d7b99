// copy_pages: copies between pages that ids name, on anybody's arrays.
#include "arrays/functions.h"
#include "doors/convert.h"
#include "doors/stream.h"
#include "doors/torch.h"
#include "errors.h"
#include "names.h"
#include "tensors/graph.h"

namespace infini::python {
namespace {

using infinicore::Tensor;

// Ids may be left out: 0, 1, 2, ….
Tensor ids_of(nb::handle ids, const char* name, Call& call, Hold hold) {
  if (ids.is_none()) return {};
  const Array array = read_array(ids, name, call);
  if (!can_convert(array)) fail_type(name, " is ", array.element.name(), "; expected i32 or i64");
  return to_tensor(array, hold);
}

Tensor pages_of(const Array& array, const char* name, Hold hold) {
  if (!can_convert(array))
    fail_type(name, " is ", array.element.name(),
              ", or its strides are no multiple of its elements");
  return to_tensor(array, hold);
}

nb::object copy_pages(nb::object dst, nb::handle dst_ids, nb::handle src, nb::handle src_ids,
                      nb::handle pattern) {
  Call call;
  const Hold hold = infinicore::context::isGraphRecording() ? Hold::tensor : Hold::caller;
  const Array to = read_array(dst, "dst", call), from = read_array(src, "src", call);
  if (!to.writable) fail_value("dst is read-only");
  if (!to.element.same_as(from.element))
    fail_type("dst is ", to.element.name(), ", src is ", from.element.name());
  const Tensor y = pages_of(to, "dst", hold), x = pages_of(from, "src", hold);
  const Tensor y_ids = ids_of(dst_ids, "dst_ids", call, hold);
  const Tensor x_ids = ids_of(src_ids, "src_ids", call, hold);
  const std::string text = pattern.is_none() ? std::string() : nb::cast<std::string>(pattern);
  {
    const StreamScope scope(call);
    note_recorded(call);
    const Unlocked unlocked(worth_unlocking(to));
    infinicore::op::copy_pages_(y, y_ids, x, x_ids, text);
  }
  note_written(to);
  return dst;
}

}  // namespace

void bind_pages(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "copy_pages", &copy_pages, "dst"_a.none(), "dst_ids"_a.none(), "src"_a.none(),
      "src_ids"_a.none() = nb::none(), "pattern"_a.none() = nb::none(),
      "dst[dst_ids[i]] = src[src_ids[i]] for every i, in one call; returns dst.\n\n"
      "Dim 0 of both counts pages. Ids are vectors of int32 or int64 in host memory or on the "
      "pages' device; None stands for\n0, 1, 2, …. A pattern says how a page of src becomes one "
      "of dst: \"token heads dim -> heads token dim\". No page of dst\nmay be written twice.");
}

}  // namespace infini::python
