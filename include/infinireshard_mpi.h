/* infinireshard_mpi.h: a transport of infinireshard.h over MPI, for programs that are compiled with mpicc or mpicxx.
 *
 *   infiniMpiTransport_t mpi;
 *   infiniMpiTransportInit(&mpi, comm);
 *   infiniReshard(plan, dst, NULL, src, NULL, &mpi.transport, NULL);
 *   infiniMpiTransportFree(&mpi);
 *
 * It works on a duplicate of `comm`, so that its tags meet no others; Init and Free are collective. Ranks of one machine exchange
 * through memory that they share, INFINI_MPI_SHARED_BYTES of each rank (0 for none), where MPI can give it. Errors of MPI come
 * back instead of ending the program. After a failed run the communicator is of no further use; Free may then not return,
 * since it is collective: leave it out.
 */
#ifndef INFINIRESHARD_MPI_H
#define INFINIRESHARD_MPI_H

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "infinireshard.h"

/* Of every rank, for pieces that are under way: half of a core's own cache, which it should not leave. */
#ifndef INFINI_MPI_SHARED_BYTES
#define INFINI_MPI_SHARED_BYTES ((size_t)1 << 20)
#endif

/* The transport with the communicator that it works on. */
typedef struct {
  infiniTransport_t transport;
  MPI_Comm comm;
  MPI_Win window; /* of the memory that ranks of this machine share, or MPI_WIN_NULL */
  void** shared;
  char words[MPI_MAX_ERROR_STRING];
} infiniMpiTransport_t;

/* What was posted, for the functions of this header alone. */
typedef struct {
  MPI_Request request;
  int sends;
} infiniMpiRequest_;

static inline int infiniMpiPost_(void* context, int peer, int tag, void* data, size_t bytes,
                                 int sends, void** request) {
  infiniMpiTransport_t* mpi = (infiniMpiTransport_t*)context;
  infiniMpiRequest_* made = (infiniMpiRequest_*)malloc(sizeof *made);
  int error;
  if (made == NULL) return MPI_ERR_NO_MEM;
  made->sends = sends;
  error = sends ? MPI_Isend(data, (int)bytes, MPI_BYTE, peer, tag, mpi->comm, &made->request)
                : MPI_Irecv(data, (int)bytes, MPI_BYTE, peer, tag, mpi->comm, &made->request);
  if (error == MPI_SUCCESS)
    *request = made;
  else
    free(made);
  return error;
}

static inline int infiniMpiPostSend_(void* context, int peer, int tag, const void* data,
                                     size_t bytes, void** request) {
  return infiniMpiPost_(context, peer, tag, (void*)data, bytes, 1, request);
}

static inline int infiniMpiPostReceive_(void* context, int peer, int tag, void* data, size_t bytes,
                                        void** request) {
  return infiniMpiPost_(context, peer, tag, data, bytes, 0, request);
}

/* MPI has no wait with an end: asks again and again. All at once: MPI_Test of each would make MPI look for messages each time. */
static inline int infiniMpiWaitAny_(void* context, void** requests, int count, double seconds,
                                    int* index, size_t* bytes) {
  const double end = MPI_Wtime() + seconds;
  MPI_Request few[64], *all = few;
  MPI_Status status;
  int i, at = MPI_UNDEFINED, done = 0, got = 0, error;
  (void)context;
  *index = -1;
  if (count > 64) all = (MPI_Request*)malloc((size_t)count * sizeof *all);
  if (all == NULL) return MPI_ERR_NO_MEM;
  for (i = 0; i < count; ++i)
    all[i] = requests[i] ? ((infiniMpiRequest_*)requests[i])->request : MPI_REQUEST_NULL;
  do {
    error = MPI_Testany(count, all, &at, &done, &status);
  } while (error == MPI_SUCCESS && !done && MPI_Wtime() < end);
  if (all != few) free(all);
  if (error != MPI_SUCCESS || (done && at != MPI_UNDEFINED)) *index = at == MPI_UNDEFINED ? -1 : at;
  if (error != MPI_SUCCESS || *index < 0) return error;
  if (!((infiniMpiRequest_*)requests[at])->sends) MPI_Get_count(&status, MPI_BYTE, &got);
  *bytes = got == MPI_UNDEFINED ? 0 : (size_t)got;
  free(requests[at]);
  requests[at] = NULL;
  return 0;
}

/* Whether a receive has ended. One whose message is half there can neither be cancelled nor ends if its sender is gone. */
static inline int infiniMpiEndReceive_(MPI_Request* request) {
  const double end = MPI_Wtime() + 0.1;
  int done = 0;
  if (MPI_Cancel(request) != MPI_SUCCESS) return 0;
  do {
    if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return 0;
  } while (!done && MPI_Wtime() < end);
  return done;
}

