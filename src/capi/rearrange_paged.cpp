// infiniop/ops/rearrange_paged.h.
#include "ops/rearrange_paged.h"

#include <algorithm>
#include <cstring>

#include "base/dtype.h"
#include "capi/boundary.h"
#include "capi/objects.h"

using namespace infini;

namespace {

using PagedCopies = Operators<RearrangePaged, 0x70616765>;

PagedCopies& paged_copies() {
  static constinit Lazy<PagedCopies> all;
  return all.get();
}

// What a client of any version says; members that it does not know are 0.
infiniopRearrangePagedOptions_t known_options(const infiniopRearrangePagedOptions_t* given) {
  infiniopRearrangePagedOptions_t options{};
  if (given == nullptr) return options;
  require(given->size >= sizeof options, INFINI_STATUS_BAD_PARAM, "options->size is ", given->size,
          "; expected sizeof(infiniopRearrangePagedOptions_t), which is ", sizeof options);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  require(std::all_of(bytes + sizeof options, bytes + given->size,
                      [](unsigned char byte) { return byte == 0; }),
          INFINI_STATUS_NOT_IMPLEMENTED, "options->size is ", given->size,
          ": members that this version does not know are not 0");
  std::memcpy(&options, given, sizeof options);
  return options;
}

int64_t whole_number(size_t value, const char* name) {
  require(value <= static_cast<size_t>(INT64_MAX), INFINI_STATUS_BAD_PARAM, name, " is ", value,
          "; expected less than 2^63");
  return static_cast<int64_t>(value);
}

PagedSideOptions side_of(const infiniopPagedSide_t& side) {
  return {whole_number(side.pages, "options->pages"), side.pitch,
          whole_number(side.pieces, "options->pieces"), side.piece_stride, side.whole_pages != 0};
}

PagedPlan plan_of(const Layout& dst, const Layout& src,
                  const infiniopRearrangePagedOptions_t& options) {
  require(options.id_dtype == INFINI_DTYPE_INVALID || options.id_dtype == INFINI_DTYPE_I32 ||
              options.id_dtype == INFINI_DTYPE_I64,
          INFINI_STATUS_BAD_TENSOR_DTYPE, "options->id_dtype is ", dtype_name(options.id_dtype),
          "; expected i32 or i64");
  PagedPlan plan = make_paged_plan(dst, src, side_of(options.dst), side_of(options.src));
  plan.layers = std::max<int64_t>(1, whole_number(options.layers, "options->layers"));
  plan.id_bytes = options.id_dtype == INFINI_DTYPE_I64 ? 8 : 4;
  plan.ids_on_device = options.ids_on_device != 0;
  return plan;
}

}  // namespace

infiniStatus_t infiniopCreateRearrangePagedDescriptor(
    infiniopHandle_t handle, infiniopRearrangePagedDescriptor_t* desc,
    infiniopTensorDescriptor_t dst_page, infiniopTensorDescriptor_t src_page,
    const infiniopRearrangePagedOptions_t* options) {
  return at_boundary([&] {
    require_out(desc, "desc");
    Device& device = device_of(handle);
    const PagedPlan plan = plan_of(layout_of(dst_page, "dst_page"), layout_of(src_page, "src_page"),
                                   known_options(options));
    *desc = create_descriptor(paged_copies(), RearrangePaged(device, plan));
  });
}

infiniStatus_t infiniopRearrangePaged(infiniopRearrangePagedDescriptor_t desc, size_t count,
                                      void* const* dst, const void* dst_ids, const void* const* src,
                                      const void* src_ids, void* stream) {
  return at_boundary([&] {
    PagedCopies::pin(desc, "desc")->run({count, dst, dst_ids, src, src_ids, stream});
  });
}

infiniStatus_t infiniopRearrangePagedStatus(infiniopRearrangePagedDescriptor_t desc, void* stream) {
  return at_boundary([&] { PagedCopies::pin(desc, "desc")->check(stream); });
}

infiniStatus_t infiniopDestroyRearrangePagedDescriptor(infiniopRearrangePagedDescriptor_t desc) {
  return destroy_unless_null(desc, [&] { paged_copies().destroy(desc, "desc"); });
}
