// Reading and writing reshard problems.
#include "plan/reshard/reshard_text.h"

#include <algorithm>
#include <numeric>

#include "base/aliases.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "base/error.h"

namespace infini {
namespace {

constexpr const char* kinds[] = {"replicate", "block", "balanced", "cyclic", "sizes"};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[noreturn]] void refuse(const std::string& what) const { refuse_at(place_, what); }
  [[noreturn]] void refuse_at(size_t place, const std::string& what) const {
    fail(INFINI_STATUS_BAD_PARAM, what, " at character ", place + 1, ":\n  ", text_, "\n  ",
         std::string(place, ' '), "^");
  }
  size_t place() const { return place_; }

  void skip_blanks() {
    while (place_ < text_.size() &&
           (text_[place_] == ' ' || text_[place_] == '\t' || text_[place_] == '\n'))
      ++place_;
  }
  bool at(char c) const { return place_ < text_.size() && text_[place_] == c; }
  bool take(char c) {
    if (!at(c)) return false;
    ++place_;
    return true;
  }
  bool take(std::string_view word) {
    if (text_.substr(place_, word.size()) != word) return false;
    place_ += word.size();
    return true;
  }
  void need(std::string_view what) {
    skip_blanks();
    if (!take(what)) refuse("expected \"" + std::string(what) + "\"");
  }
  std::string_view word() {
    const size_t begin = place_;
    while (place_ < text_.size() && ((text_[place_] >= 'a' && text_[place_] <= 'z') ||
                                     (text_[place_] >= '0' && text_[place_] <= '9')))
      ++place_;
    return text_.substr(begin, place_ - begin);
  }
  int64_t number() {
    const size_t begin = place_;
    int64_t value = 0;
    for (; place_ < text_.size() && text_[place_] >= '0' && text_[place_] <= '9'; ++place_)
      if (!checked_mul(value, 10, value) || !checked_add(value, text_[place_] - '0', value))
        refuse_at(begin, "this number is too large");
    if (place_ == begin) refuse("expected a number");
    return value;
  }
  int small() {
    const size_t begin = place_;
    const int64_t value = number();
    if (value > max_reshard_ranks) refuse_at(begin, "this number is too large");
    return static_cast<int>(value);
  }
  std::vector<int64_t> numbers(char separator) {
    std::vector<int64_t> all = {number()};
    while (take(separator)) all.push_back(number());
    return all;
  }
  std::vector<int> smalls(char separator) {
    std::vector<int> all = {small()};
    while (take(separator)) all.push_back(small());
    return all;
  }
  void end() {
    skip_blanks();
    if (place_ < text_.size()) refuse("expected nothing more");
  }

 private:
  std::string_view text_;
  size_t place_ = 0;
};

void read_ranks(Reader& reader, Distribution& distribution) {
  reader.skip_blanks();
  const size_t place = reader.place();
  distribution.ranks = reader.smalls(',');
  const int64_t places =
      std::accumulate(distribution.mesh.begin(), distribution.mesh.end(), int64_t{1},
                      [](int64_t a, int64_t b) { return saturating_mul(a, b); });
  if (places > max_reshard_ranks) reader.refuse_at(place, "a mesh of so many places is too large");
  if (distribution.ranks.size() == 1) {  // the first of them
    distribution.ranks.resize(static_cast<size_t>(std::max<int64_t>(places, 1)),
                              distribution.ranks[0]);
    std::iota(distribution.ranks.begin(), distribution.ranks.end(), distribution.ranks[0]);
  }
  if (distribution.ranks.size() != static_cast<size_t>(places))
    reader.refuse_at(place, "expected the first rank, or " + std::to_string(places) + " of them");
}

Split read_split(Reader& reader) {
  reader.skip_blanks();
  const size_t place = reader.place();
  const std::string_view word = reader.word();
  const auto* found = std::find(std::begin(kinds), std::end(kinds), word);
  if (found == std::end(kinds))
    reader.refuse_at(place, "expected replicate, block, balanced, cyclic:BLOCK or sizes:A/B/...");
  Split split;
  split.kind = static_cast<SplitKind>(found - std::begin(kinds));
  if (split.kind == SplitKind::cyclic) {
    reader.need(":");
    split.block = reader.number();
  } else if (split.kind == SplitKind::sizes) {
    reader.need(":");
    split.sizes = reader.numbers('/');
  }
  if (reader.at('@') && split.kind == SplitKind::replicate)
    reader.refuse("what is replicated is not cut over axes");
  if (reader.take('@')) split.axes = reader.smalls('+');
  return split;
}

// Cut dims without axes of their own take the first, second, ... axis.
void give_axes(Reader& reader, size_t place, Distribution& distribution) {
  const auto cut = [](const Split& split) { return split.kind != SplitKind::replicate; };
  const auto named = [](const Split& split) { return !split.axes.empty(); };
  auto& dims = distribution.dims;
  if (std::any_of(dims.begin(), dims.end(), named)) {
    if (!std::all_of(dims.begin(), dims.end(),
                     [&](const Split& split) { return !cut(split) || named(split); }))
      reader.refuse_at(place, "either every cut dim names its axes of the mesh or none does,");
    return;
  }
  int axis = 0;
  for (Split& split : dims)
    if (cut(split)) split.axes = {axis++};
  if (axis > static_cast<int>(distribution.mesh.size()))
    reader.refuse_at(place, std::to_string(axis) + " dims are cut over a mesh of " +
                                std::to_string(distribution.mesh.size()) + " axes");
}

