// Drawing a token, in launches of many blocks: the largest logit; how many logits and how much mass each bin of distances
// from it has; the logits of the bin in which the sum reaches what is wanted; and which of them. Masses are whole numbers
// of 2^-40, so that sums are the same in any order. Nothing is sorted.
#pragma once

#include "backends/gpu/operators/sample_schedule.h"
#include "backends/gpu/operators/select.cuh"

namespace infini::gpu {

// The options of a launch's rows, of which the first is row `first` of the plan.
struct SampleRows {
  SampleOptions options[most_sample_rows];
  uint32_t first;
};

// A row as all kernels see it.
struct SampledRow {
  uint32_t number, part;  // of the launch's rows; this block's part of it
  SampleOptions options;
  char* space;
  SampleSchedule at;

  __device__ SampledRow(const SampleRows& rows, const SampleSchedule& schedule, char* workspace,
                        uint32_t parts)
      : number(blockIdx.x / parts),
        part(blockIdx.x % parts),
        options(rows.options[number]),
        space(workspace + number * schedule.bytes),
        at(schedule) {}

  __device__ uint64_t* largest() const { return reinterpret_cast<uint64_t*>(space + at.largest); }
  __device__ uint64_t* masses() const { return reinterpret_cast<uint64_t*>(space + at.masses); }
  __device__ uint32_t* counts() const { return reinterpret_cast<uint32_t*>(space + at.counts); }
  __device__ SampleState& state() const {
    return *reinterpret_cast<SampleState*>(space + at.state);
  }
  __device__ uint2* list() const { return reinterpret_cast<uint2*>(space + at.list); }

  // The largest logit's number, and its first place behind it: of those with most in the upper half the least place.
  __device__ uint64_t most_and_place() const {
    uint64_t mine = 0;
    for (uint32_t i = threadIdx.x; i < at.parts; i += sample_threads)
      mine = mine > largest()[i] ? mine : largest()[i];
    return over_block(mine, [](uint64_t a, uint64_t b) { return a > b ? a : b; });
  }
};

// body(logit, its place) for this thread's logits of the block's part; those behind the row's end have none.
template <class T, class Body>
__device__ void each_of_part(const char* logits, int64_t step, uint32_t length, uint32_t part,
                             Body body) {
  constexpr uint32_t each = part_logits / sample_threads;
  float x[each];
#pragma unroll
  for (uint32_t k = 0; k < each; ++k) {
    const uint32_t i = part * part_logits + k * sample_threads + threadIdx.x;
    if (i < length) x[k] = static_cast<float>(element<T>(logits, step, i));
  }
#pragma unroll
  for (uint32_t k = 0; k < each; ++k) {
    const uint32_t i = part * part_logits + k * sample_threads + threadIdx.x;
    if (i < length) body(x[k], i);
  }
}

__device__ inline bool draws(const SampleOptions& options, uint32_t most) {
  return !is_greedy(options) && most != 0;
}
// How many of a row's logits are kept.
__device__ inline uint32_t kept_count(const SampleOptions& options, uint32_t length) {
  return options.topk <= 0 || static_cast<uint32_t>(options.topk) > length
             ? length
             : static_cast<uint32_t>(options.topk);
}

__device__ inline uint32_t bin_of(float x, float most) {
  if (x == most) return 0;
  return x != x ? bin_of_nan : bin_of_distance(bits_of(most - x));
}

// First: each part's largest logit. What the next kernels add to begins at 0.
template <class T>
__global__ void __launch_bounds__(operator_threads)
    find_largest(const __grid_constant__ RowNest nest, RowPointers base,
                 const __grid_constant__ SampleRows rows, SampleSchedule schedule,
                 char* workspace) {
  wait_for_predecessor();
  const SampledRow row(rows, schedule, workspace, schedule.parts);
  uint32_t index;
  const auto place = place_operator_row<2>(nest, base, rows.first + row.number, index);
  for (uint32_t i = row.part * sample_threads + threadIdx.x; i < sample_bins;
       i += schedule.parts * sample_threads)
    row.masses()[i] = 0, row.counts()[i] = 0;
  if (row.part == 0 && threadIdx.x == 0) row.state().found[0] = row.state().found[1] = 0;
  uint64_t most = 0;
  each_of_part<T>(place.at[1], nest.row_steps[1], nest.length, row.part, [&](float x, uint32_t i) {
    const uint64_t mine = uint64_t{ordered(x)} << 32 | ~i;
    most = most > mine ? most : mine;
  });
  most = over_block(most, [](uint64_t a, uint64_t b) { return a > b ? a : b; });
  if (threadIdx.x == 0) row.largest()[row.part] = most;
}

// Second: how many logits each bin has, and their mass. A block's are added up in shared memory.
template <class T>
__global__ void __launch_bounds__(operator_threads)
    fill_bins(const __grid_constant__ RowNest nest, RowPointers base,
              const __grid_constant__ SampleRows rows, SampleSchedule schedule, char* workspace) {
  wait_for_predecessor();
  const SampledRow row(rows, schedule, workspace, schedule.parts);
  const auto most = static_cast<uint32_t>(row.most_and_place() >> 32);
  if (row.part == 0 && threadIdx.x == 0) row.state().most = most;
  if (!draws(row.options, most)) return;
  uint32_t index;
  const auto place = place_operator_row<2>(nest, base, rows.first + row.number, index);
  const float largest = from_ordered(most);
  Bins bins;
  bins.clear();
  each_of_part<T>(place.at[1], nest.row_steps[1], nest.length, row.part, [&](float x, uint32_t) {
    bins.add(bin_of(x, largest), mass_of(x, largest, row.options.temperature));
  });
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < sample_bins; i += sample_threads) {
    const uint32_t count = bins.counts()[i];
    if (count == 0) continue;
    add_to(&row.counts()[i], count);
    if (const uint64_t mass = bins.mass(i); mass != 0) add_to(&row.masses()[i], mass);
  }
}

