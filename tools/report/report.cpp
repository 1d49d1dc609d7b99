// Reports, and progress on a terminal.
#include "tools/report/report.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/device_kind.h"
#include "base/error.h"
#include "base/paragraph.h"
#include "bench/measure.h"
#include "runtime/current_device.h"

namespace infini::tools {
namespace {

constexpr double first_shown = 1, shown_every = 0.1;  // seconds
constexpr size_t terminal_columns = 79;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string utc() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string device_name(const Device& device) {
  return std::string(device_kind_name(device.kind())) + ":" + std::to_string(device.id());
}

// Pipes and terminals are written as they are; a file only as a whole.
bool is_special(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    require(written > 0, INFINI_STATUS_INTERNAL_ERROR, "--json: cannot write standard output");
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  require(file.good(), INFINI_STATUS_INTERNAL_ERROR, "--json: cannot write ", path);
}

}  // namespace

std::string machine_line() {
  Device& device = current_device();
  const std::string start = std::string("infini ") + infiniVersionString() + " on ";
  const std::string line = paragraph(start, device_name(device) + ", " + device.description());
  return line.substr(0, line.size() - 1);
}

harness::JsonObject start_report(const char* command) {
  Device& device = current_device();
  device.make_current();
  harness::JsonObject machine, report;
  machine.add("device", device_name(device))
      .add("description", device.description())
      .add("memory_bytes", device.memory_info().total_bytes)
      .add("threads", bench::threads_in_use());
  report.add("command", command)
      .add("version", infiniVersionString())
      .add("date", utc())
      .add_json("machine", machine.text());
  return report;
}

ReportFile::ReportFile(Arguments& arguments, Prints prints) {
  path_ = arguments.take_optional_value("--json", "-");
  wanted_ = !path_.empty();
  if (path_ == "-") {
    redirect_prints(prints);
    return;
  }
  // Found out before anything is measured, not after; what was there stays until there is something new.
  require(!wanted_ || std::ofstream(path_, std::ios::app).is_open(), INFINI_STATUS_BAD_PARAM,
          "--json: cannot write ", path_);
  if (!wanted_) return;
  path_ = std::filesystem::canonical(path_);  // a link stays one
  holds_an_older_one_ = !is_special(path_) && std::filesystem::file_size(path_) > 0;
}

void ReportFile::redirect_prints(Prints prints) {
  std::fflush(stdout);
  output_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const int instead = prints == Prints::nothing ? nowhere : STDERR_FILENO;
  const bool done = output_ >= 0 && dup2(instead, STDOUT_FILENO) >= 0;
  if (nowhere >= 0) close(nowhere);
  require(done, INFINI_STATUS_INTERNAL_ERROR, "--json: cannot write standard output");
}

ReportFile::~ReportFile() {
  if (output_ < 0) return;
  std::fflush(stdout);
  dup2(output_, STDOUT_FILENO);
  close(output_);
}

void ReportFile::write(const std::string& json, bool is_final) const {
  if (!wanted_) return;
  if (output_ >= 0 || is_special(path_)) {
    if (!is_final) return;
    return output_ >= 0 ? write_all(output_, json + "\n") : write_file(path_, json + "\n");
  }
  const std::string beside = path_ + ".part";
  if (!std::ofstream(beside).is_open()) return write_file(path_, json + "\n");
  write_file(beside, json + "\n");
  std::filesystem::rename(beside, path_);
}

Progress::Progress(int64_t total)
    : total_(total), start_(now()), is_terminal_(isatty(STDERR_FILENO) == 1) {}

std::string Progress::label(int64_t number) const {
  const std::string all = std::to_string(total_), one = std::to_string(number);
  return "[" + std::string(all.size() - std::min(all.size(), one.size()), ' ') + one + "/" + all +
         "]";
}

void Progress::show(int64_t number, const std::string& what) {
  if (!is_terminal_) return;
  const double time = now();
  if (time - start_ < first_shown || time - shown_at_ < shown_every) return;
  shown_at_ = time;
  const std::string line = (label(number) + " " + what).substr(0, terminal_columns);
  std::fflush(stdout);  // what was printed stands above
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  visible_ = true;
}

void Progress::clear() {
  if (visible_) std::fputs("\r\033[K", stderr);
  visible_ = false;
}

}  // namespace infini::tools
