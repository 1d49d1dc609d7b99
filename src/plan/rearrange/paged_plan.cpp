// Making paged plans, and where their pieces lie.
#include "plan/rearrange/paged_plan.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "base/dtype.h"
#include "base/error.h"

namespace infini {
namespace {

// The layout of two pages (or of all there are) with their pieces: throws where a sum could overflow.
Layout spread(const Layout& piece, const PagedSideOptions& side, const char* name) {
  require(piece.rank <= max_rank - 2, INFINI_STATUS_BAD_TENSOR_SHAPE, name, " has rank ",
          piece.rank, "; a page may have rank ", max_rank - 2, " at most");
  Layout all = piece;
  all.rank = piece.rank + 2;
  std::copy_n(piece.shape, piece.rank, all.shape + 2);
  std::copy_n(piece.strides, piece.rank, all.strides + 2);
  all.shape[0] = side.pages > 0 ? side.pages : 2;
  all.shape[1] = side.pieces;
  all.strides[0] = side.pitch;
  all.strides[1] = side.piece_stride;
  size_t shape[max_rank];
  ptrdiff_t strides[max_rank];
  for (int i = 0; i < all.rank; ++i) {
    shape[i] = static_cast<size_t>(all.shape[i]);
    strides[i] = all.strides[i];
  }
  return make_layout(all.dtype, static_cast<size_t>(all.rank), shape, strides);
}

PagedSideOptions completed(const Layout& piece, PagedSideOptions side, const char* name) {
  require(side.pages >= 0, INFINI_STATUS_BAD_PARAM, name, "'s number of pages is ", side.pages,
          "; expected 0 (not known) or more");
  require(side.pieces >= 0, INFINI_STATUS_BAD_PARAM, name, "'s number of pieces is ", side.pieces,
          "; expected 0 (a page is one piece) or more");
  if (side.pieces == 0) side.pieces = 1;
  if (side.piece_stride == 0) side.piece_stride = element_count(piece);
  int64_t dense = 0;
  if (side.pitch == 0) {
    require(!__builtin_mul_overflow(element_count(piece), side.pieces, &dense),
            INFINI_STATUS_BAD_PARAM, name, "'s page has too many elements");
    side.pitch = dense;
  }
  return side;
}

PagedSide make_side(const PagedSideOptions& side, int64_t element_bytes) {
  PagedSide made;
  made.pitch = side.pitch * element_bytes;
  made.pieces = side.pieces;
  made.piece_step = side.piece_stride * element_bytes;
  made.whole_pages = side.whole_pages;
  // Where their number is not known: as many as an offset can tell apart, with room for what lies in a page.
  const int64_t step = std::max<int64_t>(1, made.pitch < 0 ? -made.pitch : made.pitch);
  const int64_t by_pitch = INT64_MAX / 4 / step, by_pieces = INT64_MAX / 4 / made.pieces;
  made.last_page = side.pages > 0 ? side.pages - 1 : std::min(by_pitch, by_pieces);
  return made;
}

// The dims that the two spread layouts share, to ask whether dst's pieces are apart.
void require_pieces_apart(const Layout& dst) {
  Layout ones = dst;  // a source that every element may be read from
  for (int i = 0; i < ones.rank; ++i) ones.strides[i] = 0;
  make_rearrange_plan(dst, ones);
}

}  // namespace

PagedPlan make_paged_plan(const Layout& dst, const Layout& src, const PagedSideOptions& dst_pages,
                          const PagedSideOptions& src_pages) {
  PagedPlan plan;
  plan.piece = make_rearrange_plan(dst, src);
  const PagedSideOptions to = completed(dst, dst_pages, "dst");
  const PagedSideOptions from = completed(src, src_pages, "src");
  require_pieces_apart(spread(dst, to, "dst"));
  spread(src, from, "src");
  const auto element_bytes = dtype_bytes(dst.dtype);
  plan.dst = make_side(to, element_bytes);
  plan.src = make_side(from, element_bytes);
  return plan;
}

int64_t read_id(const PagedPlan& plan, const void* ids, int64_t index) {
  if (plan.id_bytes == 8) {
    int64_t id = 0;
    std::memcpy(&id, static_cast<const char*>(ids) + index * 8, 8);
    return id;
  }
  int32_t id = 0;
  std::memcpy(&id, static_cast<const char*>(ids) + index * 4, 4);
  return id;
}

int64_t place_piece(const PagedPlan& plan, const PagedSide& side, const void* ids, int64_t copy) {
  int64_t page = 0, k = 0;
  if (ids != nullptr && side.whole_pages) {
    page = read_id(plan, ids, copy / side.pieces);
    k = copy % side.pieces;
  } else {
    const int64_t number = ids == nullptr ? copy : read_id(plan, ids, copy);
    if (number < 0) return no_piece;
    page = side.pieces == 1 ? number : number / side.pieces;
    k = number - page * side.pieces;
  }
  if (page < 0 || page > side.last_page) return no_piece;
  return page * side.pitch + k * side.piece_step;
}

void require_good_ids(const PagedPlan& plan, const PagedSide& side, const void* ids, size_t count,
                      const char* name) {
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) {
    if (place_piece(plan, side, ids, i) != no_piece) [[likely]]
      continue;
    require(ids != nullptr, INFINI_STATUS_BAD_PARAM, "count is ", count, " but ", name, " has ",
            side.last_page + 1, " pages of ", side.pieces, " pieces");
    const int64_t index = id_index(side, i);
    fail(INFINI_STATUS_BAD_PARAM, name, "_ids[", index, "] is ", read_id(plan, ids, index),
         "; expected at least 0 and below ",
         (side.last_page + 1) * (side.whole_pages ? 1 : side.pieces));
  }
}

std::string to_string(const PagedPlan& plan) {
  std::ostringstream text;
  const auto tell = [&](const char* name, const PagedSide& side) {
    text << name << ": pages " << side.pitch << " bytes apart, " << side.pieces << " pieces "
         << side.piece_step << " bytes apart, ids of " << (side.whole_pages ? "pages" : "pieces")
         << "\n";
  };
  tell("dst", plan.dst);
  tell("src", plan.src);
  text << "a piece:\n" << plan.piece;
  return text.str();
}

}  // namespace infini
