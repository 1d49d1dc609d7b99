// The host interpreter of tile schedules.
#include "backends/gpu/rearrange/interpreter.h"

namespace infini::gpu {
namespace {

int misalignment(int64_t address) { return static_cast<int>(address & (vector_bytes - 1)); }
int origin_of(int64_t address) { return before_row(static_cast<uintptr_t>(address)); }

}  // namespace

void Interpreter::load_rows(const TileSchedule& s, const TilePlace& place, uint32_t thread) {
  const int64_t lowest = place.src - place.below;
  const int origin = origin_of(src_base_ + lowest);
  const bool inside = lowest + s.rows_low - vector_bytes >= s.src_begin &&
                      lowest + s.rows_high + place.row_bytes + vector_bytes <= s.src_end;
  const FastDivisor& lanes = s.row_lanes[!s.rows_sectored || origin != 0];
  const ThreadPlace at_start = place_thread(thread, lanes);
  const uint32_t row_threads = divide(tile_threads, lanes);
  if (at_start.run >= row_threads) return;
  const auto lane = static_cast<int32_t>(at_start.vector) * vector_bytes;
  for (uint32_t number = at_start.run; number < static_cast<uint32_t>(place.rows);
       number += row_threads) {
    const WalkPlace row = place_row_image(s, number);
    const int64_t start = src_base_ + lowest + row.step;
    for (int32_t at = lane - before_row(static_cast<uintptr_t>(start)); at < place.row_bytes;
         at += static_cast<int32_t>(lanes.divisor) * vector_bytes) {
      if (!holds_some(at, place.row_bytes)) continue;
      const int64_t from = start + at;
      load_vector(s.unit, origin + row.image + at, from, -at, place.row_bytes - at,
                  inside || (from >= src_base_ + s.src_begin &&
                             from + vector_bytes <= src_base_ + s.src_end));
    }
  }
}

// One vector of a run, written as often as the schedule says.
template <class Offset>
void Interpreter::gather_vector(const TileSchedule& s, const TilePlace& place, int64_t run,
                                int32_t first, const Offset& offset) {
  for (int32_t i = 0; i < place.repeats; ++i)
    store_vector(
        place.run_units, s.unit,
        dst_base_ + place.dst + run + i * s.repeat_step * s.repeats_apart + int64_t{first} * s.unit,
        first, offset);
}

// In columns a thread takes several neighbouring runs, 4 bytes at a time.
void Interpreter::store_runs_linear(const TileSchedule& s, const TilePlace& place,
                                    uint32_t number) {
  const int units = vector_bytes / s.unit;
  const int runs = s.gather == Gather::columns ? 4 / s.unit : 1;
  const ThreadPlace thread = place_thread(s, number);
  int64_t from = origin_of(src_base_ + place.src - place.below) + place.below +
                 static_cast<int32_t>(thread.vector) * s.period_image;
  for (int32_t first = static_cast<int32_t>(thread.vector) * units; first < place.run_units;
       first += static_cast<int32_t>(s.lanes.divisor) * units, from += s.lanes_image)
    for (uint32_t run = thread.run * runs; run < static_cast<uint32_t>(place.runs);
         run += s.run_threads * runs)
      for (int r = 0; r < runs; ++r) {
        const WalkPlace at = place_run(s, run);
        gather_vector(s, place, at.step + r * s.many[0].step, first, [&](int k) {
          const int64_t column = from + at.image + k * s.unit_image;
          if (runs > 1) get_shared(column, 4);
          return column + r * s.unit;
        });
      }
}

// What a thread takes from the table for the vector that begins with this position.
std::vector<int64_t> Interpreter::look_up(const TileSchedule& s, int32_t first) {
  const PreparedVector at = find_vector(s, first);
  std::vector<int64_t> offsets;
  const auto units = static_cast<uint32_t>(vector_bytes / s.unit);
  if (at.entry + units > s.table_units) {
    fault("look-up outside the table");
    return std::vector<int64_t>(units);
  }
  for (uint32_t k = 0; k < units; ++k) offsets.push_back(table_[at.entry + k] + at.image);
  return offsets;
}

void Interpreter::store_runs_prepared(const TileSchedule& s, const TilePlace& place,
                                      uint32_t number) {
  const int units = vector_bytes / s.unit;
  const ThreadPlace thread = place_thread(s, number);
  const int lead = misalignment(dst_base_ + place.dst + place_run(s, thread.run).step) / s.unit;
  const int32_t start = static_cast<int32_t>(thread.vector) * units - lead;
  if (start >= place.run_units) return;
  const std::vector<int64_t> offsets = look_up(s, start);
  int64_t from = origin_of(src_base_ + place.src - place.below) + place.below;
  for (int32_t first = start; first < place.run_units;
       first += static_cast<int32_t>(s.lanes.divisor) * units, from += s.lanes_image)
    for (uint32_t run = thread.run; run < static_cast<uint32_t>(place.runs); run += s.run_threads) {
      const WalkPlace at = place_run(s, run);
      gather_vector(s, place, at.step, first,
                    [&](int k) { return from + at.image + offsets[static_cast<size_t>(k)]; });
    }
}

void Interpreter::store_runs_each(const TileSchedule& s, const TilePlace& place, uint32_t thread) {
  const int units = vector_bytes / s.unit;
  const int64_t from = origin_of(src_base_ + place.src - place.below) + place.below;
  const uint32_t count = static_cast<uint32_t>(place.runs) * s.lanes.divisor;
  for (uint32_t i = thread; i < count; i += tile_threads) {
    const ThreadPlace item = place_thread(s, i);
    const WalkPlace run = place_run(s, item.run);
    const int lead = misalignment(dst_base_ + place.dst + run.step) / s.unit;
    const int32_t first = static_cast<int32_t>(item.vector) * units - lead;
    if (first >= place.run_units) continue;
    const std::vector<int64_t> offsets = look_up(s, first);
    gather_vector(s, place, run.step, first,
                  [&](int k) { return from + run.image + offsets[static_cast<size_t>(k)]; });
  }
}

void Interpreter::store_runs_single(const TileSchedule& s, const TilePlace& place,
                                    uint32_t number) {
  const ThreadPlace thread = place_thread(s, number);
  const int64_t from = origin_of(src_base_ + place.src - place.below) + place.below;
  for (uint32_t n = thread.run; n < static_cast<uint32_t>(place.runs * place.repeats);
       n += s.run_threads) {
    const RepeatedRun which = find_repeat(s, place, n);
    const WalkPlace run = place_run(s, which.run);
    const int64_t to = dst_base_ + place.dst + run.step + which.repeat * s.repeat_step;
    const int32_t before = s.per_place == 0 ? 0 : places_before(s, static_cast<uintptr_t>(to));
    for (int32_t p = static_cast<int32_t>(thread.vector) - before; p < place.run_units;
         p += static_cast<int32_t>(s.lanes.divisor)) {
      if (p < 0) continue;
      const WalkPlace at = place_position(s, static_cast<uint32_t>(p));
      store(to + at.step, get_shared(from + at.image + run.image, s.unit));
    }
  }
}

// Copies of runs: each vector as the thread gathers it, the units that lie behind its run included.
void Interpreter::stage_runs(const TileSchedule& s, const TilePlace& place, uint32_t number) {
  const int units = vector_bytes / s.unit;
  const ThreadPlace thread = place_thread(s, number);
  if (thread.run >= s.run_threads) return;
  const int64_t from = origin_of(src_base_ + place.src - place.below) + place.below;
  for (auto first = static_cast<int32_t>(thread.vector) * units; first < place.run_units;
       first += static_cast<int32_t>(s.lanes.divisor) * units) {
    const std::vector<int64_t> offsets = look_up(s, first);
    for (uint32_t r = thread.run; r < static_cast<uint32_t>(place.runs); r += s.run_threads) {
      Bytes vector;
      for (const int64_t offset : offsets) {
        const Bytes value = get_shared(from + place_run(s, r).image + offset, s.unit);
        vector.insert(vector.end(), value.begin(), value.end());
      }
      put_shared(s.stage_at + (1 + r * s.stage_vectors + static_cast<uint32_t>(first / units)) *
                                  int64_t{vector_bytes},
                 vector);
    }
  }
}

void Interpreter::store_staged(const TileSchedule& s, const TilePlace& place, uint32_t number) {
  const int32_t bytes = place.run_units * s.unit, width = s.out_bytes;
  const uint32_t of = divide(number, s.out_pieces);
  int64_t run = dst_base_ + place.dst + place_run(s, of).step;
  for (int32_t n = 0; n < place.repeats; ++n, run += s.repeat_step) {
    const StagedPiece piece = find_staged(s, of, number, misalignment(run) & (width - 1));
    if (piece.at >= bytes) continue;
    const int64_t from = s.stage_at + vector_bytes + piece.from;
    const Bytes low = get_shared(from, width), high = get_shared(from + width, width);
    Bytes value(low.begin() + piece.shift, low.end());
    value.insert(value.end(), high.begin(), high.begin() + piece.shift);
    store_units(place.run_units, s.unit, run + piece.at, piece.at / s.unit, value);
  }
}

// Of a word, what belongs to its run, as the kernel stores it.
void Interpreter::put_word(const WordPart& part, int64_t to, const Bytes& word) {
  const auto put = [&](bool wanted, int at, int bytes) {
    if (wanted) store(to + at, Bytes(word.begin() + at, word.begin() + at + bytes));
  };
  put(part.whole, 0, 4);
  put(part.has_half, part.half, 2);
  put(part.has_byte, part.byte, 1);
  put(part.has_third, 2, 1);
}

void Interpreter::store_runs_words(const TileSchedule& s, const TilePlace& place, uint32_t number) {
  const int count = 4 / s.unit, pad = vector_bytes / s.unit;
  const ThreadPlace thread = place_thread(s, number);
  const int64_t from = origin_of(src_base_ + place.src - place.below) + place.below;
  const auto lead_of = [&](uint32_t r) {
    return static_cast<int32_t>((dst_base_ + place.dst + place_run(s, r).step) & 3) / s.unit;
  };
  for (uint32_t word = thread.vector; word < s.out_pieces.divisor; word += s.lanes.divisor) {
    for (uint32_t r = thread.run; r < static_cast<uint32_t>(place.runs); r += s.run_threads) {
      const WalkPlace run = place_run(s, r);
      const int32_t lead = lead_of(r), first = static_cast<int32_t>(word) * count - lead;
      if (s.runs_alike && lead != lead_of(thread.run)) fault("runs of a thread begin differently");
      if (first + pad < 0 || first + pad + count > static_cast<int32_t>(s.table_units))
        fault("look-up outside the table");
      Bytes value;
      for (int k = 0; k < count; ++k) {
        const Bytes of =
            get_shared(from + run.image + table_[static_cast<size_t>(first + pad + k)], s.unit);
        value.insert(value.end(), of.begin(), of.end());
      }
      for (int32_t i = 0; i < place.repeats; ++i)
        put_word(
            part_of_word(s, place, first),
            dst_base_ + place.dst + run.step + i * s.repeat_step * s.repeats_apart + first * s.unit,
            value);
    }
  }
}

// The table, as threads write it together.
void Interpreter::make_table(const TileSchedule& s, const TilePlace& place) {
  table_.assign(s.table_units, INT32_MIN);
  for (uint32_t thread = 0; thread < tile_threads; ++thread) {
    const TableShare share = share_table(s, thread);
    const bool plain = share_is_plain(s, place, share);
    const TableWalk walk =
        plain ? walk_table(s, share.first - static_cast<uint32_t>(vector_bytes / s.unit))
              : TableWalk{};
    for (uint32_t i = share.first; i < share.end; ++i) {
      if (table_[i] != INT32_MIN) fault("an entry of the table is written twice");
      table_[i] = plain ? table_image(s, walk, i - share.first)
                        : position_image(s, table_position(s, place, i));
    }
  }
}

// What a block does once its rows are in shared memory.
void Interpreter::store_tile(const TileSchedule& s, const TilePlace& place, Gather gather) {
  if (gather == Gather::staged) {
    for (uint32_t thread = 0; thread < tile_threads; ++thread) stage_runs(s, place, thread);
    for (uint32_t i = 0; i < static_cast<uint32_t>(place.runs) * s.out_pieces.divisor; ++i)
      store_staged(s, place, i);
    return;
  }
  for (uint32_t thread = 0; thread < tile_threads; ++thread) {
    if (gather == Gather::each) store_runs_each(s, place, thread);
    if (gather == Gather::each || place_thread(s, thread).run >= s.run_threads) continue;
    if (gather == Gather::prepared) store_runs_prepared(s, place, thread);
    if (gather == Gather::linear || gather == Gather::columns) store_runs_linear(s, place, thread);
    if (gather == Gather::single) store_runs_single(s, place, thread);
    if (gather == Gather::words) store_runs_words(s, place, thread);
  }
}

void Interpreter::run(const TileSchedule& s) {
  Gather gather = s.gather;
  if (!bases_allow(gather, static_cast<uintptr_t>(dst_base_ + s.dst_offset),
                   static_cast<uintptr_t>(src_base_ + s.src_offset)))
    gather = Gather::prepared;
  for (uint32_t tile = 0; tile < s.tiles; ++tile) {
    if (s.table_at % 4 != 0 || s.table_at + 4 * s.table_units > s.shared_bytes)
      fault("the table reaches out of shared memory");
    if (lists_runs(s.gather) && s.runs_depth > 1 &&
        (s.runs_at % sizeof(WalkPlace) != 0 ||
         s.runs_at + s.runs[0] * sizeof(WalkPlace) > s.shared_bytes))
      fault("the list of runs reaches out of shared memory");
    if (s.rows_listed && (s.rows_at % sizeof(WalkPlace) != 0 ||
                          s.rows_at + s.rows[0] * sizeof(WalkPlace) > s.shared_bytes))
      fault("the list of rows reaches out of shared memory");
    shared_.assign(gather == Gather::staged ? s.rows_at : s.table_at, -1);
    TilePlace place = place_tile(s, tile);
    for (uint32_t thread = 0; thread < tile_threads; ++thread) load_rows(s, place, thread);
    if (looks_up(gather)) make_table(s, place);
    const int32_t repeats = place.repeats, turns = repeat_turns(s, repeats);
    for (int32_t turn = 0; turn < turns; ++turn, place.dst += s.repeat_step) {
      place.repeats = repeats_in_turn(s, repeats, turn);
      store_tile(s, place, gather);
    }
  }
}

}  // namespace infini::gpu
