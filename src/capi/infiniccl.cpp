// infiniccl.h: one rank by copies, several by NCCL (NVIDIA) or MPI (processes on the CPU).
#include "infiniccl.h"

#include <cstring>
#include <limits>
#include <vector>

#include "base/checked.h"
#include "base/dtype.h"
#include "capi/boundary.h"
#include "capi/objects.h"
#include "runtime/current_device.h"
#include "runtime/mpi.h"
#include "runtime/nccl.h"
#include "runtime/registry.h"

struct InfinicclComm {
  std::atomic<uint32_t> tag;
};

using namespace infini;

namespace {

struct Comm {
  Device* device;
  int ranks, rank;
  NcclComm nccl = nullptr;  // this, the next or, of one rank alone, none
  std::shared_ptr<MpiComm> mpi = nullptr;
};
using Comms = Cells<InfinicclComm, Comm, 0x636f6d6d, Lives::long_>;

Comms& comms() {
  static constinit Lazy<Comms> all;
  return all.get();
}

infinicclComm_t make_comm(const Comm& comm) {
  return comms().create([](InfinicclComm&) {}, comm);
}

void require_op(infinicclReduceOp_t op) {
  require(op >= INFINICCL_SUM && op <= INFINICCL_AVG, INFINI_STATUS_BAD_PARAM, "op is ",
          static_cast<int>(op), "; expected 0..4");
}

// Bytes of so many elements.
size_t bytes_of(size_t count, infiniDtype_t dtype) {
  const int64_t size = dtype_bytes(dtype);
  require(size > 0, INFINI_STATUS_BAD_TENSOR_DTYPE, "dtype is ", static_cast<int>(dtype),
          ", which is no element type");
  int64_t bytes = 0;
  require(count <= static_cast<size_t>(std::numeric_limits<int64_t>::max()) &&
              checked_mul(static_cast<int64_t>(count), size, bytes),
          INFINI_STATUS_BAD_PARAM, "count is ", count, ": more bytes than there are addresses");
  return static_cast<size_t>(bytes);
}

void copy(const Comm& comm, void* recv, const void* send, size_t bytes, void* stream) {
  if (bytes == 0 || recv == send) return;
  comm.device->make_current();
  comm.device->copy_async(
      recv, send, bytes,
      comm.device->kind() == INFINI_DEVICE_CPU ? INFINIRT_MEMCPY_H2H : INFINIRT_MEMCPY_D2D, stream);
}

// MPI works on the host, when everything on the stream before it is done.
template <class ByMpi>
void by_host(const Comm& comm, void* stream, const ByMpi& by_mpi) {
  comm.device->synchronize_stream(stream);
  by_mpi(*comm.mpi);
}

// How many elements a rank reads and writes, and what it asks for.
struct Amounts {
  size_t sends, receives;
  infiniDtype_t dtype;
};

// What every collective does: checks, then one rank's copy, NCCL's call or MPI's.
template <class ByNccl, class ByMpi>
void collective(const Comm& comm, const void* send, void* recv, const Amounts& amounts,
                void* stream, const char* name, const ByNccl& by_nccl, const ByMpi& by_mpi) {
  const size_t bytes = bytes_of(amounts.sends, amounts.dtype);
  bytes_of(amounts.receives, amounts.dtype);
  if (amounts.sends > 0) require_pointer(send, "send");
  if (amounts.receives > 0) require_pointer(recv, "recv");
  if (comm.mpi) return by_host(comm, stream, by_mpi);
  if (comm.nccl == nullptr) return copy(comm, recv, send, bytes, stream);
  comm.device->make_current();
  check_nccl(by_nccl(nccl_dtype(amounts.dtype)), name);
}

void require_peer(const Comm& comm, int peer, const char* argument, bool may_be_self) {
  require(peer >= 0 && peer < comm.ranks && (may_be_self || peer != comm.rank),
          INFINI_STATUS_BAD_PARAM, argument, " is ", peer, "; expected ",
          may_be_self ? "0.." : "another rank of 0..", comm.ranks - 1);
}

// The sum of what the ranks have.
size_t total_of(const Comm& comm, const size_t* counts, int ranks, const char* argument) {
  require_pointer(counts, argument);
  require(ranks == comm.ranks, INFINI_STATUS_BAD_PARAM, "nranks is ", ranks,
          "; the communicator has ", comm.ranks);
  size_t total = 0;
  for (int r = 0; r < ranks; ++r)
    require(!__builtin_add_overflow(total, counts[r], &total), INFINI_STATUS_BAD_PARAM, argument,
            ": the first ", r + 1, " add up to more than there are addresses");
  return total;
}
// So many for each rank.
size_t total_of(const Comm& comm, size_t count, const char* argument) {
  size_t total = 0;
  require(!__builtin_mul_overflow(count, static_cast<size_t>(comm.ranks), &total),
          INFINI_STATUS_BAD_PARAM, argument, " is ", count, " for each of ", comm.ranks,
          " ranks: more than there are addresses");
  return total;
}

}  // namespace

