// infinicore.h: errors, version and the thread count.
#include "infinicore.h"

#include "base/threads/executor.h"
#include "base/threads/thread_count.h"
#include "capi/boundary.h"

using namespace infini;

const char* infiniGetLastErrorString(void) { return last_error(); }

const char* infiniStatusString(infiniStatus_t status) { return status_name(status); }

const char* infiniVersionString(void) { return INFINI_VERSION; }

infiniStatus_t infiniSetNumThreads(int count) {
  return at_boundary([&] { set_thread_count(count); });
}

infiniStatus_t infiniGetNumThreads(int* count) {
  return at_boundary([&] {
    require_pointer(count, "count");
    *count = thread_count();
  });
}

infiniStatus_t infiniSetExecutor(const infiniExecutor_t* executor) {
  return at_boundary([&] { set_executor(executor); });
}
