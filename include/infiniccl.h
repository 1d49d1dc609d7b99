/* infiniccl.h: collective communication, a front for engines that exist (C99).
 *
 * One rank needs no engine. Several ranks on NVIDIA GPUs are NCCL's (libnccl.so.2 is opened at run time). Several processes
 * on the CPU are MPI's: Open MPI (libmpi.so.40), MPICH and what shares its ABI (libmpi.so.12), or the ABI of MPI 5
 * (libmpi_abi.so): the one that the program is linked with, else that of the mpirun which started it; another library is
 * INFINI_STATUS_NOT_IMPLEMENTED and named. All processes of the job take part: nranks is their number. There every call
 * waits on the host, at most INFINI_CCL_TIMEOUT seconds (300): a rank that is missing is INFINI_STATUS_INTERNAL_ERROR, and
 * the communicator is of no use then; ranks that ask for different counts, roots or types are all told
 * INFINI_STATUS_BAD_PARAM, and nothing was sent. f16 and bf16 are reduced in f32, and rounded once.
 * Several ranks on other devices answer INFINI_STATUS_NOT_IMPLEMENTED. Counts are elements; a stream is one of the
 * communicator's device (NULL: its default stream). Sends and receives happen on the stream: synchronize before reading
 * what arrived. A pointer may be NULL where nothing is read from it or written to it.
 * Threads: one communicator is used by one thread at a time.
 */
#ifndef INFINICCL_H
#define INFINICCL_H

#include "infinicore.h"
#include "infinirt.h"
/* How the ranks' elements become one. */
typedef enum {
  INFINICCL_SUM = 0,
  INFINICCL_PROD = 1,
  INFINICCL_MAX = 2,
  INFINICCL_MIN = 3,
  INFINICCL_AVG = 4
} infinicclReduceOp_t;
/* What one rank makes and all others are given, so that they find one another. */
#define INFINICCL_UNIQUE_ID_BYTES 128
typedef struct { /* The same as a value. */
  char internal[INFINICCL_UNIQUE_ID_BYTES];
} infinicclUniqueId_t;

struct InfinicclComm;
typedef struct InfinicclComm* infinicclComm_t; /* one rank's end of a communicator */

/* Communicators of `ndevice` devices of this process, comms[i] for rank i on device_ids[i]. */
__INFINI_C INFINI_EXPORT infiniStatus_t infinicclCommInitAll(infiniDevice_t device_type,
                                                             infinicclComm_t* comms, int ndevice,
                                                             const int* device_ids);
/* One rank calls this and gives the id to the others by means of its own. */
__INFINI_C INFINI_EXPORT infiniStatus_t infinicclGetUniqueId(infinicclUniqueId_t* id);
/* On the calling thread's current device; returns when all ranks have called it. */
__INFINI_C INFINI_EXPORT infiniStatus_t infinicclCommInitRank(infinicclComm_t* comm, int nranks,
                                                              infinicclUniqueId_t id, int rank);
/* NULL is harmless. */
__INFINI_C INFINI_EXPORT infiniStatus_t infinicclCommDestroy(infinicclComm_t comm);
/* Calls between the two are one: none of them may wait for a later one. */
__INFINI_C INFINI_EXPORT infiniStatus_t infinicclGroupStart(infinicclComm_t comm);
__INFINI_C INFINI_EXPORT infiniStatus_t infinicclGroupEnd(infinicclComm_t comm);

/* recv may be send. */
__INFINI_C INFINI_EXPORT infiniStatus_t infinicclAllReduce(void* send, void* recv, size_t count,
                                                           infiniDtype_t dtype,
                                                           infinicclReduceOp_t op,
                                                           infinicclComm_t comm,
                                                           infinirtStream_t stream);
__INFINI_C INFINI_EXPORT infiniStatus_t infinicclBroadcast(const void* send, void* recv,
                                                           size_t count, infiniDtype_t dtype,
                                                           int root, infinicclComm_t comm,
                                                           infinirtStream_t stream);
__INFINI_C INFINI_EXPORT infiniStatus_t infinicclSend(const void* send, size_t count,
                                                      infiniDtype_t dtype, int peer,
                                                      infinicclComm_t comm,
                                                      infinirtStream_t stream);
__INFINI_C INFINI_EXPORT infiniStatus_t infinicclRecv(void* recv, size_t count, infiniDtype_t dtype,
                                                      int peer, infinicclComm_t comm,
                                                      infinirtStream_t stream);
/* recv holds send_count elements of every rank. */
__INFINI_C INFINI_EXPORT infiniStatus_t infinicclAllGather(void* send, void* recv,
                                                           size_t send_count, infiniDtype_t dtype,
                                                           infinicclComm_t comm,
                                                           infinirtStream_t stream);
/* recv_counts has nranks elements; this rank sends recv_counts[rank]. */
__INFINI_C INFINI_EXPORT infiniStatus_t infinicclAllGatherV(void* send, void* recv,
                                                            const size_t* recv_counts, int nranks,
                                                            infiniDtype_t dtype,
                                                            infinicclComm_t comm,
                                                            infinirtStream_t stream);
/* send holds recv_count elements for every rank. */
__INFINI_C INFINI_EXPORT infiniStatus_t
infinicclReduceScatter(void* send, void* recv, size_t recv_count, infiniDtype_t dtype,
                       infinicclReduceOp_t op, infinicclComm_t comm, infinirtStream_t stream);
__INFINI_C INFINI_EXPORT infiniStatus_t infinicclReduceScatterV(
    void* send, void* recv, const size_t* send_counts, int nranks, infiniDtype_t dtype,
    infinicclReduceOp_t op, infinicclComm_t comm, infinirtStream_t stream);

#endif
