// infinicore/ops/pages.hpp: copies between pages that ids name.
#pragma once

#include <string_view>

#include "../pattern.hpp"

namespace infinicore::op {

// dst[dst_ids[i]] = src[src_ids[i]] for every i, all in one call: dim 0 of both counts pages. With a pattern a page of src
// is taken apart and put together on the way, "token heads dim -> heads token dim", as rearrange does; without one pages
// have one shape. Ids are vectors of I32 or I64, both of one type, in the host's memory or both on the device of dst and
// src; an undefined one stands for 0, 1, 2, …. No page of dst may be written twice or read.
// Bad ids of the host throw and nothing moves; those of the device move nothing and are not told.
INFINI_EXPORT void copy_pages_(const Tensor& dst, const Tensor& dst_ids, const Tensor& src,
                               const Tensor& src_ids, std::string_view pattern = {},
                               AxisSizes sizes = {});

}  // namespace infinicore::op
