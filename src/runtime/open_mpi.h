// The functions and handles of Open MPI that are needed, as dlopen finds them. See mpi.h.
#pragma once

#include <dlfcn.h>

#include <string>

namespace infini {

// An address of one of Open MPI's symbols, or what a function of it gave.
using MpiHandle = void*;

struct Mpi {
  std::string why_not;
  MpiHandle world = nullptr, byte = nullptr, long_long = nullptr, errors_return = nullptr;
  void* library = nullptr;
  int (*initialized)(int*) = nullptr;
  int (*init_thread)(int*, char***, int required, int* provided) = nullptr;
  int (*finalize)() = nullptr;
  int (*finalized)(int*) = nullptr;
  int (*comm_size)(MpiHandle, int*) = nullptr;
  int (*comm_rank)(MpiHandle, int*) = nullptr;
  int (*comm_split)(MpiHandle, int color, int key, MpiHandle*) = nullptr;
  int (*comm_free)(MpiHandle*) = nullptr;
  int (*comm_set_errhandler)(MpiHandle, MpiHandle) = nullptr;
  int (*error_string)(int, char*, int*) = nullptr;
  int (*test)(MpiHandle* request, int* flag, void* status) = nullptr;
  int (*get_count)(const void* status, MpiHandle type, int*) = nullptr;
  int (*iallreduce)(const void*, void*, int, MpiHandle type, MpiHandle op, MpiHandle,
                    MpiHandle*) = nullptr;
  int (*ibcast)(void*, int, MpiHandle type, int root, MpiHandle, MpiHandle*) = nullptr;
  int (*iallgatherv)(const void*, int, MpiHandle, void*, const int*, const int*, MpiHandle,
                     MpiHandle, MpiHandle*) = nullptr;
  int (*isend)(const void*, int, MpiHandle, int peer, int tag, MpiHandle, MpiHandle*) = nullptr;
  int (*irecv)(void*, int, MpiHandle, int peer, int tag, MpiHandle, MpiHandle*) = nullptr;

  template <class F>
  void take(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library, name));
    if (function == nullptr && why_not.empty()) why_not = std::string("libmpi has no ") + name;
  }
  MpiHandle symbol(const char* name) {
    void* const found = dlsym(library, name);
    if (found == nullptr && why_not.empty())
      why_not = std::string("libmpi is not Open MPI's (it has no ") + name +
                "); the handles of MPICH and others are different ones, which are not supported";
    return found;
  }
};

inline Mpi open_mpi() {
  Mpi mpi;
  for (const char* const name : {"libmpi.so.40", "libmpi.so"})
    if (mpi.library == nullptr)  // its plugins look for its symbols
      mpi.library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (mpi.library == nullptr) {
    mpi.why_not = dlerror();
    return mpi;
  }
  mpi.world = mpi.symbol("ompi_mpi_comm_world");
  mpi.byte = mpi.symbol("ompi_mpi_byte");
  mpi.long_long = mpi.symbol("ompi_mpi_long_long_int");
  mpi.errors_return = mpi.symbol("ompi_mpi_errors_return");
  mpi.take(mpi.initialized, "MPI_Initialized");
  mpi.take(mpi.init_thread, "MPI_Init_thread");
  mpi.take(mpi.finalize, "MPI_Finalize");
  mpi.take(mpi.finalized, "MPI_Finalized");
  mpi.take(mpi.comm_size, "MPI_Comm_size");
  mpi.take(mpi.comm_rank, "MPI_Comm_rank");
  mpi.take(mpi.comm_split, "MPI_Comm_split");
  mpi.take(mpi.comm_free, "MPI_Comm_free");
  mpi.take(mpi.comm_set_errhandler, "MPI_Comm_set_errhandler");
  mpi.take(mpi.error_string, "MPI_Error_string");
  mpi.take(mpi.test, "MPI_Test");
  mpi.take(mpi.get_count, "MPI_Get_count");
  mpi.take(mpi.iallreduce, "MPI_Iallreduce");
  mpi.take(mpi.ibcast, "MPI_Ibcast");
  mpi.take(mpi.iallgatherv, "MPI_Iallgatherv");
  mpi.take(mpi.isend, "MPI_Isend");
  mpi.take(mpi.irecv, "MPI_Irecv");
  return mpi;
}

}  // namespace infini
