// Where the parts of one dim under two distributions meet: who shares elements with whom, how many, and in which places.
//
// Law: over all pairs of parts, the patterns name each index of the dim exactly once, by its local index on both sides.
#pragma once

#include <span>
#include <vector>

#include "plan/reshard/distribution.h"

namespace infini {

struct Level {
  int64_t extent, dst_stride, src_stride;  // strides in local indexes of the dim
};

// Indexes that a source part and a destination part share, as a nest: what is periodic is a loop, not a list.
struct Pattern {
  static constexpr int max_depth = 4;
  int64_t dst_start = 0, src_start = 0;
  int depth = 0;
  Level levels[max_depth];  // outermost first; extents >= 2
};
int64_t element_count(const Pattern& pattern);

// A part of the other side, and how many elements are shared.
struct Meeting {
  int part;
  int64_t count, before;  // before: of the meetings that stand before this one in the same row
};

class Overlap {
 public:
  Overlap(const Cut& destination, const Cut& source);

  // The parts that meet this one in at least one element, ascending.
  std::span<const Meeting> of_source(int part) const { return row(by_source_, part); }
  std::span<const Meeting> of_destination(int part) const { return row(by_destination_, part); }
  // The elements that two parts share; 0 when they share none.
  Meeting meeting(int source, int destination) const;

  // Appends the patterns of the elements that the two parts share. Both sides of a wire see the same order.
  void append_patterns(int source, int destination, std::vector<Pattern>& out) const;

 private:
  struct Table {
    std::vector<size_t> first;  // parts + 1
    std::vector<Meeting> meetings;
  };
  struct Shared {
    int source, destination;
    int64_t count;
  };
  static std::span<const Meeting> row(const Table& table, int part);
  void sweep_intervals(std::vector<Shared>& shared) const;
  void sweep_cyclic(std::vector<Shared>& shared) const;
  template <class Visit>
  void coarse_intervals(int only_part, Visit&& visit) const;
  void append_cyclic_patterns(int source, int destination, std::vector<Pattern>& out) const;
  void fill(Table& table, int parts, const std::vector<Shared>& shared, bool by_source) const;
  bool source_is_coarse() const;
  int64_t period() const;

  Cut destination_, source_;
  Table by_source_, by_destination_;
};

}  // namespace infini
