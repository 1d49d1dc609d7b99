// Reading through a copy: where the elements that a view into a copy shows lie in the copy's source.
#pragma once

#include <optional>

#include "plan/rearrange/rearrange_plan.h"

namespace infini {

// A layout whose base lies `offset` bytes from the base of the copy's source.
struct SourceView {
  Layout layout;
  int64_t offset;
};

// `view` lies `offset` bytes from the base of the copy's destination.
// Law: where there is an answer, every byte of the view was written by the copy, and the answer's
// byte at the same index is the one that it was copied from. Nothing where no strides describe that
// (the view also shows other bytes, or walks the source unevenly) or where they were not found.
std::optional<SourceView> source_view(const RearrangePlan& copy, const Layout& view,
                                      int64_t offset);

}  // namespace infini
