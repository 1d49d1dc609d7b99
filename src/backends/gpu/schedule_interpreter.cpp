// The host interpreter: the kernels' control flow over memory that is checked byte by byte. Every
// index comes from the same constexpr walk functions that the kernels call.
#include "backends/gpu/schedule_interpreter.h"

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

void Interpreter::load_rows(const TileSchedule& s, const TilePlace& place, uint32_t thread) {
  const int64_t lowest = place.src - place.below;
  const bool inside = lowest + s.rows_low - vector_bytes >= s.src_begin &&
                      lowest + s.rows_high + place.row_bytes + vector_bytes <= s.src_end;
  const auto lane = static_cast<int32_t>(thread & ((1u << s.row_lane_bits) - 1)) * vector_bytes;
  const uint32_t row_stride = tile_threads >> s.row_lane_bits;
  for (uint32_t row = thread >> s.row_lane_bits; row < static_cast<uint32_t>(place.rows);
       row += row_stride) {
    const int64_t start = src_base_ + lowest + row_step(s, row);
    const int shift = misalignment(start);
    const int32_t end = shift + place.row_bytes;
    const int64_t image = row_image(s, row);
    for (int32_t at = lane; at < end; at += vector_bytes << s.row_lane_bits) {
      const int64_t from = start - shift + at;
      if (image + at + vector_bytes > s.rows_at) fault("image reaches into the tables");
      load_vector(s.unit, image + at, from, shift - at, end - at,
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

// In columns a thread takes several neighbouring runs, 4 bytes at a time.
void Interpreter::store_runs_linear(const TileSchedule& s, const TilePlace& place,
                                    uint32_t number) {
  const int units = vector_bytes / s.unit;
  const int runs = s.gather == Gather::columns ? 4 / s.unit : 1;
  const ThreadPlace thread = place_thread(s, number);
  int64_t from = misalignment(src_base_ + place.src - place.below) + place.below +
                 static_cast<int32_t>(thread.vector) * s.period_image;
  for (int32_t first = static_cast<int32_t>(thread.vector) * units; first < place.run_units;
       first += static_cast<int32_t>(s.v_stride) * units, from += s.v_image) {
    for (uint32_t run = thread.run * runs; run < static_cast<uint32_t>(place.runs);
         run += (tile_threads >> s.v_bits) * runs) {
      const RunPlace at = place_run(s, run);
      for (int r = 0; r < runs; ++r) {
        const int64_t to = dst_base_ + place.dst + at.dst + r * s.many[0].step;
        store_vector(place.run_units, s.unit, to + int64_t{first} * s.unit, first, [&](int k) {
          const int64_t column = from + at.image + k * s.unit_image;
          if (runs > 1) get_shared(column, 4);
          return column + r * s.unit;
        });
      }
    }
  }
}

void Interpreter::store_runs_prepared(const TileSchedule& s, const TilePlace& place,
                                      uint32_t number) {
  const int units = vector_bytes / s.unit;
  const ThreadPlace thread = place_thread(s, number);
  if (thread.vector >= s.v_stride) return;
  const int lead = misalignment(dst_base_ + place.dst + place_run(s, thread.run).dst) / s.unit;
  const auto origin = static_cast<uint32_t>(misalignment(src_base_ + place.src - place.below));
  const int32_t start = static_cast<int32_t>(thread.vector) * units - lead;
  if (start >= place.run_units) return;
  const auto entry = [&](const PreparedVector& at) {
    if (at.index >= s.table_units) fault("look-up outside the table");
    return int64_t{position_image(s, at.index, origin)} + place.below + at.image;
  };
  std::vector<int64_t> offsets;
  const PreparedVector even = find_in_period(s, start);
  for (int k = 0; k < units; ++k)
    offsets.push_back(s.rows_even ? entry({even.index + static_cast<uint32_t>(k), even.image})
                                  : entry(find_in_stride(s, start + k)));
  int64_t from = 0;
  for (int32_t first = start; first < place.run_units;
       first += static_cast<int32_t>(s.v_stride) * units, from += s.v_image) {
    for (uint32_t run = thread.run; run < static_cast<uint32_t>(place.runs);
         run += tile_threads >> s.v_bits) {
      const RunPlace at = place_run(s, run);
      const int64_t to = dst_base_ + place.dst + at.dst + int64_t{first} * s.unit;
      store_vector(place.run_units, s.unit, to, first,
                   [&](int k) { return from + at.image + offsets[static_cast<size_t>(k)]; });
    }
  }
}

void Interpreter::store_runs_by_table(const TileSchedule& s, const TilePlace& place,
                                      uint32_t thread) {
  const int units = vector_bytes / s.unit;
  const auto origin = static_cast<uint32_t>(misalignment(src_base_ + place.src - place.below));
  const uint32_t group_bits = s.v_low_bits + s.c_low_bits;
  const uint32_t groups = table_groups(s, place);
  for (uint32_t group = thread >> group_bits; group < groups; group += tile_threads >> group_bits) {
    const ThreadPlace item = place_in_group(s, group, thread);
    if (item.run >= static_cast<uint32_t>(place.runs)) continue;
    const RunPlace at = place_run(s, item.run);
    const int64_t start = dst_base_ + place.dst + at.dst;
    const int32_t first = static_cast<int32_t>(item.vector) * units - misalignment(start) / s.unit;
    if (first >= place.run_units) continue;
    store_vector(place.run_units, s.unit, start + int64_t{first} * s.unit, first, [&](int k) {
      const int32_t entry =
          position_image(s, static_cast<uint32_t>(first + k), origin) + place.below;
      if (entry < 0 || entry > 65535) fault("a table entry does not fit into 16 bits");
      return entry + at.image;
    });
  }
}

void Interpreter::check_tables(const TileSchedule& s) {
  const int64_t rows = s.row_depth > 1 ? s.rows[0] * int64_t{sizeof(int64_t)} : 0;
  const int64_t runs = s.runs_depth > 1 ? s.runs[0] * int64_t{sizeof(RunPlace)} : 0;
  const int64_t table =
      s.gather == Gather::table ? s.run_units[0] * int64_t{2} : s.table_units * int64_t{4};
  if (s.rows_at + rows > s.runs_at || s.runs_at + runs > s.table_at ||
      s.table_at + table > s.shared_bytes || s.rows_at % 16 || s.runs_at % 16 || s.table_at % 16)
    fault("tables overlap in shared memory");
}

void Interpreter::run(const TileSchedule& s) {
  Gather gather = s.gather;
  if (!bases_allow(gather, static_cast<uintptr_t>(dst_base_ + s.dst_offset),
                   static_cast<uintptr_t>(src_base_ + s.src_offset)))
    gather = Gather::prepared;
  for (uint32_t tile = 0; tile < s.tiles; ++tile) {
    shared_.assign(s.shared_bytes, -1);
    check_tables(s);
    const TilePlace place = place_tile(s, tile);
    for (uint32_t thread = 0; thread < tile_threads; ++thread) load_rows(s, place, thread);
    for (uint32_t thread = 0; thread < tile_threads; ++thread) {
      if (gather == Gather::table) store_runs_by_table(s, place, thread);
      if (gather == Gather::prepared) store_runs_prepared(s, place, thread);
      if (gather >= Gather::linear) store_runs_linear(s, place, thread);
    }
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
