// Random problems by structure and alignment.
#include "harness/rearrange/padded_problems.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "base/dtype.h"

namespace infini::harness {
namespace {

constexpr int64_t line = 64;

// A dim and how far its neighbour in the same order lies, in steps of what is inside of it.
struct Dim {
  int64_t extent;
  int64_t dst_stretch = 1, src_stretch = 1;  // every n-th place; of src 0: stands still
  bool dst_reversed = false, src_reversed = false;
};

// Each magnitude up to `most` is as likely as any other; half of them are powers of two and their neighbours.
int64_t length(Random& random, int64_t most) {
  if (most <= 2) return std::max<int64_t>(most, 1);
  const int bits =
      static_cast<int>(random.between(1, std::bit_width(static_cast<uint64_t>(most)) - 1));
  const int64_t power = int64_t{1} << bits;
  const int64_t value =
      random.one_in(2) ? power + random.between(-1, 1) : random.between(power, 2 * power - 1);
  return std::clamp<int64_t>(value, 1, most);
}

// The smallest number from `bytes` on that is a multiple of `alignment` but not of twice as much; of a line any multiple.
int64_t aligned_exactly(int64_t bytes, int64_t alignment) {
  const int64_t multiple = (bytes + alignment - 1) / alignment;
  const bool too_good = alignment < line && multiple % 2 == 0;
  return (multiple + (too_good ? 1 : 0)) * alignment;
}

// That whole elements have, half of the time theirs alone: as what is padded by an odd number of them.
int64_t any_alignment(Random& random, int64_t least) {
  if (random.one_in(2)) return std::min(least, line);
  const int bits = std::countr_zero(static_cast<uint64_t>(std::min(least, line)));
  return int64_t{1} << random.between(bits, 6);
}

// The dims that are drawn, and the limits of the drawing.
class Drawing {
 public:
  Drawing(Random& random, const PaddedShape& shape, infiniDtype_t dtype)
      : random_(random),
        shape_(shape),
        dtype_(dtype),
        element_(dtype_bytes(dtype)),
        room_(std::max<int64_t>(shape.most_bytes / element_, 8)) {}

  void draw() {
    if (shape_.structure == Structure::repeat) room_ = std::max<int64_t>(room_ / 3, 8);
    draw_atom();
    switch (shape_.structure) {
      case Structure::transpose: draw_transpose(); break;
      case Structure::block: draw_block(); break;
      case Structure::repeat: draw_repeat(); break;
      default: draw_run();
    }
    const size_t whole = shape_.word > 0 ? atom_dims_ : 0;  // what is asked for is one word
    for (size_t i = whole; i < dims_.size(); ++i) {
      dims_[i].src_reversed = dims_[i].src_reversed != random_.one_in(12);
      dims_[i].dst_reversed = random_.one_in(24);
    }
  }
  void draw_deep();
  RearrangeProblem problem();

 private:
  size_t add(const Dim& dim) {
    dims_.push_back(dim);
    room_ /= dim.extent;
    return dims_.size() - 1;
  }
  // On both sides outside of all that are there.
  void add_outside(const Dim& dim) {
    const size_t i = add(dim);
    dst_order_.push_back(i);
    src_order_.push_back(i);
  }
  void end_run() { tight_ = dst_order_.size(); }
  void draw_atom();
  void draw_transpose();
  void draw_run();
  void draw_block();
  void draw_repeat();
  void draw_batches();
  int64_t alignment_of(bool dst, size_t place);
  std::vector<ptrdiff_t> strides(bool dst);

