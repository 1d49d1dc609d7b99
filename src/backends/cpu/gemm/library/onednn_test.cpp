// What we make of oneDNN, and what we ask of it, by a stand-in for the library.
#include <gtest/gtest.h>

#include <thread>

#include "backends/cpu/gemm/library/library.h"
#include "backends/cpu/runtime/shared_object.h"

namespace infini::cpu {
namespace {

constexpr int avx512_core = 0x27;  // of dnnl_types.h
constexpr unsigned sequential = 1, openmp = 2, tbb = 4;

struct Version {  // as fake_onednn.cpp has it
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

class OneDnn : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(nullptr, library_);
    version() = {3, 2, 0, "", sequential, 0};
    number("fake_answer") = 0;
    number("fake_caps") = 0;
    number("fake_cap") = -1;
  }
  Version& version() { return *static_cast<Version*>(symbol_of(library_, "fake_version")); }
  int& number(const char* name) { return *static_cast<int*>(symbol_of(library_, name)); }
  bool is_taken(bool hide_amx = false) { return onednn_from(library_, hide_amx).why_not.empty(); }

  void* library_ = open_shared_object(FAKE_ONEDNN_PATH);
};

TEST_F(OneDnn, IsToldToLeaveAmxAloneWhereThatIsNotDescribed) {
  EXPECT_TRUE(is_taken(true));
  EXPECT_EQ(1, number("fake_caps"));
  EXPECT_EQ(avx512_core, number("fake_cap"));
}

TEST_F(OneDnn, IsNotTakenWhereItWillNotLeaveAmxAlone) {
  number("fake_answer") = 3;  // dnnl_runtime_error: too late
  EXPECT_FALSE(is_taken(true));
  EXPECT_EQ(1, number("fake_caps"));
}

TEST_F(OneDnn, KeepsItsInstructionsElsewhere) {
  number("fake_answer") = 3;
  EXPECT_TRUE(is_taken(false));
  EXPECT_EQ(0, number("fake_caps"));
}

TEST_F(OneDnn, IsOfVersionThree) {
  EXPECT_EQ("oneDNN 3.2", onednn_from(library_, false).about);
  version().major = 4;
  EXPECT_TRUE(is_taken());
  version().major = 2;
  EXPECT_FALSE(is_taken());
  EXPECT_FALSE(is_taken(true));
  EXPECT_EQ(0, number("fake_caps")) << "one that is not taken is not asked for anything";
}

TEST_F(OneDnn, HasNoThreadsOfItsOwn) {
  version().cpu_runtime = openmp;
  EXPECT_TRUE(is_taken());
  version().cpu_runtime = tbb;
  EXPECT_FALSE(is_taken());
}

// It cannot be kept to one thread by an OpenMP that is not found.
TEST_F(OneDnn, IsNotTakenWithAnUnknownOpenMp) {
  void* const other = open_shared_object(FAKE_ONEDNN_WITHOUT_OPENMP_PATH);
  ASSERT_NE(nullptr, other);
  auto& its_version = *static_cast<Version*>(symbol_of(other, "fake_version"));
  EXPECT_TRUE(onednn_from(other, false).why_not.empty());
  its_version.cpu_runtime = openmp;
  EXPECT_FALSE(onednn_from(other, false).why_not.empty());
}

TEST_F(OneDnn, IsKeptToTheThreadThatCallsIt) {
  version().cpu_runtime = openmp;
  const GemmLibrary library = onednn_from(library_, false);
  ASSERT_NE(nullptr, library.openmp.threads);
  EXPECT_EQ(4, library.openmp.threads()) << "the stand-in's";
  {
    const OneThread alone(library.openmp);
    EXPECT_EQ(1, library.openmp.threads());
    std::thread([&] { EXPECT_EQ(4, library.openmp.threads()); }).join();
    const OneThread again(library.openmp);
    EXPECT_EQ(1, library.openmp.threads());
  }
  EXPECT_EQ(4, library.openmp.threads());
  const OneThread without{OpenMp{}};
}

TEST_F(OneDnn, NeedNotBeThere) {
  EXPECT_FALSE(onednn_from(nullptr, false).why_not.empty());
  EXPECT_FALSE(onednn_from(nullptr, true).why_not.empty());
}

TEST_F(OneDnn, IsToldHowTheOperandsLie) {
  const GemmLibrary library = onednn_from(library_, false);
  float a[4] = {}, b[4] = {}, c[4] = {};
  LibraryCall<float> call{.m = 2,
                          .n = 2,
                          .k = 2,
                          .a = a,
                          .b = b,
                          .c = c,
                          .a_form = {},
                          .b_form = {},
                          .c_form = {},
                          .alpha = 1,
                          .beta = 0};
  call.a_form.columns_first = true;
  call.c_form.leading = 2;
  EXPECT_TRUE(library.f32(call));
  EXPECT_STREQ("TN", static_cast<const char*>(symbol_of(library_, "fake_letters")));
  EXPECT_EQ(7, c[3]);
}

}  // namespace
}  // namespace infini::cpu
