// Convert through the C API against its definition: layouts of every kind, in the caches and past them.
#include <numeric>
#include <random>

#include "backends/cpu/rearrange/schedule.h"
#include "tests/operators/convert_tensors.h"

namespace infini::test {
namespace {

class ConvertLayouts : public Convert {};

// A tensor somewhere in bytes that must not change beside it.
struct Spread {
  std::vector<size_t> shape;
  std::vector<ptrdiff_t> strides;
  int64_t base = 0, elements = 0;  // of memory
};

class Layouts {
 public:
  explicit Layouts(uint64_t seed) : random_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  std::vector<size_t> shape() {
    std::vector<size_t> s(static_cast<size_t>(below(5)));
    constexpr size_t sizes[] = {1, 2, 3, 3, 5, 16, 17, 33, 64, 100, 131};
    for (size_t& n : s) n = sizes[below(11)];
    while (std::accumulate(s.begin(), s.end(), size_t{1}, std::multiplies<>()) > 60000)
      s.pop_back();
    return s;
  }
  // Dims in any order in memory, gaps, reversed ones; repeated ones and ones of size 1 where it may be.
  Spread spread(const std::vector<size_t>& shape, bool may_repeat) {
    Spread s{shape, std::vector<ptrdiff_t>(shape.size()), 0, 0};
    std::vector<size_t> order(shape.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (below(4) != 0) std::shuffle(order.begin(), order.end(), random_);
    int64_t step = below(5) == 0 ? 2 : 1, low = 0, high = 0;
    for (size_t k = order.size(); k-- > 0;) {
      const size_t i = order[k];
      if (may_repeat && below(8) == 0) {
        below(2) == 0 ? s.shape[i] = 1 : s.strides[i] = 0;
        continue;
      }
      s.strides[i] = below(6) == 0 ? -step : step;
      const int64_t reach = (static_cast<int64_t>(shape[i]) - 1) * s.strides[i];
      (reach < 0 ? low : high) += reach;
      step = step * static_cast<int64_t>(shape[i]) + (below(4) == 0 ? below(5) : 0);
    }
    s.base = 3 - low;
    s.elements = high - low + 7;
    return s;
  }
  std::vector<char> noise(int64_t bytes) {
    std::vector<char> out(static_cast<size_t>(bytes));
    for (char& c : out) c = static_cast<char>(random_());
    return out;
  }
  // Not too large, so that most results are inside the range.
  std::vector<char> floats(int64_t count) {
    std::vector<char> out(static_cast<size_t>(count) * 4);
    for (int64_t i = 0; i < count; ++i) {
      const float f = static_cast<float>(below(64) - 32) / 16.0f;
      std::memcpy(&out[static_cast<size_t>(i) * 4], &f, 4);
    }
    return out;
  }

 private:
  std::mt19937_64 random_;
};

int64_t place(const Spread& s, const std::vector<size_t>& index) {
  int64_t at = s.base;
  const size_t missing = index.size() - s.shape.size();
  for (size_t i = 0; i < s.shape.size(); ++i)
    if (s.shape[i] != 1) at += static_cast<int64_t>(index[i + missing]) * s.strides[i];
  return at;
}

// One problem: shapes, layouts and numbers, run and compared with a loop over all elements.
void expect_layout(infiniopHandle_t handle, const std::vector<size_t>& shape, const Spread& ys,
                   const Spread& xs, const FormatFacts& y, const FormatFacts& x, int axis,
                   Layouts& draw) {
  Spread ns{std::vector<size_t>(shape.size(), 1), std::vector<ptrdiff_t>(shape.size(), 77), 1, 2};
  if (axis >= 0) {
    const auto at = static_cast<size_t>(axis);
    ns.shape[at] = shape[at];
    ns.strides[at] = 2;
    ns.elements = 2 * static_cast<int64_t>(shape[at]) + 1;
  }
  const std::vector<char> from = draw.noise(xs.elements * x.bytes),
                          before = draw.noise(ys.elements * y.bytes), a = draw.floats(ns.elements),
                          b = draw.floats(ns.elements);
  const Memory in(from), out(before), scale(a), shift(b);
  const Desc yd(y.dtype, shape, ys.strides), xd(x.dtype, xs.shape, xs.strides),
      nd(INFINI_DTYPE_F32, ns.shape, ns.strides);
  const auto options = options_for(y, x, true);
  infiniopConvertDescriptor_t desc = nullptr;
  const auto at = [](const Memory& m, int64_t element, int bytes) {
    return static_cast<char*>(m.p) + element * bytes;
  };
  const size_t count = std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
  ASSERT_EQ(fine, infiniopCreateConvertDescriptor(handle, &desc, yd.t, xd.t, nd.t, nd.t, &options))
      << infiniGetLastErrorString();
  const Workspace room(desc);
  ASSERT_EQ(fine, infiniopConvert(desc, room.p, room.bytes, at(out, ys.base, y.bytes),
                                  at(in, xs.base, x.bytes), at(scale, ns.base, 4),
                                  at(shift, ns.base, 4), nullptr))
      << infiniGetLastErrorString();
  infiniopDestroyConvertDescriptor(desc);
  const std::vector<char> got = out.host();
  std::vector<char> expected = before;
  std::vector<size_t> index(shape.size());
  for (size_t n = 0; n < count; ++n) {
    for (size_t i = shape.size(), rest = n; i-- > 0; rest /= shape[i]) index[i] = rest % shape[i];
    const auto number = [&](const std::vector<char>& of) {
      float f;
      std::memcpy(&f, &of[static_cast<size_t>(place(ns, index)) * 4], 4);
      return f;
    };
    const uint64_t code =
        load_code(&from[static_cast<size_t>(place(xs, index) * x.bytes)], x.bytes);
    const uint64_t result = converted(y, x, code, true, number(a), number(b), true);
    char* const to = &expected[static_cast<size_t>(place(ys, index) * y.bytes)];
    const uint64_t found =
        load_code(&got[static_cast<size_t>(place(ys, index) * y.bytes)], y.bytes);
    ASSERT_TRUE(same_number(y, found, result))
        << "element " << n << ": " << found << ", expected " << result;
    std::memcpy(to, &found, static_cast<size_t>(y.bytes));
  }
  ASSERT_TRUE(got == expected) << "bytes beside the tensor changed";
}

void expect_any_layouts(infiniopHandle_t handle, uint64_t seed, int count) {
  Layouts draw(seed);
  for (int i = 0; i < count && !testing::Test::HasFatalFailure(); ++i) {
    SCOPED_TRACE(i);
    const std::vector<size_t> shape = draw.shape();
    Spread xs = draw.spread(shape, true);
    const size_t fewer = !shape.empty() && draw.below(8) == 0 ? 1 : 0;
    xs.shape.erase(xs.shape.begin(), xs.shape.begin() + static_cast<ptrdiff_t>(fewer));
    xs.strides.erase(xs.strides.begin(), xs.strides.begin() + static_cast<ptrdiff_t>(fewer));
    const int axis = shape.empty() || draw.below(4) == 0
                         ? -1
                         : static_cast<int>(draw.below(static_cast<int64_t>(shape.size())));
    expect_layout(handle, shape, draw.spread(shape, false), xs, formats[draw.below(12)],
                  formats[draw.below(12)], axis, draw);
  }
}

TEST_F(ConvertLayouts, AnyLayout) { expect_any_layouts(handle, 11, 400); }

// What only large tensors reach on the CPU: results that go past the caches.
TEST_F(ConvertLayouts, AnyLayoutPastTheCaches) {
  cpu::Policy policy;
  policy.threads = 2;
  policy.streamed_bytes = policy.bytes_per_thread = 1;
  const cpu::ForcedPolicy lowered(policy);
  expect_any_layouts(handle, 13, 400);
}

// Transposes of several panels that go past the caches: by whole lines in pairs, by lines that begin anywhere, by columns and
// rows that are no whole panels; with numbers along either side and the outer one.
TEST_F(ConvertLayouts, TransposesPastTheCaches) {
  cpu::Policy policy;
  policy.threads = 2;
  policy.streamed_bytes = policy.bytes_per_thread = 1;
  policy.strip = 192;  // of several strips, each begun anew
  const cpu::ForcedPolicy lowered(policy);
  Layouts draw(14);
  for (int i = 0; i < 150 && !HasFatalFailure(); ++i) {
    SCOPED_TRACE(i);
    const auto size = [&] {
      return static_cast<size_t>(64 * (1 + draw.below(5)) + (draw.below(2) ? 0 : draw.below(64)));
    };
    const size_t times = static_cast<size_t>(1 + draw.below(2)), rows = size(), columns = size();
    const auto h = static_cast<ptrdiff_t>(rows), w = static_cast<ptrdiff_t>(columns);
    const auto all = static_cast<int64_t>(times * rows * columns);
    const std::vector<size_t> shape = {times, rows, columns};
    const Spread ys{shape, {h * w, w, 1}, 64 * draw.below(2) + draw.below(3), all + 80},
        xs{shape, {h * w, 1, h}, 3, all + 7};
    expect_layout(handle, shape, ys, xs, formats[draw.below(12)], formats[draw.below(12)],
                  static_cast<int>(draw.below(4)) - 1, draw);
  }
}

// Images: so large that results go past the caches, in both directions.
TEST_F(ConvertLayouts, LargeImages) {
  Layouts draw(12);
  const std::vector<size_t> chw = {3, 700, 901}, hwc = {700, 901, 3};
  const Spread dense_chw{chw, {700 * 901, 901, 1}, 3, 3 * 700 * 901 + 7},
      dense_hwc{hwc, {901 * 3, 3, 1}, 3, 3 * 700 * 901 + 7},
      hwc_as_chw{chw, {1, 901 * 3, 3}, 3, 3 * 700 * 901 + 7},
      chw_as_hwc{hwc, {901, 1, 700 * 901}, 3, 3 * 700 * 901 + 7};
  expect_layout(handle, chw, dense_chw, hwc_as_chw, formats[8], formats[0], 0, draw);
  expect_layout(handle, hwc, dense_hwc, chw_as_hwc, formats[0], formats[8], 2, draw);
}

}  // namespace
}  // namespace infini::test
