// The host interpreter: the kernels' control flow over memory that is checked byte by byte. Every
// index comes from the same constexpr walk functions that the kernels call.
#include "backends/gpu/rearrange/interpreter.h"

#include <algorithm>
#include <sstream>

namespace infini::gpu {
namespace {

int misalignment(int64_t address) { return static_cast<int>(address & (vector_bytes - 1)); }

template <class Visit>
void walk(const RearrangePlan& plan, int depth, int64_t dst, int64_t src, const Visit& visit) {
  if (depth == plan.depth) {
    for (int64_t i = 0; i < plan.atom_bytes; ++i) visit(dst + i, src + i);
    return;
  }
  const Loop& loop = plan.loops[depth];
  for (int64_t i = 0; i < loop.extent; ++i)
    walk(plan, depth + 1, dst + i * loop.dst_step, src + i * loop.src_step, visit);
}

}  // namespace

Interpreter::Interpreter(const RearrangePlan& plan, int64_t dst_base, int64_t src_base)
    : plan_(plan),
      dst_range_(dst_range(plan)),
      src_range_(src_range(plan)),
      dst_base_(dst_base),
      src_base_(src_base) {
  const auto size = static_cast<size_t>(dst_range_.end - dst_range_.begin);
  expected_.assign(size, -1);
  written_.assign(size, -1);
  walk(plan_, 0, plan_.dst_offset, plan_.src_offset, [&](int64_t dst, int64_t src) {
    expected_[static_cast<size_t>(dst - dst_range_.begin)] = src - src_range_.begin;
  });
}

void Interpreter::fault(const std::string& what) {
  if (fault_.empty()) fault_ = what;
}

Interpreter::Bytes Interpreter::load(int64_t address, int bytes) {
  const int64_t at = address - src_base_ - src_range_.begin;
  if (address % bytes != 0) fault("unaligned load");
  if (at < 0 || at + bytes > src_range_.end - src_range_.begin) fault("load outside src");
  Bytes value(static_cast<size_t>(bytes));
  for (int i = 0; i < bytes; ++i) value[static_cast<size_t>(i)] = at + i;
  return value;
}

void Interpreter::store(int64_t address, const Bytes& value) {
  const int64_t at = address - dst_base_ - dst_range_.begin;
  const auto bytes = static_cast<int64_t>(value.size());
  if (address % bytes != 0) fault("unaligned store");
  if (at < 0 || at + bytes > static_cast<int64_t>(written_.size()))
    return fault("store outside dst");
  for (int64_t i = 0; i < bytes; ++i) {
    int64_t& place = written_[static_cast<size_t>(at + i)];
    if (expected_[static_cast<size_t>(at + i)] < 0) fault("store into a gap of dst");
    if (place >= 0) fault("byte of dst written twice");
    place = value[static_cast<size_t>(i)];
  }
}

void Interpreter::put_shared(int64_t at, const Bytes& value) {
  if (at % static_cast<int64_t>(value.size()) != 0) fault("unaligned store to shared memory");
  if (at < 0 || at + static_cast<int64_t>(value.size()) > static_cast<int64_t>(shared_.size()))
    return fault("store outside shared memory");
  for (size_t i = 0; i < value.size(); ++i) {
    int64_t& place = shared_[static_cast<size_t>(at) + i];
    if (place >= 0 && place != value[i]) fault("two rows share a place in shared memory");
    place = value[i];
  }
}

Interpreter::Bytes Interpreter::get_shared(int64_t at, int bytes) {
  if (at % bytes != 0) fault("unaligned load from shared memory");
  if (at < 0 || at + bytes > static_cast<int64_t>(shared_.size())) {
    fault("load outside shared memory");
    return Bytes(static_cast<size_t>(bytes), -1);
  }
  const auto begin = shared_.begin() + at;
  return Bytes(begin, begin + bytes);
}

void Interpreter::store_units(int64_t run_units, int unit, int64_t to, int64_t first,
                              const Bytes& vector) {
  const auto units = static_cast<int>(vector.size()) / unit;
  if (first >= 0 && first + units <= run_units) return store(to, vector);
  for (int k = 0; k < units; ++k)
    if (first + k >= 0 && first + k < run_units)
      store(to + k * unit, Bytes(vector.begin() + k * unit, vector.begin() + (k + 1) * unit));
}

void Interpreter::load_rows(const TileSchedule& s, const TilePlace& place, uint32_t thread) {
  const int64_t lowest = place.src - place.below;
  const int origin = misalignment(src_base_ + lowest);
  const bool inside = lowest + s.rows_low - vector_bytes >= s.src_begin &&
                      lowest + s.rows_high + place.row_bytes + vector_bytes <= s.src_end;
  const FastDivisor& lanes = s.row_lanes[!s.rows_even || origin != 0];
  const ThreadPlace at_start = place_thread(thread, lanes);
  const uint32_t row_threads = divide(tile_threads, lanes);
  if (at_start.run >= row_threads) return;
  const auto lane = static_cast<int32_t>(at_start.vector) * vector_bytes;
  for (uint32_t number = at_start.run; number < static_cast<uint32_t>(place.rows);
       number += row_threads) {
    const WalkPlace row = place_row_image(s, number);
    const int64_t start = src_base_ + lowest + row.step;
    for (int32_t at = lane - misalignment(start); at < place.row_bytes;
         at += static_cast<int32_t>(lanes.divisor) * vector_bytes) {
      const int64_t from = start + at;
      load_vector(s.unit, origin + row.image + at, from, -at, place.row_bytes - at,
                  inside || (from >= src_base_ + s.src_begin &&
                             from + vector_bytes <= src_base_ + s.src_end));
    }
  }
}

void Interpreter::load_vector(int unit, int64_t to, int64_t from, int32_t begin, int32_t end,
                              bool whole) {
  if (whole) return put_shared(to, load(from, vector_bytes));
  for (int k = 0; k < vector_bytes; k += unit)
    if (k >= begin && k < end) put_shared(to + k, load(from + k, unit));
}

// One vector of a run, written as often as the schedule says.
template <class Offset>
void Interpreter::gather_vector(const TileSchedule& s, const TilePlace& place, int64_t run,
                                int32_t first, const Offset& offset) {
  for (int32_t i = 0; i < place.repeats; ++i)
    store_vector(place.run_units, s.unit,
                 dst_base_ + place.dst + run + i * s.repeat_step + int64_t{first} * s.unit, first,
                 offset);
}

// In columns a thread takes several neighbouring runs, 4 bytes at a time.
void Interpreter::store_runs_linear(const TileSchedule& s, const TilePlace& place,
                                    uint32_t number) {
  const int units = vector_bytes / s.unit;
  const int runs = s.gather == Gather::columns ? 4 / s.unit : 1;
  const ThreadPlace thread = place_thread(s, number);
  int64_t from = misalignment(src_base_ + place.src - place.below) + place.below +
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
std::vector<int64_t> Interpreter::look_up(const TileSchedule& s, const TilePlace& place,
                                          int32_t first) {
  const PreparedVector at = find_vector(s, first);
  std::vector<int64_t> offsets;
  for (int k = 0; k < vector_bytes / s.unit; ++k)
    offsets.push_back(
        position_image(s, table_position(s, place, at.entry + static_cast<uint32_t>(k))) +
        at.image);
  if (at.entry + static_cast<uint32_t>(vector_bytes / s.unit) > s.table_units)
    fault("look-up outside the table");
  return offsets;
}

void Interpreter::store_runs_prepared(const TileSchedule& s, const TilePlace& place,
                                      uint32_t number) {
  const int units = vector_bytes / s.unit;
  const ThreadPlace thread = place_thread(s, number);
  const int lead = misalignment(dst_base_ + place.dst + place_run(s, thread.run).step) / s.unit;
  const int32_t start = static_cast<int32_t>(thread.vector) * units - lead;
  if (start >= place.run_units) return;
  const std::vector<int64_t> offsets = look_up(s, place, start);
  int64_t from = misalignment(src_base_ + place.src - place.below) + place.below;
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
  const int64_t from = misalignment(src_base_ + place.src - place.below) + place.below;
  const uint32_t count = static_cast<uint32_t>(place.runs) * s.lanes.divisor;
  for (uint32_t i = thread; i < count; i += tile_threads) {
    const ThreadPlace item = place_thread(s, i);
    const WalkPlace run = place_run(s, item.run);
    const int lead = misalignment(dst_base_ + place.dst + run.step) / s.unit;
    const int32_t first = static_cast<int32_t>(item.vector) * units - lead;
    if (first >= place.run_units) continue;
    const std::vector<int64_t> offsets = look_up(s, place, first);
    gather_vector(s, place, run.step, first,
                  [&](int k) { return from + run.image + offsets[static_cast<size_t>(k)]; });
  }
}

void Interpreter::store_runs_single(const TileSchedule& s, const TilePlace& place,
                                    uint32_t number) {
  const ThreadPlace thread = place_thread(s, number);
  const int64_t from = misalignment(src_base_ + place.src - place.below) + place.below;
  for (uint32_t p = thread.vector; p < static_cast<uint32_t>(place.run_units); p += s.lanes.divisor)
    for (uint32_t n = thread.run; n < static_cast<uint32_t>(place.runs * place.repeats);
         n += s.run_threads) {
      const RepeatedRun which = find_repeat(s, place, n);
      const WalkPlace at = place_position(s, p), run = place_run(s, which.run);
      store(dst_base_ + place.dst + at.step + run.step + which.repeat * s.repeat_step,
            get_shared(from + at.image + run.image, s.unit));
    }
}

// Copies of runs: each vector as the thread gathers it, the units that lie behind its run included.
void Interpreter::stage_runs(const TileSchedule& s, const TilePlace& place, uint32_t number) {
  const int units = vector_bytes / s.unit;
  const ThreadPlace thread = place_thread(s, number);
  if (thread.run >= s.run_threads) return;
  const int64_t from = misalignment(src_base_ + place.src - place.below) + place.below;
  for (auto first = static_cast<int32_t>(thread.vector) * units; first < place.run_units;
       first += static_cast<int32_t>(s.lanes.divisor) * units) {
    const std::vector<int64_t> offsets = look_up(s, place, first);
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
    shared_.assign(gather == Gather::staged ? s.runs_at : s.table_at, -1);
    TilePlace place = place_tile(s, tile);
    for (uint32_t thread = 0; thread < tile_threads; ++thread) load_rows(s, place, thread);
    const bool apart = s.repeats_apart && gather <= Gather::prepared;
    const int32_t turns = apart ? place.repeats : 1;
    if (apart) place.repeats = 1;
    for (int32_t turn = 0; turn < turns; ++turn, place.dst += s.repeat_step)
      store_tile(s, place, gather);
  }
}

void Interpreter::move_row_part(const RowSchedule& s, const RowPlace& row, int64_t v) {
  const int64_t dst = dst_base_ + row.dst, src = src_base_ + row.src;
  const RowPart part = row_part(s, v, misalignment(dst));
  if (part.to - part.from == vector_bytes)
    return store(dst + part.start, load(src + part.start, vector_bytes));
  for (int64_t i = part.from; i < part.to; i += s.unit) store(dst + i, load(src + i, s.unit));
}

void Interpreter::run(const RowSchedule& s) {
  const bool aligned = s.runs_uniform && misalignment(dst_base_ + s.dst_offset) == 0;
  const FastDivisor& vectors = s.block_vectors[aligned ? 0 : 1];
  for (uint32_t number = 0; number < s.blocks; ++number) {
    uint32_t block = number;
    const int64_t skipped = int64_t{take_digit(block, s.segments)} * segment_vectors;
    const uint32_t first_row = block * s.rows_per_block;
    const uint32_t rows = std::min(s.rows - first_row, s.rows_per_block);
    for (uint32_t i = 0; i < rows * vectors.divisor; ++i) {
      const uint32_t row = divide(i, vectors);
      move_row_part(s, place_row(s, first_row + row), skipped + (i - row * vectors.divisor));
    }
  }
}

void Interpreter::run(const ScatterSchedule& s) {
  for (uint32_t number = 0; number < s.blocks; ++number) {
    const ScatterBlock block = place_scatter(s, number);
    for (uint32_t i = 0; i < block.count; ++i) {
      const ScatterPlace at = place_in_block(s, block, i);
      if (at.unit >= s.row_units) continue;
      const RowPlace row = place_row(s, block.first_row + at.row);
      store(dst_base_ + row.dst + at.unit * s.dst_step,
            load(src_base_ + row.src + at.unit * s.src_step, s.unit));
    }
  }
}

void Interpreter::run(const TinySchedule& s) {
  for (uint32_t number = 0; number < s.blocks * tiny_threads; ++number) {
    if (number >= s.units) continue;
    const TinyPlace place = place_tiny(s, number);
    store(dst_base_ + plan_.dst_offset + place.dst,
          load(src_base_ + plan_.src_offset + place.src, s.unit));
  }
}

void Interpreter::run(const GenericSchedule& s) {
  for (uint32_t block = 0; block < s.blocks; ++block)
    for (uint32_t thread = 0; thread < generic_threads; ++thread) {
      const GenericPlace place = place_unit(s, block, thread);
      if (place.inside) store(dst_base_ + place.dst, load(src_base_ + place.src, s.unit));
    }
}

std::string Interpreter::verdict() const {
  if (!fault_.empty()) return fault_;
  for (size_t i = 0; i < expected_.size(); ++i) {
    if (written_[i] == expected_[i]) continue;
    std::ostringstream text;
    text << "dst byte " << static_cast<int64_t>(i) + dst_range_.begin << " holds src byte "
         << written_[i] << ", expected " << expected_[i];
    return text.str();
  }
  return "";
}

}  // namespace infini::gpu
