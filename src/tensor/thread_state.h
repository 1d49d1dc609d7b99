// What the C++ layer keeps for each thread: its streams, its recording and its prepared operators.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "infinicore/graph/graph.hpp"
#include "ops/gemm.h"
#include "ops/operator.h"
#include "ops/rearrange.h"
#include "runtime/place.h"
#include "tensor/cache/op_cache.h"
#include "tensor/cache/pattern_cache.h"
#include "tensor/cache/prepared_pages.h"

namespace infinicore::detail {

struct Recording {
  std::uint64_t number;  // no two are equal
  std::vector<std::shared_ptr<graph::GraphOperator>> operators;
};

struct ThreadState {
  // The stream for work at this place: the default one unless the thread chose another.
  void* stream(const infini::Place& place) const {
    for (const auto& [known, stream] : streams)
      if (known == &place) return stream;
    return nullptr;
  }
  void set_stream(const infini::Place& place, void* stream);

  std::vector<std::pair<const infini::Place*, void*>> streams;
  std::unique_ptr<Recording> recording;  // null: operators run at once
  OpCache<infini::Rearrange> rearranges;
  OpCache<infini::Gemm> gemms;
  OpCache<PreparedPages> pages;
  OpCache<infini::Operator> operators[infini::function_count];
  PatternCache patterns;
};

ThreadState& this_thread();
// Null when this thread has none yet; for destructors.
ThreadState* this_thread_if_any() noexcept;

// While it lives, this thread's operators run at once even if it is recording.
class RunNow {
 public:
  RunNow() : held_(std::move(this_thread().recording)) {}
  ~RunNow() { this_thread().recording = std::move(held_); }
  RunNow(const RunNow&) = delete;

 private:
  std::unique_ptr<Recording> held_;
};

}  // namespace infinicore::detail
