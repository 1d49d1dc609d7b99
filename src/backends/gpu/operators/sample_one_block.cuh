// Drawing a token from more logits than a launch of many blocks draws from: one block for each row. Without sorting: where the sum in descending order reaches a mass is found by
// halving the range of the logits, as integers that are ordered as they are. All sums are taken in a fixed order.
#pragma once

#include "backends/gpu/operators/select.cuh"

namespace infini::gpu {

template <class T>
struct LongRow {
  const char* logits;
  int64_t step;
  uint32_t length;
  float most, temperature;

  __device__ float logit(uint32_t i) const {
    return static_cast<float>(element<T>(logits, step, i));
  }
  // body(logit, its place) for this thread's logits.
  template <class Body>
  __device__ void each(Body body) const {
    for (uint32_t i = threadIdx.x; i < length; i += operator_threads) body(logit(i), i);
  }
  // The largest has 1, also where it is infinite. In f32: what is drawn does not depend on its last bits.
  __device__ float mass(float x) const {
    return x == most ? 1.0f : x != x ? 0.0f : exp((x - most) / temperature);
  }
  // Over all logits whose number is at least `least`: their mass, and how many they are.
  __device__ double mass_from(uint32_t least) const {
    double sum = 0;
    each([&](float x, uint32_t) {
      if (ordered(x) >= least) sum += static_cast<double>(mass(x));
    });
    return over_block(sum, [](double a, double b) { return a + b; });
  }
  __device__ uint32_t count_from(uint32_t least) const {
    uint32_t found = 0;
    each([&](float x, uint32_t) { found += ordered(x) >= least; });
    return over_block(found, [](uint32_t a, uint32_t b) { return a + b; });
  }
  // The largest number for which `enough` holds; it holds for 0 and for none beyond one for which it does not.
  template <class Enough>
  __device__ uint32_t last(Enough enough) const {
    uint32_t found = 0;
    for (uint32_t bit = 0x80000000u; bit != 0; bit >>= 1)
      if (enough(found | bit)) found |= bit;
    return found;
  }
  // How many tokens before the place `end` have this number.
  __device__ uint32_t count_before(uint32_t end, uint32_t number) const {
    uint32_t found = 0;
    each([&](float x, uint32_t i) { found += i < end && ordered(x) == number; });
    return over_block(found, [](uint32_t a, uint32_t b) { return a + b; });
  }
  // The one with this number that is the `nth` (from 0) as they lie, or the last: the last place before which there are at
  // most nth. There is one, and equal logits may be all there are: their places are halved, too.
  __device__ uint32_t nth_of(uint32_t number, uint32_t nth) const {
    const uint32_t all = count_before(length, number);
    if (nth >= all) nth = all - 1;
    return last(
        [&](uint32_t place) { return place < length && count_before(place, number) <= nth; });
  }
};

template <class T>
__global__ void __launch_bounds__(operator_threads)
    sample_long_row(const __grid_constant__ RowNest nest, RowPointers base, uint32_t number,
                    SampleOptions options) {
  wait_for_predecessor();
  uint32_t index;
  const auto place = place_operator_row<2>(nest, base, number, index);
  LongRow<T> row{place.at[1], nest.row_steps[1], nest.length, 0, options.temperature};
  uint32_t most = 0;
  row.each([&](float x, uint32_t) { most = ordered(x) > most ? ordered(x) : most; });
  most = over_block(most, [](uint32_t a, uint32_t b) { return a > b ? a : b; });
  uint32_t wanted_number = most, nth = 0;
  if (!is_greedy(options) && most != 0) {
    row.most = from_ordered(most);
    const double whole = row.mass_from(0);
    const uint32_t topk = options.topk <= 0 || static_cast<uint32_t>(options.topk) > row.length
                              ? row.length
                              : static_cast<uint32_t>(options.topk);
    double kept = whole;
    uint32_t least = 0, ties = 0;  // of the kept: the least number, and how many of it are kept
    if (topk < row.length) {
      least = row.last([&](uint32_t n) { return row.count_from(n) >= topk; });
      const uint32_t above = least == UINT32_MAX ? 0 : row.count_from(least + 1);
      ties = topk - above;
      kept = (least == UINT32_MAX ? 0.0 : row.mass_from(least + 1)) +
             ties * (least == 0 ? 0.0 : static_cast<double>(row.mass(from_ordered(least))));
    }
    const double limit = whole * static_cast<double>(options.topp);
    const double wanted = static_cast<double>(options.random_val) * (kept < limit ? kept : limit);
    wanted_number = row.last([&](uint32_t n) { return row.mass_from(n) >= wanted; });
    if (wanted_number < least) wanted_number = least;
    const double before = wanted_number == UINT32_MAX ? 0.0 : row.mass_from(wanted_number + 1);
    const double each =
        wanted_number == 0 ? 0.0 : static_cast<double>(row.mass(from_ordered(wanted_number)));
    // As many of equal ones as are needed, at least one.
    const double needed = each > 0 ? ceil((wanted - before) / each) : 1.0;
    nth = needed <= 1 ? 0 : static_cast<uint32_t>(needed) - 1;
    if (wanted_number == least && ties > 0 && nth >= ties) nth = ties - 1;
  }
  const uint32_t token = row.nth_of(wanted_number, nth);
  if (threadIdx.x == 0) put_integer(place.at[0], nest.dtypes[0], token);
}

}  // namespace infini::gpu
