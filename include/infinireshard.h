/* infinireshard.h: a tensor that is spread over ranks changes its distribution (C99).
 *
 * The plan is pure data and the same on every rank: who sends which strided boxes to whom. Bytes travel by a transport of
 * the client's: a table of a few functions over contiguous memory (infinireshard_mpi.h has one for MPI). We pack, unpack
 * and choose the order.
 *
 * A distribution is text: "(2x4: block,cyclic:128)": a mesh, then for each dim how it is cut: replicate (not at all),
 * block, balanced, cyclic:BLOCK or sizes:A/B/C. Cut dims take the mesh's axes in order, or name them: block@1,
 * cyclic:2@0+2. "(4 ranks 8: block)" counts its ranks from 8, "(2x2 ranks 3,1,0,2: ...)" names each.
 *
 * Threads: plans are immutable and may be used by any number of threads. A run is a collective call: every rank of the
 * transport makes it, with the same plan; one thread at a time uses a transport.
 */
#ifndef INFINIRESHARD_H
#define INFINIRESHARD_H

#include "infinicore.h"
#include "infinirt.h"

/* What one round carries between this rank and a peer. */
typedef struct {
  int peer;
  int sends; /* 0: it receives */
  void* data;
  size_t bytes;
} infiniTransfer_t;

/* What carries the bytes. Functions give 0 for success or an error of the transport's own. */
typedef struct {
  size_t size; /* sizeof(infiniTransport_t) */
  void* context;
  int rank, ranks;
  /* Starts a transfer of `bytes` contiguous bytes; the memory stays as it is until the request is done or given up.
   * Messages between two ranks with one tag arrive in the order in which they were posted. */
  int (*post_send)(void* context, int peer, int tag, const void* data, size_t bytes,
                   void** request);
  int (*post_receive)(void* context, int peer, int tag, void* data, size_t bytes, void** request);
  /* Waits at most `seconds` until one of the requests is done. NULL ones are none. *index: which one, -1: none in that
   * time; it is NULL then. *bytes: how many a receive got. */
  int (*wait_any)(void* context, void** requests, int count, double seconds, int* index,
                  size_t* bytes);
  /* After a failure: ends what was posted. Not 0: something may still be read or written by the transport; its staging
   * memory is then never freed. NULL: as if it gave 1. */
  int (*cancel)(void* context, void** requests, int count);
  /* An error in words, NULL: its number is told. */
  const char* (*describe)(void* context, int error);
  /* Not 0: the functions also take memory of the device (CUDA-aware MPI). Else device memory goes through the host. */
  int takes_device_memory;
  /* Not 0: the functions may be called by a thread of the library's, one thread at a time; products then move while they
   * compute (MPI from MPI_THREAD_SERIALIZED on). */
  int any_thread;
  /* Memory that ranks of one machine share, or NULL. shared[i]: where this process sees the part of rank i, shared_bytes of
   * coherent memory (as MPI_Win_allocate_shared gives it), equal on all ranks, from a multiple of 64 bytes on; NULL: that rank is
   * elsewhere. Each rank's own part is among them. It is zeroed before the first run and then the library's alone as long as the
   * transport lives: what such ranks exchange is packed there by one and unpacked from there by the other, and is never copied
   * in between. Ranks that share any all have their shards in host memory, or all on devices, which do without it. After a run
   * that failed the next ones over the same memory fail at once. */
  void* const* shared;
  size_t shared_bytes;
  /* Rounds, or NULL both: for transports that carry messages in the order of streams (NCCL), or many at once best. A round is what a
   * rank sends and receives at once; that of two ranks with one another has the same place in the order of both, so that none waits
   * for a later one. Reshardings of host memory then go by rounds, and those of device memory where takes_device_memory is set.
   * on_device: of the transfers' memory. There begin_round starts after what `stream` has got so far, returns at once, and end_round
   * makes `stream` go on after the round: nobody waits on the host. A run over device memory begins with such a round without
   * transfers, made by every rank. In host memory end_round waits at most `seconds`. *done: whether the round has ended; it has
   * gone then. After an error cancel gets the rounds that have not, and is called with none where a stream may still have some. */
  int (*begin_round)(void* context, int tag, const infiniTransfer_t* transfers, int count,
                     int on_device, void* stream, void** round);
  int (*end_round)(void* context, void* round, void* stream, double seconds, int* done);
} infiniTransport_t;

