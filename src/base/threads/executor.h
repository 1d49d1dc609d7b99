// The client's threads in place of ours, where it brings some: a process-wide setting.
#pragma once

#include "infinicore.h"

namespace infini {

struct Executor {
  decltype(infiniExecutor_t::parallel) parallel;
  void* user;
};

// Null: the library's own threads. What it points to is never changed and never goes away.
const Executor* current_executor();
// Null returns to the library's own threads.
void set_executor(const infiniExecutor_t* executor);

}  // namespace infini
