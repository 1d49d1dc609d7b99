// The functions and handles of an MPI library that are needed, as dlopen finds them: one interface over three ABIs.
//
// A handle (communicator, type, operation, request) is the address of a symbol in Open MPI, a 32-bit number in MPICH and in
// what shares its ABI (Intel MPI, MVAPICH, Cray), and a number of a pointer's size in the standard ABI of MPI 5. Here it is a
// number, converted where the library is called.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace infini {

struct MpiHandle {
  uintptr_t number = 0;
};

// Handles and numbers that MPI predefines; mpi_library.cpp has them for each ABI.
enum class MpiConstant {
  world,
  errors_return,
  thread_multiple,  // a number, not a handle
  byte,
  long_long,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  f32,
  f64,
  sum,
  product,
  largest,
  least
};

struct MpiLibrary {
  std::string why_not;  // nothing below may be used; empty: all is well
  std::string name;     // what it says that it is, e.g. "Open MPI v4.1.4"
  std::function<MpiHandle(MpiConstant)> constant;

  std::function<int(int*)> initialized, finalized;
  std::function<int(int*, char***, int required, int* provided)> init_thread;
  std::function<int()> finalize;
  std::function<int(MpiHandle comm, int*)> comm_size, comm_rank;
  std::function<int(MpiHandle comm, int color, int key, MpiHandle*)> comm_split;
  std::function<int(MpiHandle*)> comm_free;
  std::function<int(MpiHandle comm, MpiHandle handler)> comm_set_errhandler;
  std::function<int(int error, char*, int*)> error_string;
  std::function<int(MpiHandle* request, int* flag, void* status)> test;
  std::function<int(const void* status, MpiHandle type, int*)> get_count;
  std::function<int(const void*, void*, int, MpiHandle type, MpiHandle op, MpiHandle comm,
                    MpiHandle*)>
      iallreduce;
  std::function<int(void*, int, MpiHandle type, int root, MpiHandle comm, MpiHandle*)> ibcast;
  std::function<int(const void*, int, MpiHandle type, void*, const int*, const int*,
                    MpiHandle type2, MpiHandle comm, MpiHandle*)>
      iallgatherv;
  std::function<int(const void*, int, MpiHandle type, int peer, int tag, MpiHandle comm,
                    MpiHandle*)>
      isend;
  std::function<int(void*, int, MpiHandle type, int peer, int tag, MpiHandle comm, MpiHandle*)>
      irecv;
};

// The one that this process already has; else that of the launcher which started it; else the first that there is.
MpiLibrary open_mpi_library();

// Was this process started by a launcher of MPI's?
bool is_launched_by_mpi();

}  // namespace infini