// Slots of the list for those that a block's threads found: one addition to global memory for all of them.
struct Listing {
  uint32_t* all;
  uint32_t mine = 0;
  __device__ explicit Listing(uint32_t* found) : all(found) {}
  __device__ void count(bool found) { mine += found; }
  __device__ uint32_t first_slot() const {
    const Prefix prefix = sums_before({mine, 0});
    auto& first = *reinterpret_cast<uint32_t*>(shared_memory());
    if (threadIdx.x == 0) first = prefix.all.count == 0 ? 0 : add_to(all, prefix.all.count);
    __syncthreads();
    return first + prefix.before.count;
  }
};

// Third: the logits of the bin that the sum of counts (round 0) or of masses (round 1) reaches the wanted one in.
template <class T>
__global__ void __launch_bounds__(operator_threads)
    gather_bin(const __grid_constant__ RowNest nest, RowPointers base,
               const __grid_constant__ SampleRows rows, SampleSchedule schedule, char* workspace,
               int round) {
  wait_for_predecessor();
  const SampledRow row(rows, schedule, workspace, schedule.parts);
  SampleState& state = row.state();
  const uint32_t kept = kept_count(row.options, nest.length), most = state.most;
  const bool limited = kept < nest.length;
  if (!draws(row.options, most) || (round == 0 && !limited)) return;
  if (round == 1 && limited && state.few != 0) return;
  BinSums own;
#pragma unroll
  for (uint32_t i = 0; i < bins_of_thread; ++i) {
    own.counts[i] = row.counts()[threadIdx.x * bins_of_thread + i];
    own.masses[i] = row.masses()[threadIdx.x * bins_of_thread + i];
  }
  const Crossing found = find_crossing(own, {0, 0}, [&](uint64_t whole) {
    const double wanted = round == 0 ? 0
                          : limited  ? state.wanted
                                     : wanted_mass(row.options, whole, whole);
    return Target{kept, wanted, round == 0};
  });
  const bool few = round == 0 && found.before.count + found.count <= few_logits;
  if (row.part == 0 && threadIdx.x == 0) {
    state.before_count[round] = few ? 0 : found.before.count;
    state.before_mass[round] = few ? 0 : found.before.mass;
    state.whole = found.whole;
    if (round == 0) state.few = few;
    if (!limited) {
      state.wanted = wanted_mass(row.options, found.whole, found.whole);
      state.least = state.ties = 0;
    }
  }
  uint32_t index;
  const auto place = place_operator_row<2>(nest, base, rows.first + row.number, index);
  const float largest = from_ordered(most);
  const auto is_listed = [&](float x) {
    const uint32_t bin = bin_of(x, largest);
    return few ? bin <= found.bin : bin == found.bin;
  };
  Listing listing(&state.found[round]);
  each_of_part<T>(place.at[1], nest.row_steps[1], nest.length, row.part,
                  [&](float x, uint32_t) { listing.count(is_listed(x)); });
  uint32_t slot = listing.first_slot();
  each_of_part<T>(place.at[1], nest.row_steps[1], nest.length, row.part, [&](float x, uint32_t i) {
    if (is_listed(x)) row.list()[slot++] = make_uint2(ordered(x), i);
  });
}