Distribution read_distribution(Reader& reader, const std::vector<int64_t>& shape) {
  Distribution distribution;
  distribution.shape = shape;
  reader.need("(");
  reader.skip_blanks();
  distribution.mesh = reader.numbers('x');
  reader.skip_blanks();
  if (reader.take("ranks")) read_ranks(reader, distribution);
  reader.need(":");
  reader.skip_blanks();
  const size_t place = reader.place();
  while (distribution.dims.size() < shape.size()) {
    if (!distribution.dims.empty()) reader.need(",");
    distribution.dims.push_back(read_split(reader));
  }
  reader.need(")");
  give_axes(reader, place, distribution);
  try {
    const Placement checked(distribution, "this distribution");
  } catch (const Error& error) {
    reader.refuse_at(place, error.what());
  }
  return distribution;
}

std::vector<int> read_order(Reader& reader, size_t dims) {
  std::vector<int> order(dims);
  std::iota(order.begin(), order.end(), 0);
  reader.skip_blanks();
  if (!reader.take("perm=")) return order;
  const size_t place = reader.place();
  std::vector<int> given = reader.smalls(',');
  if (!std::is_permutation(given.begin(), given.end(), order.begin(), order.end()))
    reader.refuse_at(place, "expected each of the source's dims once");
  return given;
}

std::string joined(const auto& numbers, char separator) {
  std::string text;
  for (const auto number : numbers)
    text += (text.empty() ? "" : std::string(1, separator)) + std::to_string(number);
  return text;
}

// The axes that dims take when nothing is said.
bool has_default_axes(const Distribution& distribution) {
  int axis = 0;
  for (const Split& split : distribution.dims)
    if (split.kind != SplitKind::replicate && split.axes != std::vector<int>{axis++}) return false;
  return true;
}

std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.empty()) return "";
  bool consecutive = true;
  for (size_t i = 1; i < ranks.size(); ++i)
    consecutive = consecutive && ranks[i] == ranks[0] + static_cast<int>(i);
  return " ranks " + (consecutive ? std::to_string(ranks[0]) : joined(ranks, ','));
}

infiniDtype_t read_dtype(Reader& reader) {
  reader.skip_blanks();
  const size_t first = reader.place();
  const infiniDtype_t dtype = dtype_from_any_name(reader.word());
  if (dtype == INFINI_DTYPE_INVALID)
    reader.refuse_at(first, "expected an element type such as f16");
  reader.skip_blanks();
  return dtype;
}

Distribution read_matrix(Reader& reader) {
  reader.skip_blanks();
  const size_t place = reader.place();
  const std::vector<int64_t> shape = reader.numbers('x');
  if (shape.size() != 2) reader.refuse_at(place, "expected a matrix, ROWSxCOLUMNS,");
  return read_distribution(reader, shape);
}

}  // namespace

ReshardPlan parse_reshard(std::string_view text) {
  Reader reader(text);
  const infiniDtype_t dtype = read_dtype(reader);
  std::vector<int64_t> shape;
  if (!reader.take("scalar")) shape = reader.numbers('x');
  if (shape.size() > max_reshard_rank)
    reader.refuse("expected at most " + std::to_string(max_reshard_rank) + " dims");
  const Distribution source = read_distribution(reader, shape);
  reader.need("->");
  const std::vector<int> order = read_order(reader, shape.size());
  std::vector<int64_t> permuted;
  for (const int dim : order) permuted.push_back(shape[static_cast<size_t>(dim)]);
  const Distribution destination = read_distribution(reader, permuted);
  reader.end();
  return {dtype, destination, source, order};
}

ProductPlan parse_product(std::string_view text) {
  Reader reader(text);
  const infiniDtype_t dtype = read_dtype(reader);
  const Distribution a = read_matrix(reader);
  reader.need("*");
  const Distribution b = read_matrix(reader);
  reader.need("->");
  const Distribution c = read_distribution(reader, {a.shape[0], b.shape[1]});
  reader.skip_blanks();
  const int64_t panel = reader.take("panel=") ? reader.number() : 0;
  reader.end();
  return {dtype, c, a, b, panel};
}

Distribution parse_distribution(std::string_view text, const std::vector<int64_t>& shape) {
  Reader reader(text);
  Distribution distribution = read_distribution(reader, shape);
  reader.end();
  return distribution;
}

std::string to_text(const Distribution& distribution) {
  const bool plain = has_default_axes(distribution);
  std::string text = "(" + joined(distribution.mesh, 'x') + ranks_text(distribution.ranks) + ":";
  for (const Split& split : distribution.dims) {
    text += std::string(&split == distribution.dims.data() ? " " : ",") +
            kinds[static_cast<int>(split.kind)];
    if (split.kind == SplitKind::cyclic) text += ":" + std::to_string(split.block);
    if (split.kind == SplitKind::sizes) text += ":" + joined(split.sizes, '/');
    if (!plain && !split.axes.empty()) text += "@" + joined(split.axes, '+');
  }
  return text + ")";
}

std::string to_text(const ProductPlan& plan) {
  const Distribution &a = plan.a().distribution(), &b = plan.b().distribution();
  return std::string(dtype_name(plan.dtype())) + " " + joined(a.shape, 'x') + " " + to_text(a) +
         " * " + joined(b.shape, 'x') + " " + to_text(b) + " -> " +
         to_text(plan.c().distribution()) + " panel=" + std::to_string(plan.panel());
}

std::string to_text(const ReshardPlan& plan) {
  const Distribution& source = plan.source().distribution();
  std::string text = std::string(dtype_name(plan.dtype())) + " " +
                     (source.shape.empty() ? "scalar" : joined(source.shape, 'x')) + " " +
                     to_text(source) + " -> ";
  if (!std::is_sorted(plan.order().begin(), plan.order().end()))
    text += "perm=" + joined(plan.order(), ',') + " ";
  return text + to_text(plan.destination().distribution());
}

}  // namespace infini
