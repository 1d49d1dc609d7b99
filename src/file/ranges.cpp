// Ranges of indices as Python writes them.
#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "file/jobs.h"

namespace infini::file {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t from = 0;;) {
    const size_t end = text.find(at, from);
    parts.push_back(text.substr(from, end - from));
    if (end == text.npos) return parts;
    from = end + 1;
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

int64_t number(std::string_view text, std::string_view whole) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc() && end == text.data() + text.size(), INFINI_STATUS_BAD_PARAM,
          "the range \"", whole, "\" has \"", text, "\" for a whole number");
  return value;
}

// As Python's slice.indices.
Range range_of(std::string_view text, int64_t extent, size_t dim) {
  const auto parts = split(text, ':');
  require(parts.size() <= 3, INFINI_STATUS_BAD_PARAM, "the range \"", text,
          "\" has more than two colons");
  if (parts.size() == 1 && !trimmed(text).empty()) {
    const int64_t index = number(trimmed(text), text), at = index < 0 ? index + extent : index;
    require(at >= 0 && at < extent, INFINI_STATUS_BAD_PARAM, "index ", index, " is not in dim ",
            dim, ", which has ", extent);
    return {at, 1, 1};
  }
  const auto part = [&](size_t i) {
    return i < parts.size() ? trimmed(parts[i]) : std::string_view();
  };
  const int64_t step = part(2).empty() ? 1 : number(part(2), text);
  require(step != 0 && step != INT64_MIN, INFINI_STATUS_BAD_PARAM, "the range \"", text,
          "\" has a step of ", step);
  const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? extent - 1 : extent;
  const auto end = [&](size_t i, int64_t otherwise) {
    if (part(i).empty()) return otherwise;
    const int64_t value = number(part(i), text);
    return std::clamp(value < 0 ? std::max(value, -extent - 1) + extent : value, low, high);
  };
  const int64_t first = end(0, step < 0 ? high : low), stop = end(1, step < 0 ? low : high);
  const int64_t reach = step > 0 ? stop - first : first - stop;
  const int64_t count = reach <= 0 ? 0 : 1 + (reach - 1) / (step < 0 ? -step : step);
  return {first, count, count <= 1 ? 1 : step};
}

// Without the comma that Python allows behind the last, and with "..." written out.
std::vector<std::string_view> ranges_of(std::string_view text, size_t rank) {
  auto parts = split(text, ',');
  if (parts.size() > 1 && trimmed(parts.back()).empty()) parts.pop_back();
  const auto dots = [](std::string_view part) { return trimmed(part) == "..."; };
  const auto found = std::find_if(parts.begin(), parts.end(), dots);
  if (found == parts.end() || parts.size() > rank + 1) return parts;
  const size_t left = rank + 1 - parts.size();
  parts.insert(parts.erase(found), left, ":");
  return parts;
}

}  // namespace

std::vector<Range> parse_ranges(std::string_view text, const std::vector<int64_t>& shape) {
  const auto parts = ranges_of(text, shape.size());
  require(parts.size() <= std::max<size_t>(shape.size(), 1), INFINI_STATUS_BAD_PARAM, "\"", text,
          "\" has ", parts.size(), " ranges; the tensor has ", shape.size(), " dims");
  std::vector<Range> ranges;
  for (size_t i = 0; i < shape.size(); ++i)
    ranges.push_back(range_of(i < parts.size() ? parts[i] : std::string_view(":"), shape[i], i));
  return ranges;
}

}  // namespace infini::file