/* Receives can be cancelled; a send that nobody took stays with MPI. */
static inline int infiniMpiCancel_(void* context, void** requests, int count) {
  int i, open = 0;
  (void)context;
  for (i = 0; i < count; ++i) {
    infiniMpiRequest_* one = (infiniMpiRequest_*)requests[i];
    int done = 0;
    if (one == NULL) continue;
    if (MPI_Test(&one->request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
      if (!one->sends)
        done = infiniMpiEndReceive_(&one->request);
      else
        MPI_Request_free(&one->request);
    }
    open |= !done;
    free(one);
    requests[i] = NULL;
  }
  return open;
}

static inline const char* infiniMpiDescribe_(void* context, int error) {
  infiniMpiTransport_t* mpi = (infiniMpiTransport_t*)context;
  int length = 0;
  return MPI_Error_string(error, mpi->words, &length) == MPI_SUCCESS ? mpi->words : NULL;
}

/* Where the window's ranks see one another's memory; 0: not all of them do. */
static inline int infiniMpiSeeAll_(infiniMpiTransport_t* mpi, MPI_Comm here) {
  MPI_Group all = MPI_GROUP_NULL, near = MPI_GROUP_NULL;
  int ranks = 0, i, well;
  MPI_Comm_size(here, &ranks);
  mpi->shared = (void**)calloc((size_t)mpi->transport.ranks, sizeof *mpi->shared);
  well = mpi->shared != NULL && MPI_Comm_group(mpi->comm, &all) == MPI_SUCCESS &&
         MPI_Comm_group(here, &near) == MPI_SUCCESS;
  for (i = 0; well && i < ranks; ++i) {
    MPI_Aint bytes = 0;
    void* where = NULL;
    int unit = 0, rank = MPI_UNDEFINED;
    well = MPI_Group_translate_ranks(near, 1, &i, all, &rank) == MPI_SUCCESS &&
           MPI_Win_shared_query(mpi->window, i, &bytes, &unit, &where) == MPI_SUCCESS &&
           rank != MPI_UNDEFINED && where != NULL &&
           (size_t)bytes >= mpi->transport.shared_bytes + 64;
    /* Mapped by whole pages: the same place for all that see it. */
    if (well) mpi->shared[rank] = (char*)where + (64 - (size_t)where % 64) % 64;
  }
  if (all != MPI_GROUP_NULL) MPI_Group_free(&all);
  if (near != MPI_GROUP_NULL) MPI_Group_free(&near);
  return well;
}

/* Memory between the ranks of this machine, where MPI gives it to all of them; else they send messages. */
static inline void infiniMpiShare_(infiniMpiTransport_t* mpi) {
  MPI_Comm here = MPI_COMM_NULL;
  void* own = NULL;
  size_t bytes;
  int ranks = 1, mine, well;
  mpi->window = MPI_WIN_NULL;
  mpi->shared = NULL;
  mpi->transport.shared = NULL;
  mpi->transport.shared_bytes = 0;
  if (INFINI_MPI_SHARED_BYTES == 0 || mpi->transport.ranks == 1) return;
  if (MPI_Comm_split_type(mpi->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) != MPI_SUCCESS)
    return;
  MPI_Comm_size(here, &ranks);
  bytes = (size_t)INFINI_MPI_SHARED_BYTES + (size_t)ranks * 512; /* and what pieces are told by */
  mine = ranks > 1 && MPI_Win_allocate_shared((MPI_Aint)bytes + 64, 1, MPI_INFO_NULL, here, &own,
                                              &mpi->window) == MPI_SUCCESS;
  if (mine) {
    memset(own, 0, bytes + 64);
    mpi->transport.shared_bytes = bytes;
    mine = infiniMpiSeeAll_(mpi, here);
  }
  /* All or none of them; nobody reads before everybody's is zeroed. */
  if (MPI_Allreduce(&mine, &well, 1, MPI_INT, MPI_MIN, here) != MPI_SUCCESS) well = 0;
  if (well) mpi->transport.shared = mpi->shared;
  MPI_Comm_free(&here);
}

/* Gives MPI_SUCCESS or MPI's error. */
static inline int infiniMpiTransportInit(infiniMpiTransport_t* mpi, MPI_Comm comm) {
  int level = MPI_THREAD_SINGLE, error = MPI_Comm_dup(comm, &mpi->comm);
  if (error != MPI_SUCCESS) return error;
  MPI_Comm_set_errhandler(mpi->comm, MPI_ERRORS_RETURN);
  mpi->transport.size = sizeof mpi->transport;
  mpi->transport.context = mpi;
  MPI_Comm_rank(mpi->comm, &mpi->transport.rank);
  MPI_Comm_size(mpi->comm, &mpi->transport.ranks);
  mpi->transport.post_send = infiniMpiPostSend_;
  mpi->transport.post_receive = infiniMpiPostReceive_;
  mpi->transport.wait_any = infiniMpiWaitAny_;
  mpi->transport.cancel = infiniMpiCancel_;
  mpi->transport.describe = infiniMpiDescribe_;
  mpi->transport.begin_round = NULL;
  mpi->transport.end_round = NULL;
  mpi->transport.takes_device_memory = 0; /* set it where MPI is CUDA-aware */
  MPI_Query_thread(&level);
  mpi->transport.any_thread = level >= MPI_THREAD_SERIALIZED;
  infiniMpiShare_(mpi);
  return MPI_SUCCESS;
}

static inline int infiniMpiTransportFree(infiniMpiTransport_t* mpi) {
  if (mpi->window != MPI_WIN_NULL) MPI_Win_free(&mpi->window);
  free(mpi->shared);
  mpi->shared = NULL;
  mpi->transport.shared = NULL;
  return MPI_Comm_free(&mpi->comm);
}

#endif
