// How many CPU threads one operator may use: a process-wide setting.
#pragma once

namespace infini {

constexpr int max_thread_count = 1024;

int thread_count();
// 0 returns to the default: INFINI_NUM_THREADS, else OMP_NUM_THREADS, else the processors that this process may use.
void set_thread_count(int count);

}  // namespace infini
