// MPI, opened at run time: collectives between processes on the CPU. Every call ends: with its result, with what MPI says,
// or after a time, when a rank is missing. mpi_library.h knows the libraries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "infinicore.h"
#include "runtime/mpi_library.h"

namespace infini {

// As infinicclReduceOp_t numbers them.
enum class MpiReduce { sum, product, largest, least, average };

class MpiComm {
 public:
  // Of all processes that mpirun started, ordered by `rank`. Throws where there is no MPI, where mpirun started
  // another number of processes, or where they do not agree.
  static std::unique_ptr<MpiComm> join(int ranks, int rank);
  ~MpiComm();
  MpiComm(const MpiComm&) = delete;
  int ranks() const { return ranks_; }

  // Elements of any type that MPI, or f32 for the short floats, can add. Ranks that ask for different things are all told.
  void all_reduce(const void* send, void* recv, size_t count, infiniDtype_t dtype, MpiReduce op);
  void broadcast(const void* send, void* recv, size_t bytes, int root);
  // `bytes` has one number for each rank.
  void all_gather(const void* send, void* recv, const size_t* bytes);
  // `counts` has one number for each rank: send has all of them one after another, recv this rank's.
  void reduce_scatter(const void* send, void* recv, const size_t* counts, infiniDtype_t dtype,
                      MpiReduce op);
  void send(const void* data, size_t bytes, int peer);
  void receive(void* data, size_t bytes, int peer);

 private:
  MpiComm(MpiHandle comm, bool owns, int ranks, int rank)
      : comm_(comm), owns_(owns), ranks_(ranks), rank_(rank) {}
  void agree(const char* what, int64_t kind, int64_t count, int64_t detail);
  void finish(MpiHandle request, const char* what, void* status = nullptr);
  void require_whole() const;

  MpiHandle comm_;
  bool owns_;  // the world is not ours to free
  int ranks_, rank_;
  std::string broken_;  // why nothing can be sent any more; empty: all is well
};

}  // namespace infini
