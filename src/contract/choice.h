// How the choice of a kernel can be steered and watched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace infini {

// What one candidate said of a plan.
struct BidLine {
  std::string name;
  double nanoseconds = 0;  // expected here; infinite: it cannot
  std::string why_not;     // in words, where it cannot
};

struct Choice {
  // A candidate's name: taken wherever it can; null: what the environment names, else the cheapest.
  const char* wanted = nullptr;
  // Where not null, every candidate's bid is added here.
  std::vector<BidLine>* lines = nullptr;
  // Bytes of the copy that this one is a piece of, where it is: whether its output stays in the caches
  // depends on them.
  int64_t whole_bytes = 0;
};

}  // namespace infini
