/* infiniproduct.h: C = alpha * A * B + beta * C where the matrices are spread over ranks (C99).
 *
 * The plan is pure data and the same on every rank: who sends which panel to whom in which step. Bytes travel by a transport of
 * the client's (infinireshard.h; infinireshard_mpi.h has one for MPI), products are computed by the library's own gemm on the
 * calling thread's current device; while one panel is multiplied the next one travels.
 *
 * Threads: plans are immutable and may be used by any number of threads. A run is a collective call: every rank of the
 * transport makes it, with the same plan; one thread at a time uses a transport.
 */
#ifndef INFINIPRODUCT_H
#define INFINIPRODUCT_H

#include "infinireshard.h"

/* The plan of one product, for all ranks. */
struct InfiniProductPlan;
typedef struct InfiniProductPlan* infiniProductPlan_t;

/* `text`: "f32 512x256 (2x2: block,block) * 256x128 (2x2: block,block) -> (2x2: block,block)": A, B and where C is, each with its
 * distribution as infinireshard.h has it. A's rows are cut as C's, B's columns as C's, the inner dim in any way on both sides.
 * panel=64 behind it: how many of the inner dim travel at once, at most (default: 512). f16, bf16, f32 or f64; sums of f16 and
 * bf16 are f32 and rounded once. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniProductCreatePlan(infiniProductPlan_t* plan,
                                                                const char* text);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniProductDestroyPlan(infiniProductPlan_t plan);

/* The type, the ranks that take part (0 .. *ranks - 1) and the steps in which C is summed up. Any may be NULL. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniProductGetSize(infiniProductPlan_t plan,
                                                             infiniDtype_t* dtype, int* ranks,
                                                             size_t* steps);
/* What `rank` holds of each: two numbers each (with a 0 where it holds nothing). Any may be NULL. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniProductGetShapes(infiniProductPlan_t plan, int rank,
                                                               size_t* c_shape, size_t* a_shape,
                                                               size_t* b_shape);
/* Messages and bytes that `rank` sends and receives. Any may be NULL. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniProductGetTraffic(infiniProductPlan_t plan, int rank,
                                                                size_t* sends, size_t* sent_bytes,
                                                                size_t* receives,
                                                                size_t* received_bytes);

/* Multiplies: c, a and b are this rank's parts in memory of the calling thread's current device (NULL where it holds nothing),
 * strides in elements (NULL: row-major; any others, also those of a transposed part). With beta == 0 c is not read. c does not
 * overlap a or b. Of the options timeout, tag and without_agreement count. Done when it returns. After a failure every rank is
 * told within some timeouts; the message says whether c is as it was or incomplete. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniProduct(
    infiniProductPlan_t plan, void* c, const ptrdiff_t* c_strides, const void* a,
    const ptrdiff_t* a_strides, const void* b, const ptrdiff_t* b_strides, double alpha,
    double beta, const infiniTransport_t* transport, const infiniReshardOptions_t* options);

#endif
