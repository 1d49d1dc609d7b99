// The host interpreter of planes, transpose and shift schedules; see schedule_interpreter.cpp.
#include <algorithm>

#include "backends/gpu/rearrange/interpreter.h"

namespace infini::gpu {
namespace {

int misalignment(int64_t address) { return static_cast<int>(address & (vector_bytes - 1)); }

}  // namespace

// The address of column first_column of a row.
int64_t Interpreter::transpose_row(const TransposeSchedule& s, const TransposePlace& place,
                                   uint32_t row) const {
  const uint32_t position = place.window_begin - s.lead_rows + row;
  return src_base_ + place.src + int64_t{place.first_column} * s.unit +
         chain_step(s.position, s.position_depth, position);
}

void Interpreter::load_transposed(const TransposeSchedule& s, const TransposePlace& place,
                                  uint32_t number) {
  const ThreadPlace thread = place_thread(number, s.row_lanes);
  if (thread.run >= s.row_threads) return;
  const auto bytes = static_cast<int32_t>(place.columns) * s.unit;
  for (uint32_t row = thread.run; row < place.row_end; row += s.row_threads) {
    if (row < place.row_begin) continue;
    const int64_t start = transpose_row(s, place, row);
    const int shift = misalignment(start);
    if (s.rows_even && shift != 0) fault("a row is uneven");
    const int32_t at = static_cast<int32_t>(thread.vector) * vector_bytes - shift;
    if (at >= bytes) continue;
    const int64_t from = start + at, image = transpose_place(s, place, row) + at;
    if (image + vector_bytes > s.rows_at) fault("image reaches into the steps");
    load_vector(s.unit, image, from, -at, bytes - at,
                reads_stay_inside(s, place) || (from >= src_base_ + s.src_begin &&
                                                from + vector_bytes <= src_base_ + s.src_end));
  }
}

// Where the image of a row begins.
int64_t Interpreter::transpose_place(const TransposeSchedule& s, const TransposePlace& place,
                                     uint32_t row) const {
  return transpose_image(s, row) +
         image_shift(s, row, static_cast<uintptr_t>(transpose_row(s, place, row)));
}

// The same of the row k behind this one, as the kernel finds it for uneven rows of short units.
int32_t Interpreter::parted_place(const TransposeSchedule& s, const TransposePlace& place,
                                  uint32_t row, int k) const {
  if (s.position_depth == 1) {
    const auto shift = static_cast<uint32_t>(transpose_place(s, place, 0) - transpose_image(s, 0));
    return skewed_parts(s, row, shift)(k);
  }
  const auto image_of = [&](uint32_t i) {
    const bool loaded = i >= place.row_begin && i < place.row_end;
    const int64_t start = loaded ? transpose_row(s, place, i) : src_base_ + place.src;
    return place_row_image(s, place, i, static_cast<uintptr_t>(start));
  };
  return listed_parts(s, row, image_of)(k);
}

// One vector of the window of column c's run.
void Interpreter::store_window(const TransposeSchedule& s, const TransposePlace& place,
                               uint32_t vector, uint32_t c) {
  const auto units = static_cast<uint32_t>(vector_bytes / s.unit);
  const int64_t run =
      dst_base_ + place.dst + chain_step(s.column, s.column_depth, place.first_column + c);
  const uint32_t lead = s.lead_rows == 0 ? 0 : window_lead(s, static_cast<uintptr_t>(run));
  const uint32_t row = vector * units + s.lead_rows - lead;
  const int64_t first = int64_t{place.window_begin} + vector * units - lead;
  const uint32_t turn = rows_to_turn(s, place, row);
  store_vector(s.positions, s.unit, run + first * s.unit, first, [&](int k) {
    const uint32_t at = row + static_cast<uint32_t>(k);
    const int64_t image = transpose_place(s, place, at);
    // What the kernel takes for granted: shifts change at most once.
    const uint32_t same = at - row < turn ? (first < 0 ? at : row) : row + turn;
    if (s.pieces_long && first + k >= 0 &&
        image - transpose_image(s, at) !=
            transpose_place(s, place, same) - transpose_image(s, same))
      fault("shifts change inside a piece");
    const bool parted = s.unit < 4 && !s.rows_even && s.pieces_long && s.lead_rows > 0 &&
                        (s.position_depth == 1 || s.group_skew == 0);
    if (parted && first + k >= 0 && first + k < s.positions &&
        parted_place(s, place, row, k) != image)
      fault("a row is not where its parts say");
    return image + c * s.unit;
  });
}

void Interpreter::store_transposed(const TransposeSchedule& s, const TransposePlace& place,
                                   uint32_t number) {
  const ThreadPlace thread = place_thread(number, s.run_lanes);
  if (thread.run >= s.run_threads) return;
  const auto runs = static_cast<uint32_t>(s.by_words ? 4 / s.unit : 1);  // of a thread
  for (uint32_t group = thread.run * runs; group < place.columns; group += s.run_threads * runs) {
    if (s.by_words && (group + runs > place.columns || s.lead_rows > 0 || !s.rows_even))
      fault("the runs of a word do not lie side by side");
    for (uint32_t c = group; c < group + runs; ++c) store_window(s, place, thread.vector, c);
  }
}

void Interpreter::run(const TransposeSchedule& s) {
  const int64_t rows = s.position_depth > 1 ? transpose_rows(s) * int64_t{sizeof(int64_t)} : 0;
  const int64_t runs = s.column_depth > 1 ? s.stretch * int64_t{sizeof(int64_t)} : 0;
  if (s.rows_at % 8 != 0 || s.rows_at + rows > s.runs_at || s.runs_at + runs > s.shared_bytes)
    fault("steps overlap in shared memory");
  for (uint32_t tile = 0; tile < s.tiles; ++tile) {
    shared_.assign(s.shared_bytes, -1);
    const TransposePlace place = place_transpose(s, tile);
    for (uint32_t thread = 0; thread < transpose_threads; ++thread)
      load_transposed(s, place, thread);
    for (uint32_t thread = 0; thread < transpose_threads; ++thread)
      store_transposed(s, place, thread);
  }
}

// Between the interleaved side and shared memory, where its first byte lies at 0.
void Interpreter::move_interleaved(const PlanesSchedule& s, const PlanesPlace& place, uint32_t at) {
  const auto bytes = place.units * static_cast<uint32_t>(s.planes * s.unit);
  const int64_t begin = int64_t{place.first} * s.unit * s.planes;
  const int word = at + vector_bytes <= bytes ? vector_bytes : s.unit;
  for (uint32_t k = at; k < std::min(at + vector_bytes, bytes); k += static_cast<uint32_t>(word)) {
    if (s.joins)
      store(dst_base_ + place.dst + begin + k, get_shared(k, word));
    else
      put_shared(k, load(src_base_ + place.src + begin + k, word));
  }
}

// A chunk between shared memory and its planes. A partial one moves unit by unit.
void Interpreter::move_chunk(const PlanesSchedule& s, const PlanesPlace& place, uint32_t chunk) {
  const auto units = static_cast<uint32_t>(vector_bytes / s.unit);
  if (chunk * units >= place.units) return;
  const bool whole = chunk * units + units <= place.units;
  const int64_t plane = int64_t{place.first} * s.unit + int64_t{chunk} * vector_bytes;
  const int64_t shared = int64_t{chunk} * s.planes * vector_bytes;
  const int word = whole ? vector_bytes : s.unit;
  const auto count = whole ? units : place.units - chunk * units;
  Bytes in;  // the side that is read, as chunk_source() counts
  for (int k = 0; k < s.planes; ++k)
    for (int at = 0; at < vector_bytes; at += word) {
      const int64_t number = k * vector_bytes + at;
      Bytes piece(static_cast<size_t>(word), -1);
      if (s.joins && at < static_cast<int>(count) * s.unit)
        piece = load(src_base_ + place.src + k * s.plane_step + plane + at, word);
      if (!s.joins && number < int64_t{count} * s.planes * s.unit)
        piece = get_shared(shared + number, word);
      in.insert(in.end(), piece.begin(), piece.end());
    }
  for (int k = 0; k < s.planes; ++k)
    for (int at = 0; at < vector_bytes; at += word) {
      const int number = k * vector_bytes + at;
      Bytes out;
      for (int b = 0; b < word; ++b)
        out.push_back(in[static_cast<size_t>(chunk_source(s.unit, s.planes, s.joins, number + b))]);
      if (s.joins && number < static_cast<int>(count) * s.planes * s.unit)
        put_shared(shared + number, out);
      if (!s.joins && at < static_cast<int>(count) * s.unit)
        store(dst_base_ + place.dst + k * s.plane_step + plane + at, out);
    }
}

void Interpreter::run(const PlanesSchedule& s) {
  for (uint32_t block = 0; block < s.blocks; ++block) {
    shared_.assign(s.shared_bytes, -1);
    const PlanesPlace place = place_planes(s, block);
    const auto bytes = place.units * static_cast<uint32_t>(s.planes * s.unit);
    for (const bool chunks : {s.joins != 0, s.joins == 0}) {
      for (uint32_t at = 0; !chunks && at < bytes; at += vector_bytes)
        move_interleaved(s, place, at);
      for (uint32_t chunk = 0; chunks && chunk < block_chunks; ++chunk) move_chunk(s, place, chunk);
    }
  }
}

void Interpreter::load_image(const ShiftSchedule& s, const ShiftRow& row, int64_t image,
                             uint32_t vector) {
  const int32_t at = static_cast<int32_t>(vector) * vector_bytes -
                     image_lead(row, static_cast<uintptr_t>(src_base_));
  if (has_some(row, at))
    load_vector(s.unit, image + int64_t{vector} * vector_bytes, src_base_ + row.from + at,
                row.begin - at, row.end - at, has_all(row, at) || vector_inside(s, row.from + at));
}

// `held`: what the image holds.
void Interpreter::store_shifted(const ShiftSchedule& s, const ShiftRow& row, const ShiftRow& held,
                                int64_t image, uint32_t vector) {
  const auto at = static_cast<int32_t>(vector) * vector_bytes;
  if (!has_some(row, at)) return;
  const int64_t from =
      image + at + image_lead(held, static_cast<uintptr_t>(src_base_)) + row.from - held.from;
  const int shift = misalignment(from);
  Bytes both = get_shared(from - shift, vector_bytes);
  const Bytes high = get_shared(from - shift + vector_bytes, vector_bytes);
  both.insert(both.end(), high.begin(), high.end());
  const auto value = both.begin() + shift;
  const int64_t to = dst_base_ + row.to + at;
  if (has_all(row, at)) return store(to, Bytes(value, value + vector_bytes));
  for (int k = 0; k < vector_bytes; k += s.unit)
    if (at + k >= row.begin && at + k < row.end)
      store(to + k, Bytes(value + k, value + k + s.unit));
}

void Interpreter::run(const ShiftSchedule& s) {
  const int64_t image_bytes = int64_t{s.image_vectors.divisor} * vector_bytes;
  const bool shared = s.images < s.rows_per_block;
  if (s.images * image_bytes + (s.rows_per_block + shared) * int64_t{sizeof(ShiftRow)} >
          s.shared_bytes ||
      s.rows_per_block > shift_threads)
    fault("too little shared memory");
  for (uint32_t number = 0; number < s.blocks; ++number) {
    shared_.assign(s.shared_bytes, -1);
    const ShiftBlock block = place_shift(s, number);
    for (uint32_t r = 0; r < block.rows; ++r) {
      const ShiftRow row =
          place_shift_row(s, block.first_row + r, block.skipped, static_cast<uintptr_t>(dst_base_));
      const ShiftRow held = place_image(s, row, block.first_row, block.skipped);
      const int64_t image = shared ? 0 : r * image_bytes;
      if (!shared || r == 0)
        for (uint32_t v = 0; v < s.image_vectors.divisor; ++v) load_image(s, held, image, v);
      for (uint32_t v = 0; v < s.vectors.divisor; ++v) store_shifted(s, row, held, image, v);
    }
  }
}

}  // namespace infini::gpu
