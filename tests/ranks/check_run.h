// A resharding between threads, each rank's shard compared with what it should hold: for tests.
#pragma once

#include <gtest/gtest.h>

#include "plan/reshard/random_reshard_test.h"
#include "plan/reshard/reshard_text.h"
#include "tests/ranks/in_process_transport.h"
#include "tests/ranks/on_ranks.h"
#include "tests/ranks/reshard_calls.h"

namespace infini::test {

using namespace reshard_test;

// The shards in memory with gaps: every element at twice its place, so that nothing lies together.
inline std::vector<int32_t> spread(const std::vector<int32_t>& dense) {
  std::vector<int32_t> out(2 * dense.size() + 1, -7);
  for (size_t i = 0; i < dense.size(); ++i) out[2 * i] = dense[i];
  return out;
}
inline std::vector<ptrdiff_t> spread_strides(const std::vector<int64_t>& shape) {
  std::vector<ptrdiff_t> strides(shape.size());
  ptrdiff_t stride = 2;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<ptrdiff_t>(shape[i], 1);
  }
  return strides;
}

// Some ranks of a machine share memory, and some do not: by the bits of `here`.
// And how bytes travel else.
struct Sharing {
  size_t bytes = 0;  // 0: nobody shares any
  unsigned here = ~0u;
  bool rounds = false;  // the transport's
};

inline void check_run(const ReshardPlan& plan, size_t piece, size_t staging, bool strided,
                      const Sharing& sharing = {}) {
  const Side source(plan.source().distribution()), destination(plan.destination().distribution());
  const Ranks all = shards_of(plan, source, destination);
  const infiniReshardPlan_t handle = plan_of_text(to_text(plan));
  InProcessNetwork network(plan.ranks());
  network.rounds = sharing.rounds;
  if (sharing.bytes > 0) {
    std::vector<bool> here;
    for (int rank = 0; rank < plan.ranks(); ++rank) here.push_back(sharing.here >> rank % 32 & 1);
    network.share(sharing.bytes, here);
  }
  const auto options = options_of(piece, staging, 100);
  std::vector<std::vector<int32_t>> got(all.dst.size());
  const auto outcomes = on_ranks(plan.ranks(), [&](int rank) {
    const auto r = static_cast<size_t>(rank);
    const auto src = strided ? spread(all.src[r]) : all.src[r];
    got[r] = std::vector<int32_t>(strided ? 2 * all.dst[r].size() + 1 : all.dst[r].size(), -7);
    const auto dst_strides = spread_strides(plan.dst_shape(rank));
    const auto src_strides = spread_strides(plan.src_shape(rank));
    const infiniTransport_t transport = network.transport_of(rank);
    const auto move = [&] {
      return infiniReshard(handle, got[r].data(), strided ? dst_strides.data() : nullptr,
                           src.data(), strided ? src_strides.data() : nullptr, &transport,
                           &options);
    };
    // Shared memory goes on from run to run.
    if (sharing.bytes > 0 && move() != INFINI_STATUS_SUCCESS) return INFINI_STATUS_INTERNAL_ERROR;
    return move();
  });
  for (size_t r = 0; r < outcomes.size(); ++r) {
    ASSERT_EQ(INFINI_STATUS_SUCCESS, outcomes[r].status) << outcomes[r].words;
    ASSERT_EQ(got[r], strided ? spread(all.dst[r]) : all.dst[r]) << "rank " << r;
  }
  infiniReshardDestroyPlan(handle);
}

}  // namespace infini::test
