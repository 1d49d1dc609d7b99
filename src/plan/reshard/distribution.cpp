// Checking distributions, and finding what lies where.
#include "plan/reshard/distribution.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"

namespace infini {
namespace {

constexpr auto bad = INFINI_STATUS_BAD_PARAM;

Cut intervals(int64_t size, int parts) {
  Cut cut;
  cut.size = size;
  cut.parts = parts;
  cut.bounds.resize(static_cast<size_t>(parts) + 1);
  return cut;
}

Cut equal_blocks(int64_t size, int parts, int64_t block) {
  Cut cut = intervals(size, parts);
  for (int i = 0; i <= parts; ++i)
    cut.bounds[static_cast<size_t>(i)] = std::min(size, saturating_mul(block, i));
  return cut;
}

Cut balanced(int64_t size, int parts) {
  Cut cut = intervals(size, parts);
  for (int i = 0; i <= parts; ++i)
    cut.bounds[static_cast<size_t>(i)] = size / parts * i + std::min<int64_t>(i, size % parts);
  return cut;
}

Cut by_sizes(const Split& split, int64_t size, int parts, int dim, const char* name) {
  require(split.sizes.size() == static_cast<size_t>(parts), bad, name, ": dim ", dim, " has ",
          split.sizes.size(), " sizes for ", parts, " parts of the mesh");
  Cut cut = intervals(size, parts);
  for (int i = 0; i < parts; ++i) {
    const int64_t length = split.sizes[static_cast<size_t>(i)];
    int64_t end = 0;
    require(
        length >= 0 && checked_add(cut.bounds[static_cast<size_t>(i)], length, end) && end <= size,
        bad, name, ": the sizes of dim ", dim, " are to add up to ", size, "; number ", i, " is ",
        length);
    cut.bounds[static_cast<size_t>(i) + 1] = end;
  }
  require(cut.bounds.back() == size, bad, name, ": the sizes of dim ", dim, " add up to ",
          cut.bounds.back(), " instead of ", size);
  return cut;
}

Cut cyclic(const Split& split, int64_t size, int parts, int dim, const char* name) {
  require(split.block > 0, bad, name, ": the block of cyclic dim ", dim, " is ", split.block,
          "; at least 1 is needed");
  // Nobody has a second turn: these are intervals.
  if (parts == 1 || saturating_mul(split.block, parts) >= size)
    return equal_blocks(size, parts, parts == 1 ? size : split.block);
  Cut cut;
  cut.size = size;
  cut.parts = parts;
  cut.block = split.block;
  return cut;
}

}  // namespace

int64_t Cut::count_before(int part, int64_t end) const {
  if (!cyclic()) {
    const int64_t begin = bounds[static_cast<size_t>(part)];
    return std::clamp(end, begin, bounds[static_cast<size_t>(part) + 1]) - begin;
  }
  return end / turn() * block + std::clamp<int64_t>(end % turn() - part * block, 0, block);
}

int Cut::part_of(int64_t index) const {
  if (cyclic()) return static_cast<int>(index / block % parts);
  return static_cast<int>(std::upper_bound(bounds.begin(), bounds.end(), index) - bounds.begin()) -
         1;
}

int64_t Cut::local_index(int64_t index) const {
  if (cyclic()) return index / turn() * block + index % block;
  return index - bounds[static_cast<size_t>(part_of(index))];
}

Placement::Placement(const Distribution& distribution, const char* name)
    : distribution_(distribution) {
  const size_t rank = distribution_.shape.size();
  require(rank <= max_reshard_rank, INFINI_STATUS_BAD_TENSOR_SHAPE, name, ": ndim is ", rank,
          "; at most ", max_reshard_rank, " is supported");
  require(distribution_.dims.size() == rank, bad, name, ": ", distribution_.dims.size(),
          " dims are described, the shape has ", rank);
  take_mesh(name);
  cuts_.reserve(rank);
  for (int dim = 0; dim < static_cast<int>(rank); ++dim) take_dim(dim, name);
  for (const Axis& axis : axes_)
    if (axis.dim < 0) replicas_ *= axis.extent;
  take_ranks(name);
}

void Placement::take_mesh(const char* name) {
  const auto& mesh = distribution_.mesh;
  require(mesh.size() <= max_reshard_rank, bad, name, ": the mesh has ", mesh.size(),
          " axes; at most ", max_reshard_rank, " are supported");
  int64_t places = 1;
  for (size_t i = mesh.size(); i-- > 0;) {
    require(mesh[i] > 0, bad, name, ": axis ", i, " of the mesh is ", mesh[i],
            "; at least 1 is needed");
    const int64_t step = places;
    require(checked_mul(places, mesh[i], places) && places <= max_reshard_ranks, bad, name,
            ": the mesh has more than ", max_reshard_ranks, " places");
    axes_.insert(axes_.begin(), {static_cast<int>(mesh[i]), static_cast<int>(step), -1, 0});
  }
  places_ = static_cast<int>(places);
}

void Placement::take_dim(int dim, const char* name) {
  const Split& split = distribution_.dims[static_cast<size_t>(dim)];
  const int64_t size = distribution_.shape[static_cast<size_t>(dim)];
  require(size >= 0, INFINI_STATUS_BAD_TENSOR_SHAPE, name, ": dim ", dim, " has ", size,
          " elements");
  require(split.kind != SplitKind::replicate || split.axes.empty(), bad, name, ": dim ", dim,
          " is not cut, and yet names axes of the mesh");
  int parts = 1;
  for (size_t i = split.axes.size(); i-- > 0;) {
    const int number = split.axes[i];
    require(number >= 0 && number < static_cast<int>(axes_.size()), bad, name, ": dim ", dim,
            " is cut over axis ", number, " of a mesh of ", axes_.size());
    Axis& axis = axes_[static_cast<size_t>(number)];
    require(axis.dim < 0, bad, name, ": axis ", number, " of the mesh cuts twice, dims ", axis.dim,
            " and ", dim);
    axis.dim = dim;
    axis.dim_weight = parts;
    parts *= axis.extent;
  }
  switch (split.kind) {
    case SplitKind::replicate:
    case SplitKind::block: cuts_.push_back(equal_blocks(size, parts, ceil_div(size, parts))); break;
    case SplitKind::balanced: cuts_.push_back(balanced(size, parts)); break;
    case SplitKind::cyclic: cuts_.push_back(cyclic(split, size, parts, dim, name)); break;
    case SplitKind::sizes: cuts_.push_back(by_sizes(split, size, parts, dim, name)); break;
    default:
      fail(bad, name, ": dim ", dim, " is cut in the way ", static_cast<int>(split.kind),
           ", which does not exist");
  }
  if (split.axes.empty())
    distribution_.dims[static_cast<size_t>(dim)] = Split{};  // one part is all of it
}

void Placement::take_ranks(const char* name) {
  const auto& ranks = distribution_.ranks;
  highest_rank_ = places_ - 1;
  if (ranks.empty()) return;
  require(ranks.size() == static_cast<size_t>(places_), bad, name, ": ", ranks.size(),
          " ranks are named for a mesh of ", places_);
  for (const int rank : ranks) {
    require(rank >= 0 && rank < max_reshard_ranks, bad, name, ": rank ", rank,
            " is named; expected 0..", max_reshard_ranks - 1);
    highest_rank_ = std::max(&rank == &ranks.front() ? 0 : highest_rank_, rank);
  }
  places_of_.assign(static_cast<size_t>(highest_rank_) + 1, -1);
  for (int place = 0; place < places_; ++place) {
    int& at = places_of_[static_cast<size_t>(ranks[static_cast<size_t>(place)])];
    require(at < 0, bad, name, ": rank ", ranks[static_cast<size_t>(place)], " is named twice");
    at = place;
  }
}

int Placement::rank_at(int place) const {
  return distribution_.ranks.empty() ? place : distribution_.ranks[static_cast<size_t>(place)];
}

int Placement::place_of(int rank) const {
  if (rank < 0 || rank > highest_rank_) return -1;
  return places_of_.empty() ? rank : places_of_[static_cast<size_t>(rank)];
}

void Placement::parts_at(int place, int* parts) const {
  std::fill_n(parts, rank(), 0);
  for (const Axis& axis : axes_)
    if (axis.dim >= 0) parts[axis.dim] += place / axis.step % axis.extent * axis.dim_weight;
}

int Placement::replica_at(int place) const {
  int replica = 0;
  for (const Axis& axis : axes_)
    if (axis.dim < 0) replica = replica * axis.extent + place / axis.step % axis.extent;
  return replica;
}

int Placement::place_at(const int* parts, int replica) const {
  int place = 0;
  for (size_t i = axes_.size(); i-- > 0;) {
    const Axis& axis = axes_[i];
    if (axis.dim >= 0) {
      place += parts[axis.dim] / axis.dim_weight % axis.extent * axis.step;
    } else {
      place += replica % axis.extent * axis.step;
      replica /= axis.extent;
    }
  }
  return place;
}

std::vector<int64_t> Placement::local_shape(int place) const {
  int parts[max_reshard_rank];
  parts_at(place, parts);
  std::vector<int64_t> shape;
  for (int dim = 0; dim < rank(); ++dim) shape.push_back(cut(dim).part_size(parts[dim]));
  return shape;
}

}  // namespace infini
