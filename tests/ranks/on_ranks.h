// Ranks as threads of one process: for tests.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "infinicore.h"

namespace infini::test {

struct Outcome {
  infiniStatus_t status;
  std::string words;
};

// Runs `rank_body` as every rank, each on a thread of its own.
template <class Body>
std::vector<Outcome> on_ranks(int ranks, const Body& rank_body) {
  std::vector<Outcome> outcomes(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      const infiniStatus_t status = rank_body(rank);
      outcomes[static_cast<size_t>(rank)] = {status, status ? infiniGetLastErrorString() : ""};
    });
  for (auto& thread : threads) thread.join();
  return outcomes;
}

}  // namespace infini::test