infiniStatus_t infinicclCommInitAll(infiniDevice_t device_type, infinicclComm_t* out, int ndevice,
                                    const int* device_ids) {
  return at_boundary([&] {
    require_pointer(out, "comms");
    require(ndevice >= 1, INFINI_STATUS_BAD_PARAM, "ndevice is ", ndevice, "; expected at least 1");
    for (int i = 0; i < ndevice; ++i) out[i] = nullptr;
    require_pointer(device_ids, "device_ids");
    std::vector<Device*> devices;
    for (int i = 0; i < ndevice; ++i) devices.push_back(&open_device(device_type, device_ids[i]));
    std::vector<NcclComm> made(static_cast<size_t>(ndevice), nullptr);
    if (ndevice > 1) {
      require(device_type == INFINI_DEVICE_NVIDIA, INFINI_STATUS_NOT_IMPLEMENTED,
              "several devices of one process are NCCL's, on NVIDIA alone; ndevice is ", ndevice);
      check_nccl(nccl().comm_init_all(made.data(), ndevice, device_ids), "ncclCommInitAll");
    }
    for (int i = 0; i < ndevice; ++i)
      out[i] =
          make_comm({devices[static_cast<size_t>(i)], ndevice, i, made[static_cast<size_t>(i)]});
  });
}

infiniStatus_t infinicclGetUniqueId(infinicclUniqueId_t* id) {
  return at_boundary([&] {
    require_pointer(id, "id");
    std::memset(id, 0, sizeof *id);  // enough for one rank
    if (current_device().kind() != INFINI_DEVICE_NVIDIA) return;
    NcclUniqueId made;
    check_nccl(nccl().get_unique_id(&made), "ncclGetUniqueId");
    static_assert(sizeof made == sizeof *id);
    std::memcpy(id, &made, sizeof made);
  });
}

infiniStatus_t infinicclCommInitRank(infinicclComm_t* comm, int nranks, infinicclUniqueId_t id,
                                     int rank) {
  return at_boundary([&] {
    require_out(comm, "comm");
    require(nranks >= 1 && rank >= 0 && rank < nranks, INFINI_STATUS_BAD_PARAM, "rank is ", rank,
            " of ", nranks);
    Device& device = current_device();
    NcclComm made = nullptr;
    if (nranks > 1 && device.kind() == INFINI_DEVICE_CPU) {
      *comm = make_comm({&device, nranks, rank, nullptr, MpiComm::join(nranks, rank)});
      return;
    }
    if (nranks > 1) {
      require(device.kind() == INFINI_DEVICE_NVIDIA, INFINI_STATUS_NOT_IMPLEMENTED,
              "several ranks are NCCL's on NVIDIA and MPI's on the CPU; nranks is ", nranks);
      NcclUniqueId given;
      std::memcpy(&given, &id, sizeof given);
      device.make_current();
      check_nccl(nccl().comm_init_rank(&made, nranks, given, rank), "ncclCommInitRank");
    }
    *comm = make_comm({&device, nranks, rank, made});
  });
}

