// Executes schedules on the host, thread by thread, and judges every access.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/gpu/rearrange/fill/schedule.h"
#include "backends/gpu/rearrange/generic/schedule.h"
#include "backends/gpu/rearrange/planes/schedule.h"
#include "backends/gpu/rearrange/rows/schedule.h"
#include "backends/gpu/rearrange/scatter/schedule.h"
#include "backends/gpu/rearrange/shift/schedule.h"
#include "backends/gpu/rearrange/tile/schedule.h"
#include "backends/gpu/rearrange/tiny/schedule.h"
#include "backends/gpu/rearrange/transpose/schedule.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini::gpu {

// A device whose memory knows what it should become. Addresses are numbers; a byte's value is the
// place in src that it came from.
class Interpreter {
 public:
  // The bases are the tensors' addresses: only their alignment matters.
  Interpreter(const RearrangePlan& plan, int64_t dst_base, int64_t src_base);

  // Each runs all blocks. A second run on one interpreter finds everything written twice.
  void run(const TileSchedule& schedule);
  void run(const RowSchedule& schedule);  // bases for which rows_shift() is false
  void run(const ShiftSchedule& schedule);
  void run(const TransposeSchedule& schedule);
  void run(const PlanesSchedule& schedule);
  void run(const FillSchedule& schedule);
  void run(const ScatterSchedule& schedule);
  void run(const TinySchedule& schedule);
  void run(const GenericSchedule& schedule);

  // Empty when every byte of dst was written once, with the right value, and no access left its
  // buffer or its alignment; else the first fault in words.
  std::string verdict() const;

 private:
  // Bytes of global or shared memory on their way: where each came from, or nowhere.
  using Bytes = std::vector<int64_t>;

  void fault(const std::string& what);
  Bytes load(int64_t address, int bytes);
  void store(int64_t address, const Bytes& value);
  void put_shared(int64_t at, const Bytes& value);
  Bytes get_shared(int64_t at, int bytes);

  void load_rows(const TileSchedule& s, const TilePlace& place, uint32_t thread);
  void load_vector(int unit, int64_t to, int64_t from, int32_t begin, int32_t end, bool whole);
  void make_table(const TileSchedule& s, const TilePlace& place);
  std::vector<int64_t> look_up(const TileSchedule& s, int32_t first);
  void store_runs_linear(const TileSchedule& s, const TilePlace& place, uint32_t thread);
  void store_runs_prepared(const TileSchedule& s, const TilePlace& place, uint32_t thread);
  void store_runs_each(const TileSchedule& s, const TilePlace& place, uint32_t thread);
  void store_tile(const TileSchedule& s, const TilePlace& place, Gather gather);
  void stage_runs(const TileSchedule& s, const TilePlace& place, uint32_t thread);
  void store_staged(const TileSchedule& s, const TilePlace& place, uint32_t number);
  void put_word(const WordPart& part, int64_t to, const Bytes& word);
  void store_runs_words(const TileSchedule& s, const TilePlace& place, uint32_t thread);
  void store_runs_single(const TileSchedule& s, const TilePlace& place, uint32_t thread);
  template <class Offset>
  void gather_vector(const TileSchedule& s, const TilePlace& place, int64_t run, int32_t first,
                     const Offset& offset);
  // Gathers one vector of a run, whole or partial; offset(k) is where unit k is found.
  template <class Offset>
  void store_vector(int64_t run_units, int unit, int64_t to, int64_t first, Offset offset);
  // What of a vector belongs to its run: all at once, or unit by unit.
  void store_units(int64_t run_units, int unit, int64_t to, int64_t first, const Bytes& vector);
  int64_t transpose_row(const TransposeSchedule& s, const TransposePlace& place,
                        uint32_t row) const;
  int64_t transpose_place(const TransposeSchedule& s, const TransposePlace& place,
                          uint32_t row) const;
  int32_t parted_place(const TransposeSchedule& s, const TransposePlace& place, uint32_t row,
                       int k) const;
  void load_transposed(const TransposeSchedule& s, const TransposePlace& place, uint32_t thread);
  void store_window(const TransposeSchedule& s, const TransposePlace& place, uint32_t vector,
                    uint32_t c);
  void store_transposed(const TransposeSchedule& s, const TransposePlace& place, uint32_t thread);
  void move_interleaved(const PlanesSchedule& s, const PlanesPlace& place, uint32_t at);
  void move_chunk(const PlanesSchedule& s, const PlanesPlace& place, uint32_t chunk);
  void list_runs(const FillSchedule& s, const FillBlock& block);
  void store_filling(const FillSchedule& s, int64_t units, int64_t to, const FillVector& v);
  void load_image(const ShiftSchedule& s, const ShiftRow& row, int64_t image, uint32_t vector);
  void store_shifted(const ShiftSchedule& s, const ShiftRow& row, const ShiftRow& held,
                     int64_t image, uint32_t vector);
  void move_row_part(const RowSchedule& s, const RowPlace& row, int64_t vector);

  RearrangePlan plan_;
  ByteRange dst_range_, src_range_;
  int64_t dst_base_, src_base_;
  std::vector<int64_t> expected_, written_;  // by place in dst_range_; -1: none
  std::vector<int64_t> shared_;
  std::vector<int32_t> table_;
  std::string fault_;
};

template <class Offset>
void Interpreter::store_vector(int64_t run_units, int unit, int64_t to, int64_t first,
                               Offset offset) {
  Bytes vector;
  for (int k = 0; k < vector_bytes / unit; ++k) {
    const bool inside = first + k >= 0 && first + k < run_units;
    const Bytes value = inside ? get_shared(offset(k), unit) : Bytes(static_cast<size_t>(unit));
    vector.insert(vector.end(), value.begin(), value.end());
  }
  store_units(run_units, unit, to, first, vector);
}

}  // namespace infini::gpu
