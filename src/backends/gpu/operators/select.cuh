// Where in descending order a sum of counts or masses is reached, without sorting: bins are filled, the sums before them
// looked through, and the bin that reaches it divided again. Sums are of whole numbers: they do not depend on their order.
#pragma once

#include "backends/gpu/operators/rows.cuh"
#include "backends/gpu/operators/sample_schedule.h"
#include "contract/greedy.h"

namespace infini::gpu {

__device__ inline uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
// Ordered as the floats are, both zeros the same; NaN is the least.
__device__ inline uint32_t ordered(float x) {
  if (x != x) return 0;
  const uint32_t bits = bits_of(x == 0 ? 0.0f : x);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}
__device__ inline float from_ordered(uint32_t number) {
  const uint32_t bits = number >> 31 ? number & 0x7fffffffu : ~number;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// In units of 2^-40. The largest has 1, also where it is infinite.
__device__ inline uint64_t mass_of(float x, float most, float temperature) {
  if (x == most) return uint64_t{1} << 40;
  return x != x ? 0 : static_cast<uint64_t>(exp((x - most) / temperature) * 0x1p40f);
}

struct Sums {
  uint32_t count;
  uint64_t mass;
};

// Counts and masses that threads add to, in shared memory behind what over_block() uses: masses in two parts, which no
// more than 2048 logits overflow.
struct Bins {
  static constexpr uint32_t low_bits = 20, most_at_once = 2048;
  static constexpr size_t place = 2 * operator_threads * sizeof(double);
  static constexpr size_t bytes = place + 3 * sample_bins * sizeof(uint32_t);

  __device__ static uint32_t* counts() {
    return reinterpret_cast<uint32_t*>(shared_memory() + place);
  }
  __device__ static uint32_t* low() { return counts() + sample_bins; }
  __device__ static uint32_t* high() { return counts() + 2 * sample_bins; }

  // All threads; before others add.
  __device__ static void clear() {
    for (uint32_t i = threadIdx.x; i < 3 * sample_bins; i += sample_threads) counts()[i] = 0;
    __syncthreads();
  }
  __device__ static void add(uint32_t bin, uint64_t mass) {
    add_to(&counts()[bin], 1u);
    const auto below = static_cast<uint32_t>(mass & ((1u << low_bits) - 1)),
               above = static_cast<uint32_t>(mass >> low_bits);
    if (below != 0) add_to(&low()[bin], below);
    if (above != 0) add_to(&high()[bin], above);
  }
  __device__ static uint64_t mass(uint32_t bin) {
    return (uint64_t{high()[bin]} << low_bits) + low()[bin];
  }
};

// The bins of one thread, neighbours.
constexpr uint32_t bins_of_thread = sample_bins / sample_threads;
struct BinSums {
  uint32_t counts[bins_of_thread] = {};
  uint64_t masses[bins_of_thread] = {};

  __device__ Sums all() const {
    Sums sums{0, 0};
#pragma unroll
    for (uint32_t i = 0; i < bins_of_thread; ++i) sums.count += counts[i], sums.mass += masses[i];
    return sums;
  }
};

// What a sum has to reach: a count, or a mass.
struct Target {
  uint32_t count;
  double mass;
  bool counts;
  __device__ bool reached(const Sums& sums) const {
    return counts ? sums.count >= count : static_cast<double>(sums.mass) >= mass;
  }
};

struct Crossing {
  uint32_t bin, count;  // the first bin with which the target is reached, and how many are in it
  Sums before;          // of all bins before it
  uint64_t whole;       // of all bins
};

// The sums of all threads before this one, and of all of them.
struct Prefix {
  Sums before, all;
};
__device__ inline Prefix sums_before(const Sums& mine) {
  constexpr uint32_t side = 16;
  auto* sums = reinterpret_cast<Sums*>(shared_memory());
  auto* totals = reinterpret_cast<Sums*>(Bins::counts());
  static_assert(sizeof(Sums) * sample_threads <= Bins::place && side * side == sample_threads);
  const uint32_t group = threadIdx.x / side, own = threadIdx.x % side;
  sums[threadIdx.x] = mine;
  __syncthreads();
  Prefix prefix{};
  for (uint32_t i = 0; i < own; ++i) {
    prefix.before.count += sums[group * side + i].count;
    prefix.before.mass += sums[group * side + i].mass;
  }
  if (own == side - 1)
    totals[group] = {prefix.before.count + mine.count, prefix.before.mass + mine.mass};
  __syncthreads();
  for (uint32_t i = 0; i < side; ++i) {
    const Sums one = totals[i];
    prefix.all.count += one.count, prefix.all.mass += one.mass;
    if (i < group) prefix.before.count += one.count, prefix.before.mass += one.mass;
  }
  __syncthreads();
  return prefix;
}

// All threads; what Bins held is gone. `before` are sums that count as before all bins. What is looked for is
// target_of(the whole mass); a target beyond all of them is that of the last one.
template <class TargetOf>
__device__ Crossing find_crossing(const BinSums& own, const Sums& before, TargetOf target_of) {
  const Prefix prefix = sums_before(own.all());
  Target target = target_of(prefix.all.mass);
  const auto most = static_cast<double>(before.mass + prefix.all.mass);
  target.mass = target.mass < most ? target.mass : most;
  auto& result = *reinterpret_cast<Crossing*>(shared_memory());
  if (threadIdx.x == 0) result = {0, 0, before, prefix.all.mass};
  __syncthreads();
  Sums sums{before.count + prefix.before.count, before.mass + prefix.before.mass};
#pragma unroll
  for (uint32_t i = 0; i < bins_of_thread; ++i) {
    const Sums next{sums.count + own.counts[i], sums.mass + own.masses[i]};
    if (!target.reached(sums) && target.reached(next))
      result = {threadIdx.x * bins_of_thread + i, own.counts[i], sums, prefix.all.mass};
    sums = next;
  }
  __syncthreads();
  const Crossing found = result;
  __syncthreads();
  return found;
}

struct Chosen {
  uint32_t number, count;  // how many have it
  Sums before;             // of all with larger numbers
};

// Logits in a list: their numbers, and their places in the row.
struct ListedLogits {
  const uint2* list;
  uint32_t length;
  float most, temperature;

  __device__ uint64_t mass(uint32_t number) const {
    return mass_of(from_ordered(number), most, temperature);
  }

  // Of the keys from low to high, which look(entry, key, mass) tells of those that count, the largest with which the
  // target is reached.
  template <class Look>
  __device__ Chosen narrow(uint32_t low, uint32_t high, Sums before, const Target& target,
                           Look look) const {
    uint32_t shift = 0;
    while ((high - low) >> shift >= sample_bins) ++shift;
    for (;;) {
      const BinSums own = fill(low, high, shift, look);
      const Crossing found = find_crossing(own, before, [&](uint64_t) { return target; });
      before = found.before;
      high -= found.bin << shift;
      const uint32_t width = (1u << shift) - 1;
      low = high - low > width ? high - width : low;
      if (shift == 0) return {high, found.count, before};
      constexpr uint32_t bin_bits = 11;
      static_assert(1u << bin_bits == sample_bins);
      shift = shift > bin_bits ? shift - bin_bits : 0;
    }
  }

  // A few at a time, so that the masses of shared memory hold their sums.
  template <class Look>
  __device__ BinSums fill(uint32_t low, uint32_t high, uint32_t shift, Look look) const {
    BinSums own;
    Bins::clear();
    for (uint32_t begin = 0; begin < length; begin += Bins::most_at_once) {
      const uint32_t rest = length - begin,
                     end = begin + (rest < Bins::most_at_once ? rest : Bins::most_at_once);
#pragma unroll 4
      for (uint32_t i = begin + threadIdx.x; i < end; i += sample_threads) {
        uint32_t key;
        uint64_t weight;
        if (look(list[i], key, weight) && key >= low && key <= high)
          Bins::add((high - key) >> shift, weight);
      }
      __syncthreads();
#pragma unroll
      for (uint32_t i = 0; i < bins_of_thread; ++i) {
        const uint32_t bin = threadIdx.x * bins_of_thread + i;
        own.counts[i] += Bins::counts()[bin];
        own.masses[i] += Bins::mass(bin);
      }
      __syncthreads();
      if (end < length) Bins::clear();
    }
    return own;
  }

  // Where there are few: each thread finds out what comes before its own, and so whether it is the one. `wanted_of` is told
  // the mass of the first `kept`, or 0 where the list does not reach so far.
  template <class WantedOf>
  __device__ uint32_t draw_by_ranks(Sums before, uint32_t kept, WantedOf wanted_of) const {
    struct Entry {
      uint32_t number, place;
      uint64_t mass;
    };
    static_assert(sizeof(Entry) * few_logits <= Bins::place && few_logits <= sample_threads);
    auto* all = reinterpret_cast<Entry*>(shared_memory());
    auto* kept_mass = reinterpret_cast<uint64_t*>(Bins::counts());
    auto* drawn = Bins::counts() + 2;
    const bool exists = threadIdx.x < length;
    Entry mine{};
    if (exists) {
      const uint2 own = list[threadIdx.x];
      all[threadIdx.x] = mine = {own.x, own.y, mass(own.x)};
    }
    if (threadIdx.x == 0) *kept_mass = 0, *drawn = mine.place;
    __syncthreads();
    for (uint32_t i = 0; i < length; ++i) {
      const Entry other = all[i];
      const bool first =
          other.number > mine.number || (other.number == mine.number && other.place < mine.place);
      before.count += first;
      before.mass += first ? other.mass : 0;
    }
    const uint64_t after = before.mass + mine.mass;
    if (exists && before.count + 1 == kept) *kept_mass = after;
    __syncthreads();
    const double wanted = wanted_of(*kept_mass);
    if (exists && before.count < kept && static_cast<double>(before.mass) < wanted &&
        wanted <= static_cast<double>(after))
      *drawn = mine.place;
    __syncthreads();
    return *drawn;
  }

  // By number. `before`: what is larger than all in the list.
  __device__ Chosen choose(const Sums& before, const Target& target) const {
    uint32_t low = UINT32_MAX, high = 0;
    for (uint32_t i = threadIdx.x; i < length; i += sample_threads) {
      const uint32_t number = list[i].x;
      low = number < low ? number : low;
      high = number > high ? number : high;
    }
    low = over_block(low, [](uint32_t a, uint32_t b) { return a < b ? a : b; });
    high = over_block(high, [](uint32_t a, uint32_t b) { return a > b ? a : b; });
    return narrow(low, high, before, target, [&](uint2 entry, uint32_t& key, uint64_t& weight) {
      key = entry.x;
      weight = mass(key);
      return true;
    });
  }
  // Of those with this number the `nth` (from 0) as they lie.
  __device__ uint32_t place_of(const Chosen& chosen, uint32_t nth) const {
    if (chosen.count == 1) return only_place(chosen.number);
    const Target target{nth + 1, 0, true};
    const auto look = [&](uint2 entry, uint32_t& key, uint64_t& weight) {
      key = ~entry.y;
      weight = 0;
      return entry.x == chosen.number;
    };
    return ~narrow(~(most_logits - 1), ~0u, {0, 0}, target, look).number;
  }
  __device__ uint32_t only_place(uint32_t number) const {
    auto& place = *reinterpret_cast<uint32_t*>(shared_memory());
    for (uint32_t i = threadIdx.x; i < length; i += sample_threads)
      if (list[i].x == number) place = list[i].y;
    __syncthreads();
    return place;
  }
};

// What a draw asks for: of the kept mass, at most topp of the whole.
__device__ inline double wanted_mass(const SampleOptions& options, uint64_t whole, uint64_t kept) {
  const double limit = static_cast<double>(whole) * static_cast<double>(options.topp),
               all = static_cast<double>(kept);
  return static_cast<double>(options.random_val) * (all < limit ? all : limit);
}

}  // namespace infini::gpu
