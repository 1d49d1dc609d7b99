// infiniproduct.h.
#include "infiniproduct.h"

#include "base/cells.h"
#include "base/threads/lazy.h"
#include "capi/boundary.h"
#include "capi/reshard_options.h"
#include "plan/reshard/reshard_text.h"
#include "reshard/product/product.h"
#include "runtime/current_device.h"

struct InfiniProductPlan {
  std::atomic<uint32_t> tag;
};

using namespace infini;

namespace {

using Plans = Cells<InfiniProductPlan, ProductPlan, 0x70726470, Lives::long_>;

Plans& plans() {
  static constinit Lazy<Plans> all;
  return all.get();
}

}  // namespace

infiniStatus_t infiniProductCreatePlan(infiniProductPlan_t* plan, const char* text) {
  return at_boundary([&] {
    require_out(plan, "plan");
    require_pointer(text, "text");
    *plan = plans().create([](InfiniProductPlan&) {}, parse_product(text));
  });
}

infiniStatus_t infiniProductDestroyPlan(infiniProductPlan_t plan) {
  return destroy_unless_null(plan, [&] { plans().destroy(plan, "plan"); });
}

infiniStatus_t infiniProductGetSize(infiniProductPlan_t plan, infiniDtype_t* dtype, int* ranks,
                                    size_t* steps) {
  return at_boundary([&] {
    const auto pinned = Plans::pin(plan, "plan");
    if (dtype != nullptr) *dtype = pinned->dtype();
    if (ranks != nullptr) *ranks = pinned->ranks();
    if (steps != nullptr) *steps = pinned->panels().size();
  });
}

infiniStatus_t infiniProductGetShapes(infiniProductPlan_t plan, int rank, size_t* c_shape,
                                      size_t* a_shape, size_t* b_shape) {
  return at_boundary([&] {
    const auto pinned = Plans::pin(plan, "plan");
    give_shape(pinned->c_shape(rank), c_shape);
    give_shape(pinned->shape(Factor::a, rank), a_shape);
    give_shape(pinned->shape(Factor::b, rank), b_shape);
  });
}

infiniStatus_t infiniProductGetTraffic(infiniProductPlan_t plan, int rank, size_t* sends,
                                       size_t* sent_bytes, size_t* receives,
                                       size_t* received_bytes) {
  return at_boundary([&] {
    const auto pinned = Plans::pin(plan, "plan");
    const ProductTraffic traffic = traffic_of(*pinned, rank);
    give(traffic.sends, sends);
    give(traffic.sent_bytes, sent_bytes);
    give(traffic.receives, receives);
    give(traffic.received_bytes, received_bytes);
  });
}

infiniStatus_t infiniProduct(infiniProductPlan_t plan, void* c, const ptrdiff_t* c_strides,
                             const void* a, const ptrdiff_t* a_strides, const void* b,
                             const ptrdiff_t* b_strides, double alpha, double beta,
                             const infiniTransport_t* transport,
                             const infiniReshardOptions_t* options) {
  return at_boundary([&] {
    const auto pinned = Plans::pin(plan, "plan");
    const ProductOperands operands{.c = c,
                                   .a = a,
                                   .b = b,
                                   .c_strides = strides_of(c_strides, 2),
                                   .a_strides = strides_of(a_strides, 2),
                                   .b_strides = strides_of(b_strides, 2),
                                   .alpha = alpha,
                                   .beta = beta};
    run_product(current_device(), *pinned, operands, transport, settings_of(options));
  });
}