infiniStatus_t infinicclCommDestroy(infinicclComm_t comm) {
  return destroy_unless_null(comm, [&] {
    const NcclComm theirs = Comms::pin(comm, "comm")->nccl;
    comms().destroy(comm, "comm");
    if (theirs != nullptr) check_nccl(nccl().comm_destroy(theirs), "ncclCommDestroy");
  });
}

infiniStatus_t infinicclGroupStart(infinicclComm_t comm) {
  return at_boundary([&] {
    if (Comms::pin(comm, "comm")->nccl) check_nccl(nccl().group_start(), "ncclGroupStart");
  });
}
infiniStatus_t infinicclGroupEnd(infinicclComm_t comm) {
  return at_boundary([&] {
    if (Comms::pin(comm, "comm")->nccl) check_nccl(nccl().group_end(), "ncclGroupEnd");
  });
}

infiniStatus_t infinicclAllReduce(void* send, void* recv, size_t count, infiniDtype_t dtype,
                                  infinicclReduceOp_t op, infinicclComm_t comm,
                                  infinirtStream_t stream) {
  return at_boundary([&] {
    const auto c = Comms::pin(comm, "comm");
    require_op(op);
    collective(
        *c, send, recv, {count, count, dtype}, stream, "ncclAllReduce",
        [&](int type) { return nccl().all_reduce(send, recv, count, type, op, c->nccl, stream); },
        [&](MpiComm& mpi) {
          mpi.all_reduce(send, recv, count, dtype, static_cast<MpiReduce>(op));
        });
  });
}

infiniStatus_t infinicclBroadcast(const void* send, void* recv, size_t count, infiniDtype_t dtype,
                                  int root, infinicclComm_t comm, infinirtStream_t stream) {
  return at_boundary([&] {
    const auto c = Comms::pin(comm, "comm");
    require_peer(*c, root, "root", true);
    collective(
        *c, send, recv, {c->rank == root ? count : 0, count, dtype}, stream, "ncclBroadcast",
        [&](int type) { return nccl().broadcast(send, recv, count, type, root, c->nccl, stream); },
        [&](MpiComm& mpi) { mpi.broadcast(send, recv, bytes_of(count, dtype), root); });
  });
}

infiniStatus_t infinicclSend(const void* send, size_t count, infiniDtype_t dtype, int peer,
                             infinicclComm_t comm, infinirtStream_t stream) {
  return at_boundary([&] {
    const auto c = Comms::pin(comm, "comm");
    require_peer(*c, peer, "peer", false);
    collective(
        *c, send, nullptr, {count, 0, dtype}, stream, "ncclSend",
        [&](int type) { return nccl().send(send, count, type, peer, c->nccl, stream); },
        [&](MpiComm& mpi) { mpi.send(send, bytes_of(count, dtype), peer); });
  });
}

infiniStatus_t infinicclRecv(void* recv, size_t count, infiniDtype_t dtype, int peer,
                             infinicclComm_t comm, infinirtStream_t stream) {
  return at_boundary([&] {
    const auto c = Comms::pin(comm, "comm");
    require_peer(*c, peer, "peer", false);
    collective(
        *c, nullptr, recv, {0, count, dtype}, stream, "ncclRecv",
        [&](int type) { return nccl().recv(recv, count, type, peer, c->nccl, stream); },
        [&](MpiComm& mpi) { mpi.receive(recv, bytes_of(count, dtype), peer); });
  });
}

