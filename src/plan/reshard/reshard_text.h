// Reshard problems as a line of text.
//
//   f16 4096x11008 (2x4: block,cyclic:128) -> (8: replicate,block)
//
// The dtype, the source's shape, the source's distribution and the destination's. Behind the arrow may stand perm=1,0: dim i of
// the destination is dim perm[i] of the source. A distribution is a mesh, then for each dim how it is cut: replicate (not at all),
// block, balanced, cyclic:BLOCK or sizes:A/B/C. Cut dims take the mesh's axes in order, or say so: block@1, cyclic:2@0+2; axes
// that no dim takes hold replicas. (4 ranks 8: block) counts its ranks from 8, (2x2 ranks 3,1,0,2: ...) names each.
#pragma once

#include <string>
#include <string_view>

#include "base/export.h"
#include "plan/reshard/product_plan.h"
#include "plan/reshard/reshard_plan.h"

namespace infini {

// Throws BAD_PARAM with the line and a mark under the character that was not understood.
INFINI_TOOL_EXPORT ReshardPlan parse_reshard(std::string_view text);
INFINI_TOOL_EXPORT std::string to_text(const ReshardPlan& plan);
// "f32 512x256 (2x2: block,block) * 256x128 (2x2: block,block) -> (2x2: block,block)": A, B and where C is; panel=64 may follow.
INFINI_TOOL_EXPORT ProductPlan parse_product(std::string_view text);
INFINI_TOOL_EXPORT std::string to_text(const ProductPlan& plan);
// "(2x4: block,cyclic:128)", with its shape known elsewhere.
std::string to_text(const Distribution& distribution);
Distribution parse_distribution(std::string_view text, const std::vector<int64_t>& shape);

}  // namespace infini