  Random& random_;
  PaddedShape shape_;
  infiniDtype_t dtype_;
  int64_t element_, room_;  // elements that may still be drawn
  std::vector<Dim> dims_;
  std::vector<size_t> dst_order_, src_order_;  // innermost first
  size_t atom_dims_ = 0;
  size_t tight_ = 0;  // as many of them are hardly ever padded
};

void Drawing::draw_atom() {
  const int64_t bytes = shape_.word > 0 ? shape_.word : random_.between(1, 40);
  if (bytes / element_ > 1) add_outside({bytes / element_});
  atom_dims_ = dims_.size();
}

void Drawing::draw_batches() {
  if (shape_.outer < 0) return;
  if (shape_.outer > 0) add_outside({random_.between(2, 4)});
  while (room_ >= 2 && random_.one_in(2))
    add_outside({random_.between(2, std::min<int64_t>(room_, 5))});
}

// dst: rows, columns; src: columns, rows; both sides of one or two dims.
void Drawing::draw_transpose() {
  const int64_t batches = random_.one_in(2) ? random_.between(2, 6) : 1;
  room_ = std::max<int64_t>(4, room_ / batches);
  const int64_t least = shape_.least_side;
  const int64_t row_count = std::max(least, length(random_, room_ / least));
  const int64_t column_count = std::max(least, length(random_, room_ / row_count));
  std::vector<size_t> rows, columns;
  const auto split = [&](std::vector<size_t>& side, int64_t count) {
    const int64_t inner = count > 8 && random_.one_in(4) ? random_.between(2, 7) : count;
    side.push_back(add({inner}));
    if (inner < count) side.push_back(add({count / inner}));
  };
  split(rows, row_count);
  split(columns, column_count);
  const auto append = [](std::vector<size_t>& order, const std::vector<size_t>& side) {
    order.insert(order.end(), side.begin(), side.end());
  };
  append(dst_order_, rows);
  end_run();
  append(dst_order_, columns);
  append(src_order_, columns);
  append(src_order_, rows);
  room_ = batches;
  draw_batches();
}

void Drawing::draw_run() {
  const Structure kind = shape_.structure;
  const int64_t ways = random_.between(2, random_.one_in(2) ? 9 : 4);
  const bool woven = kind == Structure::weave, planar = woven || kind == Structure::unweave;
  const int64_t count = std::max<int64_t>(2, length(random_, planar ? room_ / ways : room_));
  if (planar) {
    const size_t planes = add({ways}), along = add({count});
    for (const size_t i : {planes, along}) (woven ? dst_order_ : src_order_).push_back(i);
    for (const size_t i : {along, planes}) (woven ? src_order_ : dst_order_).push_back(i);
  } else {
    add_outside({count, kind == Structure::spread ? ways : 1,
                 kind == Structure::fill   ? 0
                 : kind == Structure::step ? ways
                                           : 1,
                 false, kind == Structure::flip});
  }
  end_run();
  if (kind == Structure::unweave) --tight_;
  if (shape_.columns > 0) add_outside({random_.between(2, 5), 1, random_.one_in(6) ? 0 : 1});
  if (shape_.outer > 0) add_outside({random_.between(2, 3)});
  while (room_ >= 2 && shape_.outer >= 0 && !random_.one_in(3))
    add_outside({std::max<int64_t>(2, length(random_, room_)), 1, random_.one_in(6) ? 0 : 1});
}

void shuffle(Random& random, std::vector<size_t>& order, size_t begin) {
  for (size_t i = order.size(); i > begin + 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(random.between(
                                static_cast<int64_t>(begin), static_cast<int64_t>(i) - 1))]);
}

void Drawing::draw_block() {
  for (int64_t n = random_.between(1, 4); n > 0 && room_ >= 4; --n)
    add_outside({random_.between(2, std::min<int64_t>(room_ / 2, 9))});
  shuffle(random_, src_order_, atom_dims_);
  end_run();
  while (room_ >= 2 && dims_.size() < 8 && !random_.one_in(3))
    add_outside({std::max<int64_t>(2, length(random_, room_))});
  if (random_.one_in(3)) shuffle(random_, src_order_, atom_dims_);
}

void Drawing::draw_repeat() {
  if (random_.one_in(2))
    draw_block();
  else
    draw_transpose();
  if (!dims_.empty())
    dims_[static_cast<size_t>(random_.between(0, static_cast<int64_t>(dims_.size()) - 1))]
        .src_stretch = 0;
  add_outside({random_.between(2, 9), 1, random_.one_in(2) ? 0 : 1});
  if (random_.one_in(2)) end_run();
}

void Drawing::draw_deep() {
  room_ = int64_t{1} << random_.between(0, 14);
  for (int64_t rank = random_.between(0, max_rank); rank > 0; --rank) {
    const auto stretch = [&] { return random_.one_in(16) ? random_.between(2, 3) : 1; };
    const int64_t extent =
        room_ < 2 || random_.one_in(3) ? 1 : random_.between(1, std::min<int64_t>(room_, 3));
    add_outside({extent, stretch(), random_.one_in(8) ? 0 : stretch(), random_.one_in(4),
                 random_.one_in(3)});
  }
  tight_ = std::min(dims_.size(), static_cast<size_t>(random_.between(0, 4)));
  if (!random_.one_in(4)) shuffle(random_, src_order_, tight_);
  if (random_.one_in(2)) shuffle(random_, dst_order_, tight_);
  if (random_.one_in(2)) end_run();
}

// Of the step of a dim, or 0: as it comes.
int64_t Drawing::alignment_of(bool dst, size_t place) {
  if (place == 0) return 0;
  const bool asked = dst && shape_.columns > 0;
  if (place < tight_) return !asked && random_.one_in(16) ? any_alignment(random_, element_) : 0;
  if (dst && place == tight_ && shape_.columns > 0) return shape_.columns;
  if (dst && place > tight_ && shape_.outer != 0) return std::max<int64_t>(shape_.outer, 0);
  if (!dst && random_.one_in(3)) return line;  // as most rows of src have it
  return random_.one_in(3) ? 0 : any_alignment(random_, element_);
}

// In elements, with gaps between what lies side by side.
std::vector<ptrdiff_t> Drawing::strides(bool dst) {
  std::vector<ptrdiff_t> strides(dims_.size());
  const auto& order = dst ? dst_order_ : src_order_;
  int64_t step = element_;  // bytes
  for (size_t i = 0; i < order.size(); ++i) {
    const Dim& dim = dims_[order[i]];
    const int64_t stretch = dst ? dim.dst_stretch : dim.src_stretch;
    // What is short is not padded to many times its length: large problems would not fit into memory.
    const int64_t most = 4 * static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(step)));
    if (const int64_t alignment = alignment_of(dst, i); alignment > 0)
      step = aligned_exactly(step, std::min(alignment, std::max(most, element_)));
    const ptrdiff_t stride = step / element_ * stretch;
    strides[order[i]] = (dst ? dim.dst_reversed : dim.src_reversed) ? -stride : stride;
    if (dim.extent == 1)
      strides[order[i]] = static_cast<ptrdiff_t>(random_.next());  // means nothing
    else if (stretch != 0)
      step *= dim.extent * stretch;
  }
  return strides;
}

