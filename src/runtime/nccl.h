// NCCL, opened at run time: the few functions of it that infiniccl.h needs, under its own names and numbers.
#pragma once

#include <cstddef>
#include <string>

#include "infinicore.h"

namespace infini {

struct NcclUniqueId {
  char internal[128];
};
using NcclComm = void*;

struct Nccl {
  std::string why_not;  // in words, where it could not be opened
  int (*get_unique_id)(NcclUniqueId*) = nullptr;
  int (*comm_init_all)(NcclComm*, int count, const int* devices) = nullptr;
  int (*comm_init_rank)(NcclComm*, int ranks, NcclUniqueId id, int rank) = nullptr;
  int (*comm_destroy)(NcclComm) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*all_reduce)(const void*, void*, size_t, int dtype, int op, NcclComm,
                    void* stream) = nullptr;
  int (*broadcast)(const void*, void*, size_t, int dtype, int root, NcclComm, void*) = nullptr;
  int (*reduce)(const void*, void*, size_t, int dtype, int op, int root, NcclComm, void*) = nullptr;
  int (*all_gather)(const void*, void*, size_t, int dtype, NcclComm, void*) = nullptr;
  int (*reduce_scatter)(const void*, void*, size_t, int dtype, int op, NcclComm, void*) = nullptr;
  int (*send)(const void*, size_t, int dtype, int peer, NcclComm, void*) = nullptr;
  int (*recv)(void*, size_t, int dtype, int peer, NcclComm, void*) = nullptr;
};

// Opened when first asked for; throws NOT_IMPLEMENTED where it is not installed.
const Nccl& nccl();
// Throws what NCCL says.
void check_nccl(int status, const char* what);
// NCCL's number of an element type; throws BAD_TENSOR_DTYPE for what it does not add.
int nccl_dtype(infiniDtype_t dtype);

}  // namespace infini
