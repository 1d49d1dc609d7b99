// Quotas of control groups, from folders that look like /proc and /sys/fs/cgroup.
#include "base/threads/processors.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace infini {
namespace {

namespace fs = std::filesystem;

class Quota : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "infini-cgroup-XXXXXX").string();
    ASSERT_NE(nullptr, mkdtemp(path.data()));
    root_ = path;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ + path).substr(0, (root_ + path).rfind('/')));
    std::ofstream(root_ + path) << text;
  }
  void mount(const std::string& line) {
    std::ofstream(root_ + "/proc/self/mountinfo", std::ios::app) << line << '\n';
  }
  double quota() { return granted_processors(root_).value_or(-1); }

  // A hybrid system of today: version 1's cpu, version 2 beside it.
  void mount_both() {
    write("/proc/self/cgroup", "5:devices:/x\n4:cpu,cpuacct:/a/b\n0::/slice/unit\n");
    mount("24 30 0:22 / /sys rw,nosuid shared:7 - sysfs sysfs rw");
    mount("31 24 0:26 / /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset");
    mount("32 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct");
    mount("33 24 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate");
  }
  static constexpr const char* one = "/sys/fs/cgroup/cpu,cpuacct";
  static constexpr const char* two = "/sys/fs/cgroup/unified";
  std::string root_;
};

TEST_F(Quota, NeedNotBeThere) {
  EXPECT_EQ(-1, quota());
  mount_both();
  EXPECT_EQ(-1, quota());
  write(std::string(two) + "/slice/unit/cpu.max", "max 100000\n");
  write(std::string(one) + "/a/b/cpu.cfs_quota_us", "-1\n");
  write(std::string(one) + "/a/b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(-1, quota());
}

TEST_F(Quota, OfVersionTwoIsTheLeastOnTheWayUp) {
  mount_both();
  write(std::string(two) + "/slice/unit/cpu.max", "300000 100000\n");
  EXPECT_EQ(3, quota());
  write(std::string(two) + "/slice/cpu.max", "75000 50000\n");
  EXPECT_EQ(1.5, quota());
  write(std::string(two) + "/cpu.max", "50000 100000\n");
  EXPECT_EQ(0.5, quota());
  write(std::string(two) + "/slice/other/cpu.max", "1000 100000\n");
  EXPECT_EQ(0.5, quota()) << "not this process's group";
}

TEST_F(Quota, OfVersionOneIsTheLeastOnTheWayUp) {
  mount_both();
  write(std::string(one) + "/a/b/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(-1, quota()) << "without a period";
  write(std::string(one) + "/a/b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(2.5, quota());
  write(std::string(one) + "/a/cpu.cfs_quota_us", "100000\n");
  write(std::string(one) + "/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(1, quota());
  write(std::string(two) + "/slice/cpu.max", "25000 100000\n");
  EXPECT_EQ(0.25, quota()) << "both versions count";
}

// Without a namespace of its own a container's group has the host's name, and is mounted as the root.
TEST_F(Quota, OfAContainerIsWhatIsMounted) {
  write("/proc/self/cgroup", "0::/docker/123/inner\n");
  mount("33 24 0:28 /docker/123 /sys/fs/cgroup ro - cgroup2 cgroup rw");
  write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(2, quota());
  write("/sys/fs/cgroup/inner/cpu.max", "100000 100000\n");
  EXPECT_EQ(1, quota());
  write("/proc/self/cgroup", "0::/../elsewhere\n");
  EXPECT_EQ(2, quota());
}

TEST_F(Quota, IsNotFoundInWhatMakesNoSense) {
  write("/proc/self/cgroup", "no colons\n:\n::\n0::/slice\n");
  mount("");
  mount("1 2 3");
  mount("33 24 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
  for (const char* text : {"", "x", "-5 100000", "100000", "100000 0", "nan 1", "max"}) {
    write("/sys/fs/cgroup/slice/cpu.max", text);
    EXPECT_EQ(-1, quota()) << text;
  }
}

TEST(Processors, AreAtLeastOne) { EXPECT_GE(usable_processors(), 1); }

TEST(Processors, ReadAThreadCountAsOpenMpDoes) {
  EXPECT_EQ(3, parse_thread_count("3"));
  EXPECT_EQ(4, parse_thread_count("4,2,1"));
  EXPECT_EQ(5, parse_thread_count(" 5 "));
  EXPECT_EQ(1024, parse_thread_count("99999999999999"));
  for (const char* text : {"", "0", "-1", "two", "2x", ",2", "2;"})
    EXPECT_EQ(std::nullopt, parse_thread_count(text)) << text;
  EXPECT_EQ(std::nullopt, parse_thread_count(nullptr));
}

}  // namespace
}  // namespace infini
