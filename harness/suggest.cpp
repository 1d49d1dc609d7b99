// The distance between what was typed and what there is.
#include "harness/suggest.h"

#include <algorithm>
#include <cstddef>

namespace infini::harness {
namespace {

// Edits that turn `a` into `b`, or into the beginning of `b`, which is one edit more; two neighbours exchanged are one.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> edits(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      const size_t changed = a[i - 1] == b[j - 1] ? 0 : 1;
      edits[i][j] =
          std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1, edits[i - 1][j - 1] + changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
    }
  const auto& whole = edits[a.size()];
  const size_t begun =
      *std::min_element(whole.begin() + static_cast<ptrdiff_t>(b.size() / 2), whole.end());
  return a.size() < 3 ? whole[b.size()] : std::min(whole[b.size()], begun + 1);
}

constexpr size_t longest = 64;  // nobody mistypes a name by more

}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& known) {
  if (word.empty() || word.size() > longest) return "";
  std::string best;
  size_t least = word.size() <= 4 ? 2 : word.size() / 3 + 1;  // from here on it is another word
  for (const std::string& name : known) {
    const size_t edits = distance(word, name);
    if (edits >= least) continue;
    least = edits;
    best = name;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string name = nearest_name(word, known);
  return name.empty() ? "" : " (did you mean \"" + name + "\"?)";
}

}  // namespace infini::harness
