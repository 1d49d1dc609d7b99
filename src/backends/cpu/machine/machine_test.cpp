// Facts about processors: profiles, files, measurements.
#include "backends/cpu/machine/machine.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "backends/cpu/gemm/gemm.h"

namespace infini::cpu {
namespace {

// A file of this test, gone when it ends.
class KeptFile : public testing::Test {
 protected:
  KeptFile() : folder_(testing::TempDir() + "infini_machine_" + std::to_string(getpid())) {}
  ~KeptFile() override {
    unlink(path().c_str());
    rmdir((folder_ + "/infini").c_str());
    rmdir(folder_.c_str());
  }
  std::string path() const { return folder_ + "/infini/machine"; }
  void write(const std::string& text) { std::ofstream(path()) << text; }
  std::string text() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Why it was not taken; the machine is as before then.
  std::string refused() {
    Machine machine = profile("zen4");
    std::string why;
    EXPECT_FALSE(read_machine(path(), machine, why));
    EXPECT_EQ("zen4", machine.origin);
    EXPECT_EQ(profile("zen4").l3_bytes, machine.l3_bytes);
    return why;
  }

 private:
  std::string folder_;
};

TEST(Machine, HasProfilesWithSaneFacts) {
  for (const char* name : profile_names()) {
    const Machine m = profile(name);
    EXPECT_EQ(name, m.name);
    for (const Fact& fact : facts()) {
      if (fact.number != nullptr) {
        EXPECT_GT(m.*fact.number, 0) << name << " " << fact.name;
      } else {
        EXPECT_GT((m.*fact.rate).one, 0) << name << " " << fact.name;
        EXPECT_GE((m.*fact.rate).all, (m.*fact.rate).one) << name << " " << fact.name;
      }
    }
    EXPECT_LT(m.l1_bytes, m.l2_bytes);
    EXPECT_LT(m.l2_bytes, m.l3_bytes);
  }
  EXPECT_EQ(profile("generic").l2_bytes, profile("no such processor").l2_bytes);
}

TEST(Machine, KnowsThisProcessor) {
  const Machine m = profile_of_this_processor();
  EXPECT_FALSE(m.name.empty());
  EXPECT_GE(m.l3_bytes, m.l2_bytes);
  EXPECT_NE(std::string::npos, to_string(m).find("l3_copy"));
}

TEST(Machine, AThreadHasItsRateUntilAllShareTheirs) {
  const Rate rate{10, 25};
  EXPECT_EQ(10, rate.of(1));
  EXPECT_EQ(20, rate.of(2));
  EXPECT_EQ(25, rate.of(3));
  EXPECT_EQ(25, rate.of(16));
}

TEST_F(KeptFile, GivesBackWhatWasWritten) {
  Machine m = profile("zen4");
  m.l3_copy = {12.5, 33.25};
  m.far_line_ns = 7.5;
  std::string why;
  ASSERT_TRUE(write_machine(path(), m, why)) << why;
  Machine read = profile("zen4");
  ASSERT_TRUE(read_machine(path(), read, why)) << why;
  EXPECT_EQ(12.5, read.l3_copy.one);
  EXPECT_EQ(33.25, read.l3_copy.all);
  EXPECT_EQ(7.5, read.far_line_ns);
  EXPECT_NE(std::string::npos, read.origin.find(path()));
}

TEST_F(KeptFile, OfAnotherProcessorOrVersionIsIgnored) {
  std::string why;
  ASSERT_TRUE(write_machine(path(), profile("ice_lake"), why)) << why;
  EXPECT_NE(std::string::npos, refused().find("processor zen4"));
  ASSERT_TRUE(write_machine(path(), profile("zen4"), why)) << why;
  std::string other = text();
  other.replace(0, other.find('\n'), "infini machine 0.0.0");
  write(other);
  EXPECT_NE(std::string::npos, refused().find("infini machine 0.0.0"));
}

TEST_F(KeptFile, ThatIsBrokenIsIgnored) {
  std::string why;
  ASSERT_TRUE(write_machine(path(), profile("zen4"), why)) << why;
  const std::string whole = text();
  for (const char* line : {"l3_copy 5", "l3_copy -1 2", "l3_copy nan 2", "no_fact 3", "garbage"}) {
    write(whole + line + "\n");
    EXPECT_NE(std::string::npos, refused().find("is no fact")) << line;
  }
  write(whole.substr(0, whole.rfind("region_ns")));
  EXPECT_NE(std::string::npos, refused().find("facts of"));
  write("");
  EXPECT_FALSE(refused().empty());
  unlink(path().c_str());
  EXPECT_EQ("", refused());  // nothing there is nothing to tell
}

TEST_F(KeptFile, WithoutAnEndIsNotRead) {
  Machine machine = profile("zen4");
  std::string why;
  EXPECT_FALSE(read_machine("/dev/zero", machine, why));
  EXPECT_EQ("is no file of facts", why);
  ASSERT_TRUE(write_machine(path(), machine, why)) << why;
  ASSERT_EQ(0, truncate(path().c_str(), off_t{1} << 34));  // one line, without memory for it
  EXPECT_EQ("is no file of facts", refused());
}

#if defined(__x86_64__)
// What a guess says of arithmetic and of what products read is not believed.
void expect_products_measured(const Machine& m) {
  EXPECT_GT(m.clock_ghz, 0.2);
  EXPECT_LT(m.clock_ghz, 10);
  EXPECT_GE(m.fma_bytes, 4);
  EXPECT_LE(m.fma_bytes, 256);
  for (const double ns : {m.near_piece_ns, m.far_piece_ns, m.near_row_ns, m.far_row_ns})
    EXPECT_LT(ns, 1e6);
  if (has_dpbf16()) {
    EXPECT_LT(m.pair_rate, 100);
  }
}
#endif

TEST(Machine, IsMeasured) {
  Machine guess = profile_of_this_processor();
  guess.l3_bytes = 4 << 20;  // a small experiment
  guess.clock_ghz = guess.fma_bytes = guess.pair_rate = 1e9;
  guess.near_piece_ns = guess.far_piece_ns = guess.near_row_ns = guess.far_row_ns = 1e9;
  const Machine m = measure_machine(guess);
#if defined(__x86_64__)
  expect_products_measured(m);
#endif
  EXPECT_EQ("measured", m.origin);
  EXPECT_EQ(guess.name, m.name);
  for (const Fact& fact : facts()) {
    if (fact.number != nullptr) {
      EXPECT_GT(m.*fact.number, 0) << fact.name;
    } else {
      EXPECT_GE((m.*fact.rate).all, (m.*fact.rate).one) << fact.name;
    }
  }
}

}  // namespace
}  // namespace infini::cpu
