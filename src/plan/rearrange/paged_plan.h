// The paged plan: which piece of which page goes where, as plain data.
//
// Each side is a row of pages at an even pitch; a page holds pieces at an even step; a piece is a strided box of the
// same shape on both sides. Copy i moves one piece of src to one piece of dst. An id names a piece (piece k of page p is
// number p·pieces + k: a slot of a KV cache), or a page, whose pieces are then taken one after another (pages that are
// split or joined on the way). Without ids copy i takes piece i.
// Law: the set of (dst byte, src byte) pairs of copy i equals that of the two boxes at
//   base + page·pitch + k·piece_step,  with n = id[i] (pieces) or id[i / pieces]·pieces + i % pieces (pages),
//   page = n / pieces and k = n % pieces.
// An id is bad when it is negative or its page is beyond the last; its copy moves nothing.
#pragma once

#include <cstdint>
#include <string>

#include "plan/rearrange/rearrange_plan.h"

namespace infini {

// What is asked for; strides and the pitch in elements.
struct PagedSideOptions {
  int64_t pages = 0;         // 0: not known
  int64_t pitch = 0;         // from a page to the next; 0: as many elements as its pieces have
  int64_t pieces = 1;        // that a page holds
  int64_t piece_stride = 0;  // from a piece to the next; 0: as many elements as a piece has
  bool whole_pages = false;  // ids name pages
};

struct PagedSide {
  int64_t last_page = 0;
  int64_t pitch = 0, piece_step = 0;  // bytes
  int64_t pieces = 1;
  bool whole_pages = false;
};

struct PagedPlan {
  RearrangePlan piece;  // from the two pieces' base pointers
  PagedSide dst, src;
  int64_t layers = 1;  // so many pairs of base pointers, all with the same ids
  int id_bytes = 4;
  bool ids_on_device = false;
};

// Throws what make_rearrange_plan and make_layout do: also where pages or pieces of dst would overlap.
PagedPlan make_paged_plan(const Layout& dst, const Layout& src, const PagedSideOptions& dst_pages,
                          const PagedSideOptions& src_pages);

// The number of the id that copy i uses.
constexpr int64_t id_index(const PagedSide& side, int64_t copy) {
  return side.whole_pages ? copy / side.pieces : copy;
}
int64_t read_id(const PagedPlan& plan, const void* ids, int64_t index);

constexpr int64_t no_piece = INT64_MIN;
// The offset of copy i's piece from a layer's base pointer, or no_piece for a bad id.
int64_t place_piece(const PagedPlan& plan, const PagedSide& side, const void* ids, int64_t copy);

// Throws BAD_PARAM at the first bad id of the host's memory; `name` is the argument's.
void require_good_ids(const PagedPlan& plan, const PagedSide& side, const void* ids, size_t count,
                      const char* name);

std::string to_string(const PagedPlan& plan);

}  // namespace infini
