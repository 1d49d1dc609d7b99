// The transposes that panel kernels are made of: L x L words inside each 16-byte lane.
//
// Always inlined, or the arrays of vectors would be memory instead of registers.
#pragma once

namespace infini::cpu {

// A perfect-shuffle network: log2 L rounds of zips transpose every lane.
template <class V, int word>
[[gnu::always_inline]] inline void transpose_lanes(typename V::type* v) {
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

// Two blocks side by side from loads of 32 bytes, half as many: a vector r of `low` holds rows r and
// r + L, one of `high` rows r + 2 L and r + 3 L. After the transposes their even lanes are the
// columns of the first block, the odd lanes those of the second.
template <class V, int word, class PlaceOfRow>
[[gnu::always_inline]] inline void load_two_blocks(typename V::type* v, PlaceOfRow row) {
  constexpr int L = 16 / word;
  typename V::type low[L], high[L];
  for (int r = 0; r < L; ++r) low[r] = V::gather_pair(row(r), row(r + L));
  if constexpr (L > 1) transpose_lanes<V, word>(low);
  for (int r = 0; r < L; ++r) high[r] = V::gather_pair(row(r + 2 * L), row(r + 3 * L));
  if constexpr (L > 1) transpose_lanes<V, word>(high);
  for (int c = 0; c < L; ++c) {
    v[c] = V::even_lanes(low[c], high[c]);
    v[c + L] = V::odd_lanes(low[c], high[c]);
  }
}

}  // namespace infini::cpu
