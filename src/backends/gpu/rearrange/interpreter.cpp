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

void Interpreter::load_vector(int unit, int64_t to, int64_t from, int32_t begin, int32_t end,
                              bool whole) {
  if (whole) return put_shared(to, load(from, vector_bytes));
  for (int k = 0; k < vector_bytes; k += unit)
    if (k >= begin && k < end) put_shared(to + k, load(from + k, unit));
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