// The least logit that is kept, and with it what is wanted of their mass.
__device__ inline void find_least(const ListedLogits& list, const SampleOptions& options,
                                  uint32_t kept, SampleState& state) {
  const Sums before{state.before_count[0], state.before_mass[0]};
  const Chosen chosen = list.choose(before, {kept, 0, true});
  if (threadIdx.x != 0) return;
  state.least = chosen.number;
  state.ties = kept - chosen.before.count;
  state.wanted =
      wanted_mass(options, state.whole, chosen.before.mass + list.mass(chosen.number) * state.ties);
}

// The token at which the sum reaches what is wanted.
__device__ inline uint32_t find_token(const ListedLogits& list, uint32_t kept,
                                      const SampleState& state) {
  const Sums before{state.before_count[1], state.before_mass[1]};
  const double wanted = state.wanted;
  if (list.length <= few_logits)
    return list.draw_by_ranks(before, kept, [=](uint64_t) { return wanted; });
  const Chosen chosen = list.choose(before, {kept, wanted, false});
  const uint64_t each = list.mass(chosen.number);
  // As many of equal ones as are needed, at least one.
  const double missing = wanted - static_cast<double>(chosen.before.mass),
               needed = each > 0 ? ceil(missing / static_cast<double>(each)) : 1.0;
  uint32_t nth = needed <= 1 ? 0 : static_cast<uint32_t>(needed) - 1;
  if (chosen.number == state.least && state.ties > 0 && nth >= state.ties) nth = state.ties - 1;
  if (nth >= chosen.count) nth = chosen.count - 1;
  return list.place_of(chosen, nth);
}

// Fourth, one block for each row: which of them. Round 0 finds the least logit that is kept (and the token, where only few
// are), round 1 the token.
static __global__ void __launch_bounds__(operator_threads)
    decide(const __grid_constant__ RowNest nest, RowPointers base,
           const __grid_constant__ SampleRows rows, SampleSchedule schedule, char* workspace,
           int round) {
  wait_for_predecessor();
  const SampledRow row(rows, schedule, workspace, 1);
  SampleState& state = row.state();
  const SampleOptions& options = row.options;
  const uint32_t kept = kept_count(options, nest.length);
  const bool limited = kept < nest.length, greedy = is_greedy(options);
  uint32_t token = 0;  // also where nothing is a number
  if (round == 0 && (greedy || !limited)) return;
  if (greedy) {
    token = ~static_cast<uint32_t>(row.most_and_place());
  } else if (const uint32_t most = state.most; most != 0) {
    const bool few = limited && state.few != 0;
    if (round == 1 && few) return;
    const ListedLogits list{row.list(), state.found[round], from_ordered(most),
                            options.temperature};
    if (few)
      token = list.draw_by_ranks({0, 0}, kept, [&](uint64_t kept_mass) {
        return wanted_mass(options, state.whole, kept_mass);
      });
    else if (round == 0)
      return find_least(list, options, kept, state);
    else
      token = find_token(list, kept, state);
  } else if (round == 0) {
    return;
  }
  uint32_t index;
  const auto place = place_operator_row<2>(nest, base, rows.first + row.number, index);
  if (threadIdx.x == 0) put_integer(place.at[0], nest.dtypes[0], token);
}

}  // namespace infini::gpu
