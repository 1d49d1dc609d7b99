// The fill kernel's control flow over memory that is checked byte by byte.
#include "backends/gpu/rearrange/interpreter.h"

namespace infini::gpu {

void Interpreter::list_runs(const FillSchedule& s, const FillBlock& block) {
  const int bytes = listed_bytes(s.unit);
  for (uint32_t i = 0; i < block.stretches * s.listed.divisor; ++i) {
    const uint32_t stretch = divide(i, s.listed), run = i - stretch * s.listed.divisor;
    const RowPlace place = place_row(s, listed_run(s, block, stretch, run));
    const Bytes value = load(src_base_ + place.src, s.unit);
    Bytes listed;
    while (static_cast<int>(listed.size()) < bytes)
      listed.insert(listed.end(), value.begin(), value.end());
    if (int64_t{i} * bytes + bytes > s.places_at) fault("units reach into the places");
    put_shared(int64_t{i} * bytes, listed);
  }
}

void Interpreter::store_filling(const FillSchedule& s, int64_t units, int64_t to,
                                const FillVector& v) {
  const int bytes = listed_bytes(s.unit);
  Bytes vector;
  for (int k = 0; k < vector_bytes; k += bytes) {
    const int64_t unit = units + int64_t{v.run} * bytes;
    const Bytes a = get_shared(unit, bytes), b = get_shared(unit + bytes, bytes);
    for (int i = 0; i < bytes; ++i)
      vector.push_back((k + i < v.turn ? a : b)[static_cast<size_t>(i)]);
  }
  if (v.end - v.begin == vector_bytes) return store(to, vector);
  for (int k = v.begin; k < v.end; k += s.unit)
    store(to + k, Bytes(vector.begin() + k, vector.begin() + k + s.unit));
}

void Interpreter::run(const FillSchedule& s) {
  for (uint32_t number = 0; number < s.blocks; ++number) {
    shared_.assign(s.shared_bytes, -1);
    const FillBlock block = place_fill(s, number);
    const FillPiece piece = fill_piece(s, block);
    list_runs(s, block);
    if (s.places_at + block.stretches * sizeof(int64_t) > s.piece_at ||
        s.piece_at + sizeof(FillPiece) > s.shared_bytes)
      fault("too little shared memory");
    for (uint32_t i = 0; i < block.stretches * s.vectors.divisor; ++i) {
      const uint32_t stretch = divide(i, s.vectors);
      const int64_t to =
          dst_base_ + place_row(s, listed_run(s, block, stretch, 0)).dst + block.begin;
      const int32_t at = first_fill(block, static_cast<int>(to & (vector_bytes - 1))) +
                         static_cast<int32_t>(i - stretch * s.vectors.divisor) * vector_bytes;
      if (at >= piece.bytes) continue;
      store_filling(s, int64_t{stretch} * s.listed.divisor * listed_bytes(s.unit), to + at,
                    place_vector(s, piece, at));
    }
  }
}

}  // namespace infini::gpu
