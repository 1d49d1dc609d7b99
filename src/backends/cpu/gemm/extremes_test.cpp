// Products of extreme sizes: creating one costs the same whatever its sizes, and says how much
// workspace it needs or why it cannot be. A and B are one element each, seen with strides of 0.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/cpu/gemm/gemm.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/threads/thread_count.h"
#include "ops/gemm.h"
#include "runtime/current_device.h"
#include "tests/allocation_counter.h"

namespace infini {
namespace {

constexpr size_t extents[] = {1,
                              2,
                              7,
                              23,
                              513,
                              (size_t{1} << 31) - 1,
                              size_t{1} << 31,
                              (size_t{1} << 32) + 1,
                              251546510096058945,
                              size_t{1} << 58,
                              size_t{1} << 62};
constexpr infiniDtype_t dtypes[] = {INFINI_DTYPE_BF16, INFINI_DTYPE_F16, INFINI_DTYPE_F32,
                                    INFINI_DTYPE_F64};

Layout layout_of(infiniDtype_t dtype, size_t rows, size_t cols, std::vector<ptrdiff_t> strides) {
  const size_t shape[] = {rows, cols};
  return make_layout(dtype, 2, shape, strides.data());
}

struct Tally {
  int made = 0, refused = 0;
};

// What is made holds little memory, and asks for a workspace that can exist.
void make(const char* wanted, const Layout& c, const Layout& a, const Layout& b, Tally& tally) {
  const int64_t before = test::allocated_bytes();
  try {
    const Gemm op(current_device(), c, a, b, {}, {.wanted = wanted});
    ++tally.made;
    EXPECT_LE(test::allocated_bytes() - before, 64 << 10) << to_string(c) << " " << to_string(a);
    EXPECT_LE(op.workspace_bytes(), static_cast<size_t>(cpu::most_workspace_bytes))
        << to_string(c) << " " << to_string(a);
  } catch (const Error& error) {
    ++tally.refused;
    EXPECT_NE(std::string(error.what()).find("2^63"), std::string::npos) << error.what();
  }
}

// A and B may be rows, columns, or one element; C may have contiguous rows or columns.
void make_all(const char* wanted, infiniDtype_t dtype, size_t m, size_t n, size_t k, Tally& tally) {
  const auto stride = [](size_t x) { return static_cast<ptrdiff_t>(x); };
  for (const bool turned : {false, true})
    for (const ptrdiff_t unit : {0, 1}) {
      try {
        const Layout c = turned ? layout_of(dtype, m, n, {1, stride(m)})
                                : layout_of(dtype, m, n, {stride(n), 1});
        const Layout a =
            turned ? layout_of(dtype, m, k, {unit, 0}) : layout_of(dtype, m, k, {0, unit});
        const Layout b =
            turned ? layout_of(dtype, k, n, {unit, 0}) : layout_of(dtype, k, n, {0, unit});
        make(wanted, c, a, b, tally);
      } catch (const Error& error) {  // of a layout, which is tested elsewhere
        EXPECT_NE(std::string(error.what()).find("2^63"), std::string::npos) << error.what();
      }
    }
}

class ExtremeGemm : public testing::TestWithParam<const char*> {};

TEST_P(ExtremeGemm, IsMadeInNoTimeWithAWorkspaceThatCanExist) {
  Tally tally;
  for (const int threads : {1, 16}) {
    set_thread_count(threads);
    for (const infiniDtype_t dtype : dtypes)
      for (const size_t m : extents)
        for (const size_t n : extents)
          for (const size_t k : extents) make_all(GetParam(), dtype, m, n, k, tally);
  }
  set_thread_count(0);
  EXPECT_GT(tally.made, 6000);
  EXPECT_GT(tally.refused, 100);
}

INSTANTIATE_TEST_SUITE_P(Cpu, ExtremeGemm,
                         testing::Values(nullptr, "direct", "skinny", "sweep", "amx", "dots",
                                         "dpbf16", "blocked"));

// Whatever their number, the sizes that a product is made of never wrap.
TEST(ExtremeGemm, CountsItsMultiplyAdds) {
  const size_t k = 251546510096058945;
  const Layout c = layout_of(INFINI_DTYPE_BF16, 6, 18, {18, 1}),
               a = layout_of(INFINI_DTYPE_BF16, 6, k, {0, 0}),
               b = layout_of(INFINI_DTYPE_BF16, k, 18, {0, 0});
  try {
    const Gemm op(current_device(), c, a, b);
    FAIL() << "made, with a workspace of " << op.workspace_bytes();
  } catch (const Error& error) {
    EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE, error.status());
    EXPECT_NE(std::string(error.what()).find("k = 251546510096058945"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace infini
