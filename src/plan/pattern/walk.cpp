// What a pattern means for a shape.
#include <algorithm>

#include "base/checked.h"
#include "plan/pattern/message.h"
#include "plan/pattern/pattern.h"

namespace infini {
namespace {

constexpr int64_t unknown = -1;

// The dims of x as messages print them.
struct Extents {
  int rank;
  const int64_t* shape;
};
std::ostream& operator<<(std::ostream& out, const Extents& x) {
  for (int i = 0; i < x.rank; ++i) out << (i ? "x" : "") << x.shape[i];
  return x.rank == 0 ? out << "scalar" : out;
}

// "(b e)", as it was written.
struct GroupText {
  const Pattern& pattern;
  const Pattern::Group& group;
};
std::ostream& operator<<(std::ostream& out, const GroupText& text) {
  const auto& items = text.group.items;
  out << '(';
  for (const Pattern::Item& item : items) {
    if (&item != &items.front()) out << ' ';
    if (item.axis >= 0) out << text.pattern.names[static_cast<size_t>(item.axis)];
    if (item.axis == Pattern::number) out << item.size;
    if (item.axis == Pattern::rest) out << "...";
  }
  return out << ')';
}

bool is_rest(const Pattern::Group& group) {
  return group.items.size() == 1 && group.items[0].axis == Pattern::rest;
}

class Resolver {
 public:
  Resolver(const Pattern& pattern, int rank, const int64_t* shape)
      : pattern_(pattern), rank_(rank), shape_(shape), axes_(pattern.names.size()) {}

  void take_sizes(AxisSizes sizes) {
    for (size_t i = 0; i < sizes.count; ++i) {
      const AxisSize& given = sizes.list[i];
      const auto known = std::find(pattern_.names.begin(), pattern_.names.end(), given.name);
      if (known == pattern_.names.end()) fail_at(pattern_.text, 0, "there is no axis ", given.name);
      require(given.size >= 0, INFINI_STATUS_BAD_PARAM, given.name, " is ", given.size,
              "; expected a size");
      Axis& axis = axes_[static_cast<size_t>(known - pattern_.names.begin())];
      if (axis.extent != unknown) fail_at(pattern_.text, 0, given.name, " is given twice");
      axis.extent = given.size;
    }
  }

  // Finds where each axis of the left side lies in x, and how long it is.
  void match_left() {
    const bool has_rest =
        std::any_of(pattern_.left.begin(), pattern_.left.end(), [](auto& g) { return is_rest(g); });
    const int dims = static_cast<int>(pattern_.left.size()) - has_rest;
    rest_ = rank_ - dims;
    if (rest_ < 0 || (rest_ > 0 && !has_rest))
      fail_at(pattern_.text, pattern_.left.empty() ? 0 : pattern_.left.back().at,
              "the left side has ", dims, has_rest ? " dims besides ..." : " dims",
              ", the array has ", rank_, ": ", Extents{rank_, shape_});
    int dim = 0;
    for (const Pattern::Group& group : pattern_.left) {
      if (is_rest(group)) {
        rest_at_ = dim;
        dim += rest_;
      } else {
        match(group, dim++);
      }
    }
  }

  PatternWalk lay_out_right() {
    PatternWalk walk;
    for (const Pattern::Group& group : pattern_.right) {
      if (is_rest(group) && pattern_.text[group.at] != '(') {
        for (int i = 0; i < rest_; ++i) {
          const int dim = add_dim(walk, group, shape_[rest_at_ + i]);
          add_axis(walk, group, {shape_[rest_at_ + i], rest_at_ + i, 1, dim, 1});
        }
      } else {
        join(walk, group);
      }
    }
    return walk;
  }

  std::vector<AxisSize> named_sizes() const {
    std::vector<AxisSize> sizes;
    for (const Pattern::Group& group : pattern_.left)
      for (const Pattern::Item& item : group.items)
        if (item.axis >= 0 && pattern_.names[static_cast<size_t>(item.axis)] != "_")
          sizes.push_back({pattern_.names[static_cast<size_t>(item.axis)],
                           axes_[static_cast<size_t>(item.axis)].extent});
    return sizes;
  }

 private:
  struct Axis {
    int64_t extent = unknown;
    int dim = -1;  // of x; -1: new on the right
    int64_t scale = 0;
  };
  const std::string& name(const Pattern::Item& item) const {
    return pattern_.names[static_cast<size_t>(item.axis)];
  }
  Axis& axis(const Pattern::Item& item) { return axes_[static_cast<size_t>(item.axis)]; }

  // One dim of x: its parts multiply to it, and one of them may follow from the others.
  void match(const Pattern::Group& group, int dim) {
    const int64_t extent = shape_[dim];
    int64_t known = 1;
    const Pattern::Item* open = nullptr;
    for (const Pattern::Item& item : group.items) {
      if (item.axis == Pattern::number) {  // where sizes alone are asked for
        known = saturating_mul(known, item.size);
        continue;
      }
      if (axis(item).extent != unknown) {
        known = saturating_mul(known, axis(item).extent);
        continue;
      }
      if (open)
        fail_at(pattern_.text, item.at, "the sizes of ", name(*open), " and ", name(item),
                " in dim ", dim, " of ", extent, " are not given");
      open = &item;
    }
    if (open && known > 0 && extent % known == 0)
      axis(*open).extent = extent / known;
    else if (open)
      fail_at(pattern_.text, group.at, "dim ", dim, " has ", extent, " elements, ",
              GroupText{pattern_, group}, " makes ", known, " times ", name(*open));
    else if (known != extent)
      fail_at(pattern_.text, group.at, "dim ", dim, " has ", extent, " elements, ",
              GroupText{pattern_, group}, " makes ", known);
    int64_t scale = 1;
    for (auto item = group.items.rbegin(); item != group.items.rend(); ++item) {
      if (item->axis == Pattern::number) continue;
      axis(*item).dim = dim;
      axis(*item).scale = scale;
      scale = saturating_mul(scale, axis(*item).extent);
    }
  }

