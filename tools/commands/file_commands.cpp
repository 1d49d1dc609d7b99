// infini info, convert, rearrange, slice, shard, unshard: tensors in files.
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "base/error.h"
#include "base/json.h"
#include "bench/interrupt.h"
#include "file/jobs.h"
#include "harness/text.h"
#include "tools/commands.h"
#include "tools/report/report.h"

namespace infini::tools {
namespace {

using file::JobOptions;

// 512M, 2G, 100000.
int64_t parse_bytes(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  const std::string unit = end;
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  require(end != text.c_str() && shift >= 0 && errno == 0 && number >= 1 &&
              number <= (INT64_MAX >> shift),
          INFINI_STATUS_BAD_PARAM, "--memory is \"", text, "\"; expected bytes such as 512M or 2G");
  return static_cast<int64_t>(number) << shift;
}

// A line that is written over, on a terminal alone.
class Meter {
 public:
  void operator()(int64_t done, int64_t all) {
    bench::end_if_interrupted();
    if (!shown_) return;
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double rate = static_cast<double>(done) / std::max(seconds, 1e-9);
    std::fprintf(stderr, "\r%5.1f %%  %8.1f MB/s  %6.0f s left ",
                 100.0 * static_cast<double>(done) / static_cast<double>(std::max<int64_t>(all, 1)),
                 rate / 1e6, static_cast<double>(all - done) / std::max(rate, 1.0));
    std::fflush(stderr);
    drawn_ = true;
  }
  ~Meter() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }

 private:
  bool shown_ = isatty(STDERR_FILENO) == 1, drawn_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

JobOptions take_options(Arguments& arguments) {
  JobOptions options;
  options.memory = parse_bytes(arguments.take_value("--memory", "1G"));
  options.replace = arguments.take_flag("--replace");
  options.glob = arguments.take_value("--tensor", "*");
  options.dtype = arguments.take_value("--dtype", "");
  return options;
}

// Runs a job; Ctrl-C ends it and leaves nothing behind.
template <class Body>
int run_job(JobOptions options, const Body& body) {
  bench::watch_interrupts();
  try {
    Meter meter;
    options.progress = [&](int64_t done, int64_t all) { meter(done, all); };
    body(options);
  } catch (const bench::Interrupted&) {
    bench::end_as_interrupted();
    return 130;
  }
  return 0;
}

std::vector<std::string> words_of(Arguments& arguments, size_t least, size_t most,
                                  const char* expected) {
  std::vector<std::string> words = arguments.rest();
  require(words.size() >= least && words.size() <= most, INFINI_STATUS_BAD_PARAM, "expected ",
          expected, "; got ", words.size(), " words");
  return words;
}

std::string shape_text(const file::FileTensor& tensor) {
  return tensor.shape.empty() ? "scalar" : harness::join(tensor.shape, 'x');
}

void print_table(const file::Catalogue& in) {
  int64_t bytes = 0;
  for (const auto& tensor : in.tensors) bytes += tensor.bytes();
  std::printf("%s: %s, %zu tensor%s, %lld bytes\n", in.path.c_str(), file::kind_name(in.kind),
              in.tensors.size(), in.tensors.size() == 1 ? "" : "s", static_cast<long long>(bytes));
  for (const auto& tensor : in.tensors)
    std::printf("  %-8s %-20s %12lld  %s%s\n", file::type_name(tensor.dtype, tensor.e5m2).c_str(),
                shape_text(tensor).c_str(), static_cast<long long>(tensor.bytes()),
                tensor.name.c_str(), tensor.fortran ? " (column-major)" : "");
  for (const auto& [key, value] : in.metadata)
    std::printf("  %s: %s\n", key.c_str(), value.c_str());
}

void print_json(const file::Catalogue& in) {
  std::vector<std::string> items;
  for (const auto& tensor : in.tensors) {
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
  const bool as_json = arguments.take_flag("--json");
  for (const std::string& path : words_of(arguments, 1, 100000, "FILE..."))
    as_json ? print_json(file::open_catalogue(path)) : print_table(file::open_catalogue(path));
  return 0;
}

int run_convert(Arguments& arguments) {
  const JobOptions options = take_options(arguments);
  const auto words = words_of(arguments, 2, 2, "IN OUT");
  return run_job(options, [&](const JobOptions& o) { convert_file(words[0], words[1], o); });
}

int run_rearrange(Arguments& arguments) {
  const JobOptions options = take_options(arguments);
  const auto words = words_of(arguments, 3, 64, "IN OUT \"PATTERN\" [AXIS=SIZE]...");
  std::vector<std::pair<std::string, int64_t>> sizes;
  for (size_t i = 3; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    char* end = nullptr;
    const int64_t size =
        equals == std::string::npos ? 0 : std::strtoll(words[i].c_str() + equals + 1, &end, 10);
    require(size > 0 && *end == 0, INFINI_STATUS_BAD_PARAM, "\"", words[i], "\" is no AXIS=SIZE");
    sizes.emplace_back(words[i].substr(0, equals), size);
  }
  return run_job(options, [&](const JobOptions& o) {
    rearrange_file(words[0], words[1], words[2], sizes, o);
  });
}

int run_slice(Arguments& arguments) {
  const JobOptions options = take_options(arguments);
  const auto words = words_of(arguments, 3, 3, "IN OUT \"RANGES\"");
  return run_job(options,
                 [&](const JobOptions& o) { slice_file(words[0], words[1], words[2], o); });
}

int run_shard(Arguments& arguments) {
  const JobOptions options = take_options(arguments);
  const int64_t ranks = arguments.take_integer("--tp", 0, 1, 1024),
                dim = arguments.take_integer("--dim", 0, -64, 63);
  require(ranks > 0, INFINI_STATUS_BAD_PARAM, "expected --tp N, the number of shards");
  const auto words = words_of(arguments, 2, 2, "IN OUT");
  return run_job(options,
                 [&](const JobOptions& o) { shard_file(words[0], words[1], ranks, dim, o); });
}

int run_unshard(Arguments& arguments) {
  const JobOptions options = take_options(arguments);
  const int64_t dim = arguments.take_integer("--dim", 0, -64, 63);
  auto words = words_of(arguments, 2, 4096, "SHARD... OUT");
  const std::string out = words.back();
  words.pop_back();
  return run_job(options, [&](const JobOptions& o) { unshard_files(words, out, dim, o); });
}

}  // namespace infini::tools
