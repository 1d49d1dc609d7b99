// From costs to policy.
#include "backends/cpu/machine/costs.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <sstream>

#include "backends/cpu/machine/isa.h"
#include "backends/cpu/machine/tune.h"
#include "backends/cpu/runtime/parallel.h"

namespace infini::cpu {
namespace {

int64_t power_of_two_below(double x) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max(x, 1.0))));
}

}  // namespace

Costs costs_from_cache(int64_t l2_bytes) {
  Costs costs;
  costs.l2_bytes = std::max<int64_t>(l2_bytes, 1 << 20);
  costs.streamed_bytes = costs.l2_bytes / 2;
  costs.pairs =
      costs.l2_bytes >= 2 << 20;  // cores with so much of it do, those with 1.25 MB do not
  return costs;
}

const Costs& costs() {
  static const Costs of_process = [] {
    const Costs guess = costs_from_cache(sysconf(_SC_LEVEL2_CACHE_SIZE));
    return tuning_wanted() ? measure_costs(guess) : guess;
  }();
  return of_process;
}

Policy policy_from(const Costs& costs, int threads) {
  Policy policy;
  policy.threads = threads;
  // A second thread halves the time; that must be worth two openings of a region.
  policy.bytes_per_thread = std::clamp<int64_t>(
      power_of_two_below(2 * costs.region_ns * costs.bytes_per_ns), 32 << 10, 1 << 20);
  policy.streamed_bytes = costs.streamed_bytes;
  policy.memory_bytes = 16 * costs.l2_bytes;
  policy.pairs = costs.pairs;
  // Every column of a strip is a page of dst.
  policy.strip = std::clamp<int64_t>(power_of_two_below(static_cast<double>(costs.store_pages)),
                                     256, max_strip);
  // What the hardware fetches beyond a strip, about 1 KB a row, stays in L2 until it is wanted.
  policy.chunk = std::clamp<int64_t>(power_of_two_below(static_cast<double>(costs.l2_bytes) / 1024),
                                     256, max_chunk);
  return policy;
}

namespace {
std::atomic<const Policy*> forced_policy{nullptr};
}

ForcedPolicy::ForcedPolicy(const Policy& policy)
    : policy_(policy), before_(forced_policy.exchange(&policy_)) {}
ForcedPolicy::~ForcedPolicy() { forced_policy = before_; }

Policy current_policy() {
  if (const Policy* const forced = forced_policy) [[unlikely]]
    return *forced;
  Policy policy = policy_from(costs(), available_threads());
  policy.planes = isa() == Isa::avx512 ? 8 : 4;
  return policy;
}

std::string to_string(const Costs& costs) {
  const Policy policy = policy_from(costs, 1);
  std::ostringstream text;
  text.precision(3);
  text << "costs " << (costs.measured ? "(measured)" : "(assumed)") << ": L2 of " << costs.l2_bytes
       << " bytes, stores to " << costs.store_pages << " pages in turns"
       << (costs.pairs ? ", best in pairs" : "") << ", a parallel region " << costs.region_ns / 1000
       << " us, " << costs.bytes_per_ns << " bytes/ns\n"
       << "so: a thread for every " << policy.bytes_per_thread << " bytes, streaming from "
       << policy.streamed_bytes << " bytes for each thread on, tiles of at most " << policy.strip
       << " columns, " << policy.chunk << " rows where strips are shorter than a page";
  return text.str();
}

}  // namespace infini::cpu
