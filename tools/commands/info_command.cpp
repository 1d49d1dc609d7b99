// infini info: the tensors of files, those that differ in a number of their names alone on one line.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/json.h"
#include "file/tensor_file.h"
#include "harness/text.h"
#include "ops/explain/plan_picture.h"
#include "tools/commands.h"

namespace infini::tools {
namespace {

using file::Catalogue;
using file::FileTensor;

// A name between its numbers: "layers.3.mlp.0" is {"layers.", ".mlp.", ""} and {3, 0}.
struct SplitName {
  std::vector<std::string> text = {""};
  std::vector<int64_t> numbers;
};

SplitName split_name(const std::string& name) {
  constexpr size_t most_digits = 9;
  SplitName split;
  for (size_t at = 0; at < name.size();) {
    const size_t end = std::min(name.find_first_not_of("0123456789", at), name.size());
    const bool number = end > at && end - at <= most_digits && (name[at] != '0' || end == at + 1);
    if (number) {
      split.numbers.push_back(std::stoll(name.substr(at, end - at)));
      split.text.emplace_back();
      at = end;
    } else {
      const size_t next = std::max(end, at + 1);
      split.text.back() += name.substr(at, next - at);
      at = next;
    }
  }
  return split;
}

// Tensors of one type and shape, whose names have the same text around their numbers.
struct Group {
  const FileTensor* first = nullptr;
  SplitName name;
  std::vector<std::set<int64_t>> numbers;  // found in each place
  int64_t count = 0, bytes = 0;
};

std::vector<Group> group_tensors(const Catalogue& in) {
  std::vector<Group> groups;
  std::map<std::tuple<std::vector<std::string>, int, bool, bool, std::vector<int64_t>>, size_t>
      known;
  for (const FileTensor& tensor : in.tensors) {
    SplitName name = split_name(tensor.name);
    const auto [found, is_new] = known.try_emplace(
        {name.text, tensor.dtype, tensor.e5m2, tensor.fortran, tensor.shape}, groups.size());
    if (is_new) {
      groups.push_back({&tensor, name, {}, 0, 0});
      groups.back().numbers.resize(name.numbers.size());
    }
    Group& group = groups[found->second];
    for (size_t i = 0; i < name.numbers.size(); ++i) group.numbers[i].insert(name.numbers[i]);
    ++group.count;
    group.bytes += tensor.bytes();
  }
  return groups;
}

// "layers.{0-31}.w"; where numbers are left out, with how many there are: "layers.{0-31}.w (30 of these)".
std::string group_name(const Group& group) {
  std::string text = group.name.text[0];
  int64_t product = 1;
  for (size_t i = 0; i < group.numbers.size(); ++i) {
    const int64_t low = *group.numbers[i].begin(), high = *group.numbers[i].rbegin();
    product *= high - low + 1;
    text += low == high ? std::to_string(low)
                        : "{" + std::to_string(low) + "-" + std::to_string(high) + "}";
    text += group.name.text[i + 1];
  }
  return product == group.count ? text : text + " (" + std::to_string(group.count) + " of these)";
}

std::string shape_text(const FileTensor& tensor) {
  return tensor.shape.empty() ? "scalar" : harness::join(tensor.shape, 'x');
}

struct Line {
  std::string type, shape, size, name;
};

Line line_of(const FileTensor& tensor, int64_t bytes, const std::string& name) {
  return {file::type_name(tensor.dtype, tensor.e5m2), shape_text(tensor), bytes_text(bytes),
          (name.empty() ? "''" : printable(name)) + (tensor.fortran ? " (column-major)" : "")};
}

void print_lines(const std::vector<Line>& lines) {
  constexpr size_t widest_shape = 20;  // what is longer moves its own line alone
  size_t type = 0, shape = 0, size = 0;
  for (const Line& line : lines) {
    type = std::max(type, line.type.size());
    shape = std::max(shape, std::min(line.shape.size(), widest_shape));
    size = std::max(size, line.size.size());
  }
  for (const Line& line : lines)
    std::printf("  %-*s %-*s %*s %s\n", static_cast<int>(type), line.type.c_str(),
                static_cast<int>(shape), line.shape.c_str(), static_cast<int>(size),
                line.size.c_str(), line.name.c_str());
}

void print_table(const Catalogue& in, bool all) {
  int64_t bytes = 0;
  for (const FileTensor& tensor : in.tensors) bytes += tensor.bytes();
  const std::string files =
      in.kind == file::FileKind::sharded ? " in " + std::to_string(in.parts.size()) + " files" : "";
  std::printf("%s: %s, %zu tensor%s%s, %s\n", printable(in.path).c_str(), file::kind_name(in.kind),
              in.tensors.size(), in.tensors.size() == 1 ? "" : "s", files.c_str(),
              bytes_text(bytes).c_str());
  std::vector<Line> lines;
  if (all)
    for (const FileTensor& tensor : in.tensors)
      lines.push_back(line_of(tensor, tensor.bytes(), tensor.name));
  else
    for (const Group& group : group_tensors(in))
      lines.push_back(line_of(*group.first, group.bytes,
                              group.count == 1 ? group.first->name : group_name(group)));
  print_lines(lines);
  for (const auto& [key, value] : in.metadata)
    std::printf("  %s: %s\n", printable(key).c_str(), printable(value).c_str());
}

void print_json(const Catalogue& in) {
  std::vector<std::string> items;
  for (const FileTensor& tensor : in.tensors) {
    JsonObject item;
    item.add("name", tensor.name).add("dtype", file::type_name(tensor.dtype, tensor.e5m2));
    item.add_json("shape", "[" + harness::join(tensor.shape, ',') + "]");
    item.add("bytes", tensor.bytes())
        .add("file", in.parts[static_cast<size_t>(tensor.part)]->path());
    items.push_back(item.add("offset", tensor.offset).text());
  }
  JsonObject object;
  object.add("path", in.path).add("format", std::string(file::kind_name(in.kind)));
  std::printf("%s\n", object.add_json("tensors", json_array(items)).text().c_str());
}

}  // namespace

int run_info(Arguments& arguments) {
  const bool as_json = arguments.take_flag("--json"), all = arguments.take_flag("--all");
  int status = 0;
  for (const std::string& path : words_of(arguments, 1, 100000, "FILE...")) try {
      const Catalogue in = file::open_catalogue(path);
      as_json ? print_json(in) : print_table(in, all);
    } catch (const Error& error) {  // of one file: the others are told all the same
      std::fflush(stdout);
      std::fprintf(stderr, "infini: %s\n", printable(error.what()).c_str());
      status = 2;
    }
  return status;
}

}  // namespace infini::tools
