// Affinity by the kernel, quotas by /proc/self/cgroup, /proc/self/mountinfo and the files of every group on the way up.
#include "base/threads/processors.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <new>
#include <sstream>
#include <string_view>

#include "base/threads/thread_count.h"

namespace infini {
namespace {

enum class Version { one, two };

// Where a hierarchy of groups is mounted, and which of its groups is seen there as the root.
struct Mount {
  std::string root, point;
};

bool has_word(std::string_view list, std::string_view word) {
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    if (list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

// A line is "36 35 98:0 /root /point options [optional fields] - type source options".
std::optional<Mount> find_mount(const std::string& root, Version version) {
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string skipped, type, options;
    Mount mount;
    fields >> skipped >> skipped >> skipped >> mount.root >> mount.point;
    while (fields >> skipped && skipped != "-") {
    }
    fields >> type >> skipped >> options;
    if (version == Version::two ? type == "cgroup2" : type == "cgroup" && has_word(options, "cpu"))
      return mount;
  }
  return std::nullopt;
}

// This process's group. A line is "4:cpu,cpuacct:/path", of version 2 "0::/path".
std::optional<std::string> find_group(const std::string& root, Version version) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (version == Version::two ? controllers.empty() : has_word(controllers, "cpu"))
      return line.substr(second + 1);
  }
  return std::nullopt;
}

// cpu.max is "max 100000" or "150000 100000"; version 1 has two files, and -1 for no limit.
std::optional<double> quota_of(const std::string& folder, Version version) {
  double quota = -1, period = -1;
  if (version == Version::two) {
    std::ifstream(folder + "/cpu.max") >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  if (!(quota > 0 && period > 0)) return std::nullopt;
  return quota / period;
}

std::optional<double> least_quota(const std::string& root, Version version) {
  const auto mount = find_mount(root, version);
  const auto group = find_group(root, version);
  if (!mount || !group) return std::nullopt;
  // In a container the group may have a name that is seen outside only; then what is mounted is this process's own.
  std::string below = *group;
  if (mount->root != "/")
    below = below.rfind(mount->root, 0) == 0 ? below.substr(mount->root.size()) : "";
  if (below.find("/..") != std::string::npos) below.clear();
  std::optional<double> least;
  for (;;) {
    const auto quota = quota_of(root + mount->point + below, version);
    if (quota && (!least || *quota < *least)) least = quota;
    const size_t slash = below.rfind('/');
    if (slash == std::string::npos) return least;
    below.resize(slash);
  }
}

int processors_by_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));  // more than a set holds
}

}  // namespace

std::optional<double> granted_processors(const std::string& root) {
  const auto one = least_quota(root, Version::one), two = least_quota(root, Version::two);
  return one && two ? std::min(*one, *two) : one ? one : two;
}

int usable_processors() noexcept {
  static std::atomic<int> known{
      0};  // found out twice rather than waited for, as a forked child would have to
  int count = known.load(std::memory_order_relaxed);
  if (count > 0) return count;
  count = processors_by_affinity();
  try {
    if (const auto granted = granted_processors(""))
      count = static_cast<int>(std::clamp(std::ceil(*granted), 1.0, static_cast<double>(count)));
  } catch (const std::bad_alloc&) {  // then nobody knows of a quota
  }
  known.store(count, std::memory_order_relaxed);
  return count;
}

std::optional<int> parse_thread_count(const char* text) {
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  while (*end == ' ' || *end == '\t') ++end;
  if (end == text || (*end != '\0' && *end != ',') || value < 1) return std::nullopt;
  return static_cast<int>(std::min<long>(value, max_thread_count));
}

}  // namespace infini
