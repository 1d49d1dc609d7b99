// What a pattern means for a shape: asked in the words of a Python call, remembered by each thread.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/array.h"
#include "infinicore/pattern.hpp"

namespace infini::python {

std::string_view text_of(nb::handle pattern);

// What a pattern was asked for: the text, x's shape and the given sizes, as plain bytes and numbers.
struct Question {
  std::string_view text;
  int rank;
  const int64_t* shape;
  infinicore::AxisSize sizes[max_rank];  // names belong to the call's keywords
  size_t count = 0;
  nb::object out;

  void take(nb::handle name, nb::handle value);
  uint64_t hash() const {
    uint64_t mixed = std::hash<std::string_view>()(text);
    const auto mix = [&](uint64_t word) { mixed = (mixed ^ word) * 0xff51afd7ed558ccdu; };
    for (int i = 0; i < rank; ++i) mix(static_cast<uint64_t>(shape[i]));
    for (size_t i = 0; i < count; ++i) mix(sizes[i].size);
    return mixed ^ mixed >> 32;
  }
};

struct Answer {
  uint64_t hash = 0;
  std::string text;
  std::vector<int64_t> shape;
  std::vector<std::pair<std::string, size_t>> sizes;
  infinicore::PatternWalk walk;
  std::vector<int64_t> result;

  bool is_for(const Question& question, uint64_t other) const {
    if (hash != other || text != question.text || sizes.size() != question.count ||
        shape.size() != static_cast<size_t>(question.rank) ||
        std::memcmp(shape.data(), question.shape, shape.size() * sizeof shape[0]) != 0)
      return false;
    for (size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i].first != question.sizes[i].name || sizes[i].second != question.sizes[i].size)
        return false;
    return true;
  }
};

// Of the calling thread; good until its next question.
const Answer& ask(const Question& question);

// What infini.torch and infini.jax ask for.
void bind_pattern_meaning(nb::module_& module);

}  // namespace infini::python