/* How a run goes; zeros mean the defaults. */
typedef struct {
  size_t size;    /* sizeof(infiniReshardOptions_t) */
  double timeout; /* seconds without any progress after which a run fails; 0: 60 */
  size_t
      piece_bytes; /* of messages, at most; 0: 64 to 512 KiB, by the number of ranks. Equal on all ranks. */
  size_t staging_bytes;  /* memory for packing and unpacking, at least two pieces; 0: 256 MiB */
  int tag;               /* this one and the next are used */
  int without_agreement; /* not 0: ranks do not tell each other at the end whether all went well */
  /* Of shards on a device, where the transport has rounds: the run takes its place in the order of this stream. With
   * without_agreement it then returns as soon as all is enqueued: nobody waits on the host, nothing is checked. */
  void* stream;
} infiniReshardOptions_t;

/* The plan of one change, for all ranks. */
struct InfiniReshardPlan;
typedef struct InfiniReshardPlan* infiniReshardPlan_t;

/* `text`: "f16 4096x11008 (2x4: block,cyclic:128) -> (8: replicate,block)", as `infini reshard` takes it; perm=1,0 behind
 * the arrow: dim i of the destination is dim perm[i] of the source. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniReshardCreatePlan(infiniReshardPlan_t* plan,
                                                                const char* text);
/* The same by parts. order: dim i of the destination is dim order[i] of the source; NULL: the same order. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniReshardCreatePlanOf(
    infiniReshardPlan_t* plan, infiniDtype_t dtype, size_t ndim, const size_t* shape,
    const char* destination, const char* source, const int* order);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniReshardDestroyPlan(infiniReshardPlan_t plan);

/* The tensor's type and dims, and the ranks that take part (0 .. *ranks - 1). Any may be NULL. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniReshardGetSize(infiniReshardPlan_t plan,
                                                             infiniDtype_t* dtype, size_t* ndim,
                                                             int* ranks);
/* What `rank` holds before and after: ndim numbers each (with a 0 where it holds nothing). Either may be NULL. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniReshardGetShapes(infiniReshardPlan_t plan, int rank,
                                                               size_t* dst_shape,
                                                               size_t* src_shape);
/* Messages and bytes that `rank` sends and receives, and bytes that it copies from itself. Any may be NULL. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniReshardGetTraffic(infiniReshardPlan_t plan, int rank,
                                                                size_t* sends, size_t* sent_bytes,
                                                                size_t* receives,
                                                                size_t* received_bytes,
                                                                size_t* local_bytes);

/* What `rank`'s shard is made of afterwards, for who reads shards himself (from files, say) and needs no transport: parts, each a
 * range of indexes of every dim. *count: how many there are. sources: for each part the rank whose shard has it; ranges: for each
 * part start, count and step of every dim of the destination, then of every dim of the source, 6 * ndim numbers. Both NULL: only
 * the count; else both have room for *count parts as it was given. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniReshardGetParts(infiniReshardPlan_t plan, int rank,
                                                              size_t* count, int* sources,
                                                              size_t* ranges);

/* Moves: dst and src are this rank's shards in memory of the calling thread's current device (NULL where it holds
 * nothing), strides in elements (NULL: row-major). src stays as it is; dst and src do not overlap. Done when it returns.
 * After a failure dst is incomplete, on every rank: each is told that somebody failed, within three timeouts. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniReshard(infiniReshardPlan_t plan, void* dst,
                                                      const ptrdiff_t* dst_strides, const void* src,
                                                      const ptrdiff_t* src_strides,
                                                      const infiniTransport_t* transport,
                                                      const infiniReshardOptions_t* options);

#endif