  int add_dim(PatternWalk& walk, const Pattern::Group& group, int64_t extent) {
    if (walk.rank == max_rank)
      fail_at(pattern_.text, group.at, "the result has more than ", max_rank, " dims");
    walk.shape[walk.rank] = extent;
    return walk.rank++;
  }

  void add_axis(PatternWalk& walk, const Pattern::Group& group, const PatternWalk::Axis& axis) {
    if (axis.extent == 1) return;
    if (walk.axes == max_rank) fail_at(pattern_.text, group.at, "more than ", max_rank, " axes");
    walk.walk[walk.axes++] = axis;
  }

  // The loops of one dim of the result, from the outermost; their scales follow from the right.
  void join(PatternWalk& walk, const Pattern::Group& group) {
    std::vector<PatternWalk::Axis> parts;
    for (const Pattern::Item& item : group.items) {
      if (item.axis == Pattern::number) {
        parts.push_back({item.size, -1, 0, 0, 0});
      } else if (item.axis == Pattern::rest) {
        for (int i = 0; i < rest_; ++i)
          parts.push_back({shape_[rest_at_ + i], rest_at_ + i, 1, 0, 0});
      } else {
        if (axis(item).extent == unknown)
          fail_at(pattern_.text, item.at, name(item), " is new on the right; give its size");
        parts.push_back({axis(item).extent, axis(item).dim, axis(item).scale, 0, 0});
      }
    }
    int64_t extent = 1;
    const bool empty =
        std::any_of(parts.begin(), parts.end(), [](auto& p) { return p.extent == 0; });
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      part->dst_scale = extent;
      if (!checked_mul(extent, part->extent, extent) && !empty)
        fail_at(pattern_.text, group.at, GroupText{pattern_, group}, " has too many elements");
      if (empty) extent = 0;
    }
    const int dim = add_dim(walk, group, extent);
    for (PatternWalk::Axis part : parts) {
      part.dst_dim = dim;
      add_axis(walk, group, part);
    }
  }

  const Pattern& pattern_;
  int rank_;
  const int64_t* shape_;
  std::vector<Axis> axes_;
  int rest_ = 0, rest_at_ = 0;
};

bool is_empty(const PatternWalk& walk) {
  return std::any_of(walk.walk, walk.walk + walk.axes, [](auto& axis) { return axis.extent == 0; });
}

// Strides of a layout along the loops; without elements there is nothing to step to.
template <class Along>
Layout walked(const PatternWalk& walk, infiniDtype_t dtype, Along&& along) {
  Layout layout;
  layout.dtype = dtype;
  layout.rank = walk.axes;
  const bool empty = is_empty(walk);
  for (int i = 0; i < walk.axes; ++i) {
    layout.shape[i] = walk.walk[i].extent;
    layout.strides[i] = empty ? 0 : along(walk.walk[i]);
  }
  return layout;
}

}  // namespace

PatternWalk walk_of(const Pattern& pattern, int rank, const int64_t* shape, AxisSizes sizes) {
  Resolver resolver(pattern, rank, shape);
  resolver.take_sizes(sizes);
  resolver.match_left();
  return resolver.lay_out_right();
}

std::vector<AxisSize> sizes_of(const Pattern& side, int rank, const int64_t* shape) {
  for (const Pattern::Group& group : side.left)
    if (side.text[group.at] == '(' && !group.items.empty())
      fail_at(side.text, group.at, "sizes are of whole dims; expected no parentheses");
  Resolver resolver(side, rank, shape);
  resolver.match_left();
  return resolver.named_sizes();
}

Layout walked_source(const PatternWalk& walk, const Layout& src) {
  return walked(walk, src.dtype, [&](const PatternWalk::Axis& axis) {
    return axis.src_dim < 0 ? 0 : axis.src_scale * src.strides[axis.src_dim];
  });
}

Layout walked_result(const PatternWalk& walk, const Layout& dst) {
  return walked(walk, dst.dtype, [&](const PatternWalk::Axis& axis) {
    return axis.dst_scale * dst.strides[axis.dst_dim];
  });
}

Layout result_layout(const PatternWalk& walk, infiniDtype_t dtype) {
  size_t shape[max_rank];
  std::copy_n(walk.shape, walk.rank, shape);
  return make_layout(dtype, static_cast<size_t>(walk.rank), shape, nullptr);
}

Layout view_of(const Pattern& pattern, const PatternWalk& walk, const Layout& src) {
  Layout view = result_layout(walk, src.dtype);
  if (is_empty(walk)) return view;
  const Layout loops = walked_source(walk, src);
  for (int i = walk.axes - 1; i >= 0; --i) {
    const int dim = walk.walk[i].dst_dim;
    const bool innermost = walk.walk[i].dst_scale == 1;
    if (innermost) view.strides[dim] = loops.strides[i];
    require(innermost || loops.strides[i] == loops.strides[i + 1] * loops.shape[i + 1],
            INFINI_STATUS_BAD_TENSOR_STRIDES, "pattern '", pattern.text, "': dim ", dim,
            " of the result is no view of ", src, ": its parts step ", loops.strides[i], " and ",
            loops.strides[i + 1], " elements; infini copies with rearrange");
  }
  return view;
}

}  // namespace infini
