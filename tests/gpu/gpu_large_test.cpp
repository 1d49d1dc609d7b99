// More than 2^31 elements on a GPU, judged by samples. Runs on the device named by
// INFINI_TEST_DEVICE; skips with the reason when there is none or its memory is too small.
#include <algorithm>

#include "tests/gpu/gpu_fixture.h"

namespace infini::test {
namespace {

constexpr size_t period = 65521;  // a prime: no pitch divides it

uint8_t value_at(size_t i) { return static_cast<uint8_t>(i % period * 31 + i % period / 251); }

class GpuLarge : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    size_t available = 0, total = 0;
    ASSERT_OK(infinirtGetMemInfo(kind_, 0, &available, &total));
    if (available < size_t{9} << 30) GTEST_SKIP() << "needs 9 GiB, there are " << available;
  }
  void TearDown() override {
    EXPECT_OK(infinirtFree(src_));
    EXPECT_OK(infinirtFree(dst_));
  }

  // src holds value_at(i) at byte i: the first period from the host, the rest copied from it.
  void allocate(size_t dst_bytes, size_t src_bytes) {
    ASSERT_OK(infinirtMalloc(reinterpret_cast<void**>(&dst_), dst_bytes));
    ASSERT_OK(infinirtMalloc(reinterpret_cast<void**>(&src_), src_bytes));
    std::vector<uint8_t> first(period);
    for (size_t i = 0; i < period; ++i) first[i] = value_at(i);
    ASSERT_OK(infinirtMemcpy(src_, first.data(), period, INFINIRT_MEMCPY_H2D));
    for (size_t filled = period; filled < src_bytes; filled *= 2)
      ASSERT_OK(infinirtMemcpy(src_ + filled, src_, std::min(filled, src_bytes - filled),
                               INFINIRT_MEMCPY_D2D));
    ASSERT_OK(infinirtMemset(dst_, 0x5a, dst_bytes));
  }

  void run(const Tensor& dst, const Tensor& src) {
    const Handle handle;
    const RearrangeOp op(handle, dst, src);
    ASSERT_OK(infiniopRearrange(op.desc, dst_, src_, nullptr));
    ASSERT_OK(infinirtDeviceSynchronize());
  }

  // Every 97th row of a dense dst and the last; source(row, column) says what belongs there.
  template <class Source>
  void expect_rows(size_t rows, size_t columns, const Source& source) {
    std::vector<uint8_t> got(columns);
    for (size_t n = 0; n <= rows; n += 97) {
      const size_t row = std::min(n + 96 < rows ? n : rows - 1, rows - 1);
      ASSERT_OK(infinirtMemcpy(got.data(), dst_ + row * columns, columns, INFINIRT_MEMCPY_D2H));
      for (size_t column = 0; column < columns; ++column)
        ASSERT_EQ(value_at(source(row, column)), got[column]) << row << ", " << column;
    }
  }

  uint8_t *dst_ = nullptr, *src_ = nullptr;
};

TEST_F(GpuLarge, Transposition) {
  for (const size_t columns : {size_t{65536}, size_t{50021}}) {
    constexpr size_t rows = 49999;
    allocate(rows * columns, rows * columns);
    run(Tensor({columns, rows}, {}, INFINI_DTYPE_U8),
        Tensor({columns, rows}, {1, static_cast<ptrdiff_t>(columns)}, INFINI_DTYPE_U8));
    expect_rows(columns, rows, [=](size_t row, size_t column) { return column * columns + row; });
    EXPECT_OK(infinirtFree(src_));
    EXPECT_OK(infinirtFree(dst_));
    src_ = dst_ = nullptr;
  }
}

TEST_F(GpuLarge, EverySecondElement) {
  constexpr size_t rows = 49999, columns = 50021;
  allocate(rows * columns, 2 * rows * columns);
  run(Tensor({rows, columns}, {}, INFINI_DTYPE_U8),
      Tensor({rows, columns}, {2 * columns, 2}, INFINI_DTYPE_U8));
  expect_rows(rows, columns,
              [=](size_t row, size_t column) { return 2 * (row * columns + column); });
}

TEST_F(GpuLarge, ColourPlanes) {
  constexpr size_t pixels = size_t{800} << 20;
  allocate(3 * pixels, 3 * pixels);
  run(Tensor({3, pixels}, {}, INFINI_DTYPE_U8), Tensor({3, pixels}, {1, 3}, INFINI_DTYPE_U8));
  constexpr size_t row_bytes = size_t{1} << 16;
  expect_rows(3 * pixels / row_bytes, row_bytes, [=](size_t row, size_t column) {
    const size_t i = row * row_bytes + column;
    return i % pixels * 3 + i / pixels;
  });
}

}  // namespace
}  // namespace infini::test
