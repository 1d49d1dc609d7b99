// What somebody meant who mistyped a name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace infini::harness {

// The known name nearest to `word` in letters changed, left out, added or exchanged, if that is near enough to be
// meant; else empty. The end of a long name may be missing.
std::string nearest_name(std::string_view word, const std::vector<std::string>& known);

// " (did you mean \"NAME\"?)", or nothing: behind what is wrong with the word.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace infini::harness
