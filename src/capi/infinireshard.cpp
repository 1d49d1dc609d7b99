// infinireshard.h.
#include "infinireshard.h"

#include <cmath>
#include <cstring>

#include "base/cells.h"
#include "base/threads/lazy.h"
#include "capi/boundary.h"
#include "capi/reshard_options.h"
#include "plan/reshard/parts.h"
#include "plan/reshard/reshard_text.h"
#include "plan/reshard/totals.h"
#include "runtime/current_device.h"

struct InfiniReshardPlan {
  std::atomic<uint32_t> tag;
};

using namespace infini;

namespace {

struct Planned {
  explicit Planned(ReshardPlan made) : plan(std::move(made)) {}
  const ReshardPlan plan;
  PreparedReshards kept;
};
using Plans = Cells<InfiniReshardPlan, Planned, 0x72736870, Lives::long_>;

Plans& plans() {
  static constinit Lazy<Plans> all;
  return all.get();
}

infiniReshardPlan_t make(ReshardPlan plan) {
  return plans().create([](InfiniReshardPlan&) {}, std::move(plan));
}

void require_rank(const ReshardPlan& plan, int rank) {
  require(rank >= 0 && rank < plan.ranks(), INFINI_STATUS_BAD_PARAM, "rank is ", rank,
          "; the plan has ranks 0..", plan.ranks() - 1);
}

}  // namespace

namespace infini {

ReshardSettings settings_of(const infiniReshardOptions_t* options) {
  ReshardSettings made;
  if (options == nullptr) return made;
  infiniReshardOptions_t given{};
  require(options->size >= sizeof(size_t), INFINI_STATUS_BAD_PARAM, "options->size is ",
          options->size, "; expected sizeof(infiniReshardOptions_t)");
  std::memcpy(&given, options, std::min(options->size, sizeof given));
  require(std::isfinite(given.timeout) && given.timeout >= 0, INFINI_STATUS_BAD_PARAM,
          "options->timeout is ", given.timeout, "; expected seconds");
  constexpr size_t most = size_t{1} << 31;  // transports count bytes in ints
  require(given.piece_bytes < most, INFINI_STATUS_BAD_PARAM, "options->piece_bytes is ",
          given.piece_bytes, "; expected less than 2 GiB");
  require(given.staging_bytes <= static_cast<size_t>(INT64_MAX), INFINI_STATUS_BAD_PARAM,
          "options->staging_bytes is ", given.staging_bytes);
  require(given.tag >= 0 && given.tag < INT32_MAX, INFINI_STATUS_BAD_PARAM, "options->tag is ",
          given.tag, "; expected a number from 0 on");
  if (given.timeout > 0) made.timeout = given.timeout;
  if (given.piece_bytes > 0) made.piece_bytes = static_cast<int64_t>(given.piece_bytes);
  if (given.staging_bytes > 0) made.staging_bytes = static_cast<int64_t>(given.staging_bytes);
  made.tag = given.tag;
  made.agree = given.without_agreement == 0;
  made.stream = given.stream;
  return made;
}

}  // namespace infini

infiniStatus_t infiniReshardCreatePlan(infiniReshardPlan_t* plan, const char* text) {
  return at_boundary([&] {
    require_out(plan, "plan");
    require_pointer(text, "text");
    *plan = make(parse_reshard(text));
  });
}

infiniStatus_t infiniReshardCreatePlanOf(infiniReshardPlan_t* plan, infiniDtype_t dtype,
                                         size_t ndim, const size_t* shape, const char* destination,
                                         const char* source, const int* order) {
  return at_boundary([&] {
    require_out(plan, "plan");
    require_pointer(destination, "destination");
    require_pointer(source, "source");
    if (ndim > 0) require_pointer(shape, "shape");
    require(ndim <= static_cast<size_t>(max_reshard_rank), INFINI_STATUS_BAD_TENSOR_SHAPE,
            "ndim is ", ndim, "; expected at most ", max_reshard_rank);
    std::vector<int64_t> src, dst;
    for (size_t i = 0; i < ndim; ++i) {
      require(shape[i] <= static_cast<size_t>(INT64_MAX), INFINI_STATUS_BAD_TENSOR_SHAPE, "shape[",
              i, "] is ", shape[i], "; expected less than 2^63");
      src.push_back(static_cast<int64_t>(shape[i]));
    }
    std::vector<int> axes;
    for (size_t i = 0; i < ndim; ++i) {
      const int axis = order == nullptr ? static_cast<int>(i) : order[i];
      require(axis >= 0 && static_cast<size_t>(axis) < ndim, INFINI_STATUS_BAD_PARAM, "order[", i,
              "] is ", axis, "; expected 0..", ndim - 1);
      axes.push_back(axis);
      dst.push_back(src[static_cast<size_t>(axis)]);
    }
    *plan = make(ReshardPlan(dtype, parse_distribution(destination, dst),
                             parse_distribution(source, src), axes));
  });
}

