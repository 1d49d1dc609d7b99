// Writing the log of calls.
#include "ops/explain/call_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/environment.h"

namespace infini {
namespace {

// The file to write to, or -1. Lines are appended whole, by one call each, so that threads and processes may share it.
int open_log() {
  const char* const wish = environment("INFINI_VERBOSE");
  if (wish == nullptr || *wish == 0 || std::strcmp(wish, "0") == 0) return -1;
  if (wish[std::strspn(wish, "0123456789")] == 0) return STDERR_FILENO;  // 2 is no file's name
  // A pipe that nobody reads is refused, not waited for.
  const int file = open(wish, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644);
  if (file < 0) tell_not_understood("INFINI_VERBOSE", "1 or a file that can be written");
  if (file >= 0) fcntl(file, F_SETFL, O_APPEND);
  return file;
}

int log_file() {
  static const int file = open_log();
  return file;
}

}  // namespace

bool ToldCalls::wanted() { return log_file() >= 0; }

ToldCalls::ToldCalls(const Device& device, const char* candidate, const std::string& problem)
    : before_(std::string("infini: ") + device_kind_name(device.kind()) + ":" +
              std::to_string(device.id()) + " " + candidate +
              (device.kind() == INFINI_DEVICE_CPU ? " " : " queued in ")),
      after_(": " + problem) {}

void ToldCalls::add(Time start, const char* remark) const noexcept {
  const auto end = std::chrono::steady_clock::now();
  const double microseconds = std::chrono::duration<double, std::micro>(end - start).count();
  try {
    char time[64];
    std::snprintf(time, sizeof time, "%.3f us", microseconds);
    const std::string line = before_ + time + remark + after_ + "\n";
    if (write(log_file(), line.data(), line.size()) < 0) return;  // nothing can be done about it
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace infini
