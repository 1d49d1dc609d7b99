// infini convert, rearrange, slice, shard, unshard: tensors in files.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/error.h"
#include "bench/interrupt.h"
#include "file/jobs.h"
#include "tools/commands.h"

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

std::string clock_text(double seconds) {
  const auto whole = static_cast<long long>(std::min(seconds, 359999.0) + 0.5);
  char text[32];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
                  whole % 60);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  return text;
}

// A line that is written over, on a terminal alone:
// [###########                   ]  37.5 %    512 MB/s  0:21 left
class Meter {
 public:
  void operator()(int64_t done, int64_t all) {
    bench::end_if_interrupted();
    const auto now = std::chrono::steady_clock::now();
    if (!shown_ || (done < all && drawn_ && now - last_ < std::chrono::milliseconds(100))) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double rate = static_cast<double>(done) / std::max(seconds, 1e-9);
    const double share = static_cast<double>(done) / static_cast<double>(std::max<int64_t>(all, 1));
    std::string line = "\r" + bar(share);
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%5.1f %%  %5.0f MB/s  ", 100 * share, rate / 1e6);
    line += numbers;
    line += done < all ? clock_text(static_cast<double>(all - done) / std::max(rate, 1.0)) + " left"
                       : "flushing to disk";
    std::fputs((line + "\033[K").c_str(), stderr);
    std::fflush(stderr);
    drawn_ = true;
  }
  ~Meter() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }

 private:
  // Of what is left of the terminal's width beside the numbers.
  static std::string bar(double share) {
    constexpr int numbers_width = 42, widest = 38, narrowest = 8;
    struct winsize window {};
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
    const int cells = std::min((known ? window.ws_col : 80) - numbers_width, widest);
    if (cells < narrowest) return "";
    const int full = static_cast<int>(share * cells);
    return "[" + std::string(static_cast<size_t>(full), '#') +
           std::string(static_cast<size_t>(cells - full), ' ') + "] ";
  }

  bool shown_ = isatty(STDERR_FILENO) == 1, drawn_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_;
};

JobOptions take_options(Arguments& arguments) {
  JobOptions options;
  options.memory = parse_bytes(arguments.take_value("--memory", "1G"));
  options.replace = arguments.take_flag("--replace");
  options.glob = arguments.take_value("--tensor", "*");
  options.dtype = arguments.take_value("--dtype", "");
  options.device = arguments.take_device(&options.device_id);
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

}  // namespace

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
