// Opening NCCL.
#include "runtime/nccl.h"

#include <dlfcn.h>

#include "base/dtype.h"
#include "base/error.h"

namespace infini {
namespace {

template <class F>
void take(Nccl& table, void* library, F& function, const char* name) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr && table.why_not.empty())
    table.why_not = std::string("libnccl.so.2 has no ") + name;
}

Nccl open() {
  Nccl table;
  void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    table.why_not = dlerror();
    return table;
  }
  take(table, library, table.get_unique_id, "ncclGetUniqueId");
  take(table, library, table.comm_init_all, "ncclCommInitAll");
  take(table, library, table.comm_init_rank, "ncclCommInitRank");
  take(table, library, table.comm_destroy, "ncclCommDestroy");
  take(table, library, table.group_start, "ncclGroupStart");
  take(table, library, table.group_end, "ncclGroupEnd");
  take(table, library, table.error_string, "ncclGetErrorString");
  take(table, library, table.all_reduce, "ncclAllReduce");
  take(table, library, table.broadcast, "ncclBroadcast");
  take(table, library, table.reduce, "ncclReduce");
  take(table, library, table.all_gather, "ncclAllGather");
  take(table, library, table.reduce_scatter, "ncclReduceScatter");
  take(table, library, table.send, "ncclSend");
  take(table, library, table.recv, "ncclRecv");
  return table;
}

}  // namespace

const Nccl& nccl() {
  static const auto* const table = new Nccl(open());
  require(table->why_not.empty(), INFINI_STATUS_NOT_IMPLEMENTED,
          "several ranks on NVIDIA need NCCL: ", table->why_not);
  return *table;
}

void check_nccl(int status, const char* what) {
  require(status == 0, INFINI_STATUS_INTERNAL_ERROR, "NCCL: ", what, ": ",
          nccl().error_string(status));
}

int nccl_dtype(infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_I8: return 0;
    case INFINI_DTYPE_BYTE:
    case INFINI_DTYPE_BOOL:
    case INFINI_DTYPE_U8: return 1;
    case INFINI_DTYPE_I32: return 2;
    case INFINI_DTYPE_U32: return 3;
    case INFINI_DTYPE_I64: return 4;
    case INFINI_DTYPE_U64: return 5;
    case INFINI_DTYPE_F16: return 6;
    case INFINI_DTYPE_F32: return 7;
    case INFINI_DTYPE_F64: return 8;
    case INFINI_DTYPE_BF16: return 9;
    default:
      fail(INFINI_STATUS_BAD_TENSOR_DTYPE, "dtype is ", dtype_name(dtype),
           ", which NCCL does not know");
  }
}

}  // namespace infini