infiniStatus_t infiniReshardDestroyPlan(infiniReshardPlan_t plan) {
  return destroy_unless_null(plan, [&] { plans().destroy(plan, "plan"); });
}

infiniStatus_t infiniReshardGetSize(infiniReshardPlan_t plan, infiniDtype_t* dtype, size_t* ndim,
                                    int* ranks) {
  return at_boundary([&] {
    const auto pinned = Plans::pin(plan, "plan");
    if (dtype != nullptr) *dtype = pinned->plan.dtype();
    give(pinned->plan.dims(), ndim);
    if (ranks != nullptr) *ranks = pinned->plan.ranks();
  });
}

infiniStatus_t infiniReshardGetShapes(infiniReshardPlan_t plan, int rank, size_t* dst_shape,
                                      size_t* src_shape) {
  return at_boundary([&] {
    const auto pinned = Plans::pin(plan, "plan");
    require_rank(pinned->plan, rank);
    give_shape(pinned->plan.dst_shape(rank), dst_shape);
    give_shape(pinned->plan.src_shape(rank), src_shape);
  });
}

infiniStatus_t infiniReshardGetTraffic(infiniReshardPlan_t plan, int rank, size_t* sends,
                                       size_t* sent_bytes, size_t* receives, size_t* received_bytes,
                                       size_t* local_bytes) {
  return at_boundary([&] {
    const auto pinned = Plans::pin(plan, "plan");
    require_rank(pinned->plan, rank);
    const RankTotals totals = totals_of(pinned->plan, rank);
    give(totals.sends, sends);
    give(totals.sent_bytes, sent_bytes);
    give(totals.receives, receives);
    give(totals.received_bytes, received_bytes);
    give(totals.local_bytes, local_bytes);
  });
}

infiniStatus_t infiniReshardGetParts(infiniReshardPlan_t plan, int rank, size_t* count,
                                     int* sources, size_t* ranges) {
  return at_boundary([&] {
    require_pointer(count, "count");
    const auto pinned = Plans::pin(plan, "plan");
    const std::vector<ShardPart> parts = parts_of(pinned->plan, rank);
    const size_t room = *count;
    *count = parts.size();
    if (sources == nullptr && ranges == nullptr) return;
    require_pointer(sources, "sources");
    require_pointer(ranges, "ranges");
    require(room >= parts.size(), INFINI_STATUS_BAD_PARAM, "count is ", room, "; there are ",
            parts.size(), " parts");
    for (const ShardPart& part : parts) {
      *sources++ = part.source;
      for (const auto* side : {&part.dst, &part.src})
        for (const IndexRange& range : *side)
          for (const int64_t number : {range.start, range.count, range.step})
            *ranges++ = static_cast<size_t>(number);
    }
  });
}

infiniStatus_t infiniReshard(infiniReshardPlan_t plan, void* dst, const ptrdiff_t* dst_strides,
                             const void* src, const ptrdiff_t* src_strides,
                             const infiniTransport_t* transport,
                             const infiniReshardOptions_t* options) {
  return at_boundary([&] {
    const auto pinned = Plans::pin(plan, "plan");
    const ShardStrides strides{strides_of(dst_strides, pinned->plan.dims()),
                               strides_of(src_strides, pinned->plan.dims())};
    run_reshard(current_device(), pinned->plan, pinned->kept, dst, src, strides, transport,
                settings_of(options));
  });
}
