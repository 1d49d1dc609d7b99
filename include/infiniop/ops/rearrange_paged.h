/* infiniop/ops/rearrange_paged.h: copies between pages that ids name, all in one call (C99).
 *
 * For paged KV caches: append tokens to slots, gather blocks, swap blocks out and in, change from one engine's layout to
 * another's. Each side is a row of pages `pitch` elements apart. A page holds `pieces` pieces, piece_stride elements
 * apart; a piece has the layout of dst_page or src_page, which have one shape. Copy i moves one piece. An id names
 *  - a piece: number k of page p is p * pieces + k (with one piece a page: the page; with a piece for each token: a slot);
 *  - or, with whole_pages, a page: copy i then takes piece i % pieces of the page ids[i / pieces]. So pages are split
 *    (src of 32 tokens with pieces = 2 and whole_pages, dst of 16) or joined.
 * ids == NULL: copy i takes piece i. A part of a page (a range of heads) is a smaller page_layout with the whole page's
 * pitch and a base pointer at its first element.
 *
 * The copies run in any order and at the same time: no copy may write what another reads or writes.
 *
 * Threads: many threads may run one descriptor at once.
 */
#ifndef INFINIOP_REARRANGE_PAGED_H
#define INFINIOP_REARRANGE_PAGED_H

#include "rearrange.h"

typedef struct InfiniopDescriptor* infiniopRearrangePagedDescriptor_t;

typedef struct {
  size_t pages;           /* how many there are: ids beyond are bad; 0: not known */
  ptrdiff_t pitch;        /* elements from a page to the next; 0: as many as a page's pieces have */
  size_t pieces;          /* of a page; 0: one */
  ptrdiff_t piece_stride; /* elements from a piece to the next; 0: as many as a piece has */
  int whole_pages;        /* not 0: ids name pages, see above */
} infiniopPagedSide_t;

typedef struct {
  size_t size;            /* sizeof(infiniopRearrangePagedOptions_t); later members may follow */
  infiniDtype_t id_dtype; /* INFINI_DTYPE_I32 (or INFINI_DTYPE_INVALID) or INFINI_DTYPE_I64 */
  int ids_on_device;      /* 0: ids are in host memory and read before the call returns */
  size_t layers;          /* base pointers on each side, all with the same ids; 0: one */
  infiniopPagedSide_t dst, src;
} infiniopRearrangePagedOptions_t;

/* options may be NULL: i32 ids in host memory, dense pages of one piece each. BAD_TENSOR_STRIDES: pages or pieces of dst
 * would overlap. NOT_IMPLEMENTED: this device cannot read ids of its own memory (Ascend, Kunlun). */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateRearrangePagedDescriptor(
    infiniopHandle_t handle, infiniopRearrangePagedDescriptor_t* desc,
    infiniopTensorDescriptor_t dst_page, infiniopTensorDescriptor_t src_page,
    const infiniopRearrangePagedOptions_t* options);

/* `count` pieces. dst and src hold `layers` base pointers each (one: pass its address), read before the call returns. A
 * bad id (negative, or of a page that does not exist) of the host is BAD_PARAM, and nothing moves. A bad id of the
 * device moves nothing, and infiniopRearrangePagedStatus tells. On GPUs a call is one launch (of at most 192 layers;
 * captured ids of the host: of at most 192 pieces). A descriptor with ids on the device whose run was captured must live
 * as long as the graph. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopRearrangePaged(
    infiniopRearrangePagedDescriptor_t desc, size_t count, void* const* dst, const void* dst_ids,
    const void* const* src, const void* src_ids, void* stream);

/* For ids on the device: waits for the stream, then BAD_PARAM when a run of this descriptor since the last question met a
 * bad id (the message names the first copy), else SUCCESS. */
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopRearrangePagedStatus(infiniopRearrangePagedDescriptor_t desc, void* stream);

__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyRearrangePagedDescriptor(infiniopRearrangePagedDescriptor_t desc);

#endif