infiniStatus_t infinicclAllGather(void* send, void* recv, size_t send_count, infiniDtype_t dtype,
                                  infinicclComm_t comm, infinirtStream_t stream) {
  return at_boundary([&] {
    const auto c = Comms::pin(comm, "comm");
    const size_t total = total_of(*c, send_count, "send_count");
    collective(
        *c, send, recv, {send_count, total, dtype}, stream, "ncclAllGather",
        [&](int type) { return nccl().all_gather(send, recv, send_count, type, c->nccl, stream); },
        [&](MpiComm& mpi) {
          const std::vector<size_t> bytes(static_cast<size_t>(c->ranks),
                                          bytes_of(send_count, dtype));
          mpi.all_gather(send, recv, bytes.data());
        });
  });
}

infiniStatus_t infinicclAllGatherV(void* send, void* recv, const size_t* recv_counts, int nranks,
                                   infiniDtype_t dtype, infinicclComm_t comm,
                                   infinirtStream_t stream) {
  return at_boundary([&] {
    const auto c = Comms::pin(comm, "comm");
    const size_t total = total_of(*c, recv_counts, nranks, "recv_counts");
    const auto by_nccl = [&](int type) {
      check_nccl(nccl().group_start(), "ncclGroupStart");
      auto* to = static_cast<char*>(recv);
      int failed = 0;
      for (int r = 0; r < nranks; to += bytes_of(recv_counts[r], dtype), ++r)
        if (failed == 0)
          failed = nccl().broadcast(r == c->rank ? send : to, to, recv_counts[r], type, r, c->nccl,
                                    stream);
      const int ended = nccl().group_end();
      return failed != 0 ? failed : ended;
    };
    collective(*c, send, recv, {recv_counts[c->rank], total, dtype}, stream, "AllGatherV", by_nccl,
               [&](MpiComm& mpi) {
                 std::vector<size_t> bytes;
                 for (int r = 0; r < nranks; ++r) bytes.push_back(bytes_of(recv_counts[r], dtype));
                 mpi.all_gather(send, recv, bytes.data());
               });
  });
}

infiniStatus_t infinicclReduceScatter(void* send, void* recv, size_t recv_count,
                                      infiniDtype_t dtype, infinicclReduceOp_t op,
                                      infinicclComm_t comm, infinirtStream_t stream) {
  return at_boundary([&] {
    const auto c = Comms::pin(comm, "comm");
    require_op(op);
    const size_t total = total_of(*c, recv_count, "recv_count");
    const auto by_mpi = [&](MpiComm& mpi) {
      const std::vector<size_t> counts(static_cast<size_t>(c->ranks), recv_count);
      mpi.reduce_scatter(send, recv, counts.data(), dtype, static_cast<MpiReduce>(op));
    };
    collective(
        *c, send, recv, {total, recv_count, dtype}, stream, "ncclReduceScatter",
        [&](int type) {
          return nccl().reduce_scatter(send, recv, recv_count, type, op, c->nccl, stream);
        },
        by_mpi);
  });
}

infiniStatus_t infinicclReduceScatterV(void* send, void* recv, const size_t* send_counts,
                                       int nranks, infiniDtype_t dtype, infinicclReduceOp_t op,
                                       infinicclComm_t comm, infinirtStream_t stream) {
  return at_boundary([&] {
    const auto c = Comms::pin(comm, "comm");
    require_op(op);
    const size_t total = total_of(*c, send_counts, nranks, "send_counts");
    const auto by_nccl = [&](int type) {
      check_nccl(nccl().group_start(), "ncclGroupStart");
      const auto* from = static_cast<const char*>(send);
      int failed = 0;
      for (int r = 0; r < nranks; from += bytes_of(send_counts[r], dtype), ++r)
        if (failed == 0)
          failed = nccl().reduce(from, recv, send_counts[r], type, op, r, c->nccl, stream);
      const int ended = nccl().group_end();
      return failed != 0 ? failed : ended;
    };
    collective(*c, send, recv, {total, send_counts[c->rank], dtype}, stream, "ReduceScatterV",
               by_nccl, [&](MpiComm& mpi) {
                 mpi.reduce_scatter(send, recv, send_counts, dtype, static_cast<MpiReduce>(op));
               });
  });
}
