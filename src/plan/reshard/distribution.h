// A distribution: which part of an N-d tensor each rank of a mesh holds, as plain data.
//
// A dim of the tensor is cut into parts over axes of the mesh; the rank at a place of the mesh holds, of every dim, the part
// that its coordinates on those axes name. Ranks that differ only on axes which cut nothing hold the same: they are replicas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/export.h"

namespace infini {

constexpr int max_reshard_rank = 16;  // of tensors and of meshes
constexpr int max_reshard_ranks = 1 << 24;

enum class SplitKind {
  replicate,  // one part: all of it
  block,      // parts of ceil(n / parts); the last ones may be shorter or empty
  balanced,   // parts that differ by at most one, the longer ones first
  cyclic,     // blocks of `block` elements dealt out in turns
  sizes       // `sizes` says how long each part is
};

struct Split {  // how one dim is cut
  SplitKind kind = SplitKind::replicate;
  int64_t block = 0;           // of cyclic
  std::vector<int64_t> sizes;  // of sizes
  std::vector<int> axes;       // of the mesh, the slowest first; the parts are counted over them
  bool operator==(const Split&) const = default;
};

struct Distribution {
  std::vector<int64_t> shape, mesh;
  std::vector<Split> dims;
  std::vector<int> ranks;  // at each place of the mesh, row-major; empty: 0, 1, 2, ...
  bool operator==(const Distribution&) const = default;
};

// One dim, cut: parts that are intervals, or blocks in turns.
// Law: every index of 0..size-1 lies in exactly one part; in a part, local indexes follow the global ones.
struct Cut {
  int64_t size = 0;
  int parts = 1;
  int64_t block = 0;            // > 0: cyclic
  std::vector<int64_t> bounds;  // parts + 1 of them, not for cyclic

  bool cyclic() const { return block > 0; }
  int64_t turn() const {
    return block * parts;
  }  // of cyclic: after so many elements part 0 is next again
  // How many elements of `part` lie before index `end`.
  int64_t count_before(int part, int64_t end) const;
  int64_t part_size(int part) const { return count_before(part, size); }
  int part_of(int64_t index) const;
  // Of an index of the part that holds it.
  int64_t local_index(int64_t index) const;
};

// A distribution that was checked, with what follows from it.
class Placement {
 public:
  // Throws BAD_PARAM or BAD_TENSOR_SHAPE; `name` is what the messages call it.
  Placement(const Distribution& distribution, const char* name);

  int rank() const { return static_cast<int>(cuts_.size()); }
  int places() const { return places_; }
  int replicas() const { return replicas_; }
  const Cut& cut(int dim) const { return cuts_[static_cast<size_t>(dim)]; }
  const Distribution& distribution() const { return distribution_; }
  int highest_rank() const { return highest_rank_; }

  int rank_at(int place) const;
  int place_of(int rank) const;  // -1: not in the mesh
  void parts_at(int place, int* parts) const;
  int replica_at(int place) const;
  int place_at(const int* parts, int replica) const;
  INFINI_TOOL_EXPORT std::vector<int64_t> local_shape(int place) const;

 private:
  struct Axis {        // of the mesh
    int extent, step;  // step: places from one coordinate to the next
    int dim,
        dim_weight;  // which dim it cuts (-1: none), and by how much its coordinate counts there
  };
  void take_mesh(const char* name);
  void take_dim(int dim, const char* name);
  void take_ranks(const char* name);

  Distribution distribution_;
  std::vector<Cut> cuts_;
  std::vector<Axis> axes_;
  std::vector<int> places_of_;  // by rank; empty: place and rank are the same number
  int places_ = 1, replicas_ = 1, highest_rank_ = 0;
};

}  // namespace infini
