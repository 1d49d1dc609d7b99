// Tensors beyond 32 bits: more than 2^31 elements, and offsets of many gigabytes.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "tests/capi/capi_support.h"

namespace infini::test {
namespace {

// Address space of which only the touched pages cost memory.
struct Sparse {
  explicit Sparse(size_t bytes)
      : bytes(bytes),
        p(static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {}
  ~Sparse() { munmap(p, bytes); }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;
  size_t bytes;
  char* p;
};

TEST(CapiLarge, MoreThanTwoToThe31Elements) {
  size_t available = 0, total = 0;
  ASSERT_OK(infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, &available, &total));
  if (available < (size_t{4} << 30)) GTEST_SKIP() << "needs 4 GiB, there are " << available;
  constexpr size_t rows = 65537, columns = 32769;  // 2,147,581,953 bytes
  std::vector<char> row(columns);
  for (size_t i = 0; i < columns; ++i) row[i] = static_cast<char>(i * 7 + i / 256);
  const Handle handle;
  const Tensor dst({rows, columns}, {}, INFINI_DTYPE_U8);
  const Tensor src({rows, columns}, {0, 1}, INFINI_DTYPE_U8);
  const RearrangeOp op(handle, dst, src);
  const Sparse out(rows * columns);
  ASSERT_NE(MAP_FAILED, static_cast<void*>(out.p));
  EXPECT_OK(infiniopRearrange(op.desc, out.p, row.data(), nullptr));
  for (size_t i = 0; i < rows; ++i)
    ASSERT_EQ(0, std::memcmp(out.p + i * columns, row.data(), columns)) << "row " << i;
}

TEST(CapiLarge, OffsetsBeyond32Bits) {
  constexpr ptrdiff_t pitch = (ptrdiff_t{1} << 32) + 123;  // elements of 2 bytes
  const Handle handle;
  const Tensor far({3, 5, 40}, {pitch, 40, 1}, INFINI_DTYPE_F16);
  const Tensor turned({3, 5, 40}, {1, 3, 15}, INFINI_DTYPE_F16);
  const RearrangeOp gather(handle, turned, far), scatter(handle, far, turned);
  const Sparse memory(static_cast<size_t>(3 * pitch) * 2 + 4096);
  ASSERT_NE(MAP_FAILED, static_cast<void*>(memory.p));
  std::vector<uint16_t> x(600), y(600);
  for (size_t i = 0; i < 600; ++i) x[i] = static_cast<uint16_t>(i + 1);
  EXPECT_OK(infiniopRearrange(scatter.desc, memory.p, x.data(), nullptr));
  const auto* far_row = reinterpret_cast<const uint16_t*>(memory.p) + 2 * pitch;
  EXPECT_EQ(x[2 + 3 * 1 + 15 * 7], far_row[40 + 7]);
  EXPECT_OK(infiniopRearrange(gather.desc, y.data(), memory.p, nullptr));
  EXPECT_EQ(x, y);
}

}  // namespace
}  // namespace infini::test
