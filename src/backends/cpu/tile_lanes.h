// The transpose that every panel kernel is made of: L x L words inside each 16-byte lane.
#pragma once

namespace infini::cpu {

// A perfect-shuffle network: log2 L rounds of zips transpose every lane.
template <class V, int word>
inline void transpose_lanes(typename V::type* v) {
  constexpr int L = 16 / word;
  for (int round = 1; round < L; round *= 2) {
    typename V::type w[L];
    for (int i = 0; i < L / 2; ++i) {
      w[2 * i] = V::template zip_low<word>(v[i], v[i + L / 2]);
      w[2 * i + 1] = V::template zip_high<word>(v[i], v[i + L / 2]);
    }
    for (int i = 0; i < L; ++i) v[i] = w[i];
  }
}

}  // namespace infini::cpu
