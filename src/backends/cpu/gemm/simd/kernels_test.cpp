// The kernels that move elements, called directly: packing reads nothing but the elements it is given, which lie beside pages
// that nobody may touch, and finishing rounds as base/float_formats.h does, whatever the bits.
#include "backends/cpu/gemm/simd/kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/float_formats.h"
#include "harness/gemm/gemm_cases.h"
#include "ops/gemm.h"
#include "runtime/current_device.h"
#include "tests/guarded_pages.h"

namespace infini::cpu {
namespace {

constexpr int kinds = 3;  // of elements in memory: T itself, f16, bf16

std::vector<Isa> offered_tables() {
  std::vector<Isa> levels;
  for (const Isa level : {Isa::portable, Isa::avx2, Isa::avx512})
    if (offers(level)) levels.push_back(level);
  return levels;
}

template <class T>
const GemmKernels<T>& table_of(Isa level) {
  if constexpr (std::is_same_v<T, float>)
    return gemm_tables(level).f32;
  else
    return gemm_tables(level).f64;
}

template <class T>
int64_t bytes_of(int kind) {
  return kind == 0 ? static_cast<int64_t>(sizeof(T)) : 2;
}

template <class T>
void write(char* place, int kind, int value) {
  const auto exact = static_cast<float>(value);
  const uint16_t narrow = kind == 1 ? f16_from_f32(exact) : bf16_from_f32(exact);
  const T whole = value;
  kind == 0 ? std::memcpy(place, &whole, sizeof whole) : std::memcpy(place, &narrow, sizeof narrow);
}

int value_at(int64_t row, int64_t col) {
  return static_cast<int>((row * 31 + col * 7) % 251) - 125;
}

// The source begins behind a page that faults or ends before one; `gap` elements lie between its rows or columns.
template <class T>
void expect_packed(const GemmKernels<T>& kernels, int kind, int64_t rows, int64_t cols,
                   bool along_rows, int64_t gap, bool at_begin) {
  const int64_t unit = bytes_of<T>(kind);
  const int64_t row_step = along_rows ? unit : (cols + gap) * unit,
                col_step = along_rows ? (rows + gap) * unit : unit;
  const int64_t span = (rows - 1) * row_step + (cols - 1) * col_step + unit;
  test::GuardedPages src(static_cast<size_t>(span), at_begin);
  std::memset(src.data(), 0x7f, static_cast<size_t>(span));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      write<T>(src.data() + i * row_step + j * col_step, kind, value_at(i, j));
  const int64_t dst_row = cols + 3;
  std::vector<T> dst(static_cast<size_t>(rows * dst_row + kernels.lanes), T{9});
  kernels.pack[kind]({src.data(), row_step, col_step, rows, cols, dst.data(), dst_row});
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      ASSERT_EQ(static_cast<T>(value_at(i, j)), dst[static_cast<size_t>(i * dst_row + j)])
          << rows << "x" << cols << " of kind " << kind << ", element " << i << ", " << j;
}

template <class T>
void expect_packing(Isa level) {
  SCOPED_TRACE(isa_name(level));
  const GemmKernels<T>& kernels = table_of<T>(level);
  for (int kind = 0; kind < (std::is_same_v<T, float> ? kinds : 1); ++kind)
    for (int64_t rows = 1; rows <= 2 * kernels.lanes + 3; ++rows)
      for (int64_t cols = 1; cols <= 2 * kernels.lanes + 1; ++cols)
        for (const bool along_rows : {false, true})
          for (const bool at_begin : {false, true})
            expect_packed(kernels, kind, rows, cols, along_rows, rows % 3, at_begin);
}

TEST(GemmKernels, PackReadsNothingButTheElements) {
  for (const Isa level : offered_tables()) {
    expect_packing<float>(level);
    expect_packing<double>(level);
  }
}

// Chains of small integers, which are exact in any order: rows of A with gaps, columns of C that end within a vector.
template <class T>
void expect_split(const GemmKernels<T>& kernels, int rows, int vectors, int64_t k, int missing) {
  const int cols = vectors * kernels.lanes - missing;
  const int64_t a_row = k + 3, width = vectors * kernels.lanes;
  std::vector<T> a(static_cast<size_t>(rows * a_row)), b(static_cast<size_t>((k + 8) * width)),
      c(static_cast<size_t>(rows * width), T{7});
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(value_at(static_cast<int64_t>(i), 1));
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = static_cast<T>(value_at(2, static_cast<int64_t>(i)) % 9);
  for (const bool fetches : {false, true}) {
    TileCall<T> call{};
    call.k = k, call.a = a.data(), call.a_row = a_row, call.a_col = 1;
    call.b = b.data(), call.b_row = width, call.c = c.data(), call.c_row = width;
    call.cols = cols, call.alpha = 2, call.beta = fetches ? 1 : 0;
    kernels.split[fetches][missing == 0][vectors - 1][rows - 1](call);
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < width; ++j) {
      T sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum += a[static_cast<size_t>(i * a_row + p)] * b[static_cast<size_t>(p * width + j)];
      ASSERT_EQ(j < cols ? 4 * sum : T{7}, c[static_cast<size_t>(i * width + j)])
          << rows << " rows, " << vectors << " vectors, k " << k << " at " << i << ", " << j;
    }
}

template <class T>
void expect_splits(Isa level) {
  SCOPED_TRACE(isa_name(level));
  const GemmKernels<T>& kernels = table_of<T>(level);
  for (int vectors = 1; vectors <= most_split_sums; ++vectors)
    for (int rows = 1; rows * vectors <= most_split_sums; ++rows) {
      if (kernels.split[0][0][vectors - 1][rows - 1] == nullptr) continue;
      for (int64_t k = 1; k <= 35; ++k)
        for (const int missing : {0, 1, kernels.lanes - 1})
          ASSERT_NO_FATAL_FAILURE(expect_split(kernels, rows, vectors, k, missing));
    }
}

TEST(GemmKernels, ChainsAddUpToWhatOneWouldBe) {
  for (const Isa level : offered_tables()) {
    expect_splits<float>(level);
    expect_splits<double>(level);
  }
}

uint16_t rounded(int kind, float value) {
  return kind == 1 ? f16_from_f32(value) : bf16_from_f32(value);
}

// One row of any bits, as columns side by side and 3 elements apart.
void expect_rounded(const GemmKernels<float>& kernels, int kind, const std::vector<float>& sums) {
  for (const int64_t stride : {1, 3}) {
    std::vector<uint16_t> c(sums.size() * 3);
    const auto count = static_cast<int64_t>(sums.size());
    kernels.finish[kind]({sums.data(), count, 1, count, reinterpret_cast<char*>(c.data()),
                          count * 6, stride * 2, 1, 0});
    for (size_t i = 0; i < sums.size(); ++i) {
      const uint16_t result = c[i * static_cast<size_t>(stride)];
      if (std::isnan(sums[i]))
        ASSERT_TRUE(std::isnan(kind == 1 ? f32_from_f16(result) : f32_from_bf16(result)))
            << std::hex << std::bit_cast<uint32_t>(sums[i]) << " became " << result;
      else
        ASSERT_EQ(rounded(kind, sums[i]), result) << std::hex << std::bit_cast<uint32_t>(sums[i]);
    }
  }
}

// Every upper half with lower halves at and around the ties. Among them is every NaN whose bits would run over if it were
// rounded as numbers are.
TEST(GemmKernels, FinishRoundsToNearestEvenAndKeepsNaN) {
  for (const Isa level : offered_tables())
    for (const int kind : {1, 2}) {
      SCOPED_TRACE(std::string(isa_name(level)) + " kind " + std::to_string(kind));
      for (const uint32_t low :
           {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xf000u, 0xffffu}) {
        std::vector<float> sums(1 << 16);
        for (uint32_t high = 0; high < 1 << 16; ++high)
          sums[high] = std::bit_cast<float>(high << 16 | low);
        expect_rounded(table_of<float>(level), kind, sums);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
}

// A factor is the only number of a product of bf16 whose lower bits can be set and that is a NaN.
TEST(GemmKernels, FactorsThatAreNaNSpoilEveryElement) {
  constexpr int64_t m = 19, n = 37, k = 23;
  const std::vector<uint16_t> a(m * k, bf16_from_f32(1)), b(k * n, bf16_from_f32(2));
  const auto worst = std::bit_cast<float>(0x7fffffffu);
  for (const char* text : {"gemm bf16 m=19 n=37 k=23", "gemm bf16 m=19 n=37 k=23 b=t c=t"})
    for (const char* wanted : {"direct", "skinny", "sweep", "blocked", "dots", "dpbf16", "amx"})
      for (const bool in_beta : {false, true}) {
        const auto p = harness::parse_gemm(text);
        const Gemm op(current_device(), p.c, p.a, p.b, {}, {.wanted = wanted});
        std::vector<uint16_t> c(m * n, bf16_from_f32(3));
        std::vector<char> workspace(op.workspace_bytes() + 64);
        void* aligned = workspace.data();
        size_t room = workspace.size();
        std::align(64, op.workspace_bytes(), aligned, room);
        op.run(aligned, op.workspace_bytes(), c.data(), a.data(), b.data(), in_beta ? 1 : worst,
               in_beta ? worst : 0, nullptr);
        for (const uint16_t bits : c)
          ASSERT_TRUE(std::isnan(f32_from_bf16(bits))) << text << " by " << wanted << ": " << bits;
      }
}

}  // namespace
}  // namespace infini::cpu