// Dims in any order: what a plan sees of them is the order in memory.
RearrangeProblem Drawing::problem() {
  std::vector<size_t> place(dims_.size());
  std::iota(place.begin(), place.end(), size_t{0});
  shuffle(random_, place, 0);
  const auto dst = strides(true), src = strides(false);
  std::vector<size_t> shape(place.size());
  std::vector<ptrdiff_t> dst_strides(place.size()), src_strides(place.size());
  for (size_t i = 0; i < place.size(); ++i) {
    shape[place[i]] = static_cast<size_t>(dims_[i].extent);
    dst_strides[place[i]] = dst[i];
    src_strides[place[i]] = src[i];
  }
  // Of two problems one begins with a line.
  const auto any_place = [&] {
    return random_.one_in(2) ? 0
                             : aligned_exactly(random_.between(0, 63), any_alignment(random_, 1));
  };
  RearrangeProblem problem{
      .dst = make_layout(dtype_, shape.size(), shape.data(), dst_strides.data()),
      .src = make_layout(dtype_, shape.size(), shape.data(), src_strides.data()),
      .dst_at = any_place(),
      .src_at = any_place()};
  if (shape_.base > 0)  // of its first byte, wherever dims that run backwards put that
    problem.dst_at = aligned_exactly(64 * random_.between(0, 1), shape_.base) -
                     byte_range(problem.dst).begin % 64;
  return problem;
}

// Elements that divide all that is asked for.
infiniDtype_t any_dtype(Random& random, const PaddedShape& shape) {
  static constexpr infiniDtype_t types[] = {INFINI_DTYPE_U8, INFINI_DTYPE_F16, INFINI_DTYPE_F32,
                                            INFINI_DTYPE_F64, INFINI_DTYPE_C128};
  int64_t common = std::gcd(shape.word, std::max<int64_t>(shape.columns, 0));
  common = std::gcd(common, std::max<int64_t>(shape.outer, 0));
  int64_t most = 4;
  while (common != 0 && common % (int64_t{1} << most) != 0) --most;
  return types[random.between(0, most)];
}

}  // namespace

RearrangeProblem random_padded_problem(Random& random, const PaddedShape& wanted) {
  PaddedShape shape = wanted;
  if (shape.structure == Structure::any && random.one_in(2)) shape.structure = Structure::transpose;
  if (shape.structure == Structure::any)
    shape.structure =
        static_cast<Structure>(random.between(0, static_cast<int>(Structure::any) - 1));
  // Mostly elements that are, or together make, a word.
  if (shape.word == 0 && !random.one_in(4)) shape.word = int64_t{1} << random.between(0, 4);
  Drawing drawing(random, shape, any_dtype(random, shape));
  drawing.draw();
  return drawing.problem();
}

RearrangeProblem random_deep_problem(Random& random) {
  Drawing drawing(random, {}, static_cast<infiniDtype_t>(random.between(1, dtype_count - 1)));
  drawing.draw_deep();
  return drawing.problem();
}

RearrangeProblem random_mixed_problem(Random& random, int64_t least_bytes, int64_t most_bytes) {
  const auto bits = [](int64_t n) { return std::bit_width(static_cast<uint64_t>(n)) - 1; };
  const int64_t power = int64_t{1} << random.between(bits(least_bytes), bits(most_bytes)),
                bytes = std::clamp(power + random.between(0, power), least_bytes, most_bytes);
  if (!random.one_in(3)) return random_padded_problem(random, {.most_bytes = bytes});
  if (random.one_in(6)) return random_deep_problem(random);
  RandomShape limits;
  limits.max_elements = std::max<int64_t>(bytes / 4, 16);
  limits.wide = bytes >= 1 << 18;
  return random_problem(random, limits);
}

}  // namespace infini::harness
