// Products through the C API: any layouts, any place in memory, every candidate, workspaces of exactly the size that was
// asked for; each element held against the naive reference, every other byte compared.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "harness/gemm/gemm_problem.h"
#include "harness/gemm/gemm_reference.h"
#include "harness/rearrange/random_problems.h"
#include "tests/fuzz/arena.h"
#include "tests/fuzz/layouts.h"
#include "tests/fuzz/objects.h"
#include "tests/fuzz/setting.h"

namespace infini::fuzz {
namespace {

using harness::element_offset;
using harness::GemmProblem;

constexpr const char* variable = "INFINI_CPU_GEMM";
constexpr const char* candidates[] = {nullptr,   "direct", "sweep",  "skinny",
                                      "blocked", "amx",    "dpbf16", "dots"};
constexpr int64_t arena_bytes = 1 << 20;

struct Memory {
  Arena c{arena_bytes}, a{arena_bytes}, b{arena_bytes}, workspace{4 * arena_bytes - 8192};
};
Memory& memory() {
  static Memory all;
  return all;
}

enum class Values { integers, any };

struct Product {
  GemmProblem p;
  Values values = Values::integers;
  bool inside_c = false;  // a lies in c's memory
  char *c = nullptr, *a = nullptr, *b = nullptr;
  std::vector<char> before, before_a, before_b;  // what the arenas held

  std::string text() const {
    GemmProblem placed = p;
    const auto at = [](const void* x) {
      return static_cast<int64_t>(reinterpret_cast<uintptr_t>(x) % 64);
    };
    placed.c_at = at(c);
    placed.a_at = at(a);
    placed.b_at = at(b);
    return "\"" + to_text(placed) + "\"" + (values == Values::integers ? " integers" : "") +
           (inside_c ? " a at c" + std::to_string(a - c) : "");
  }
  int64_t batch() const { return p.c.rank == 3 ? p.c.shape[0] : 1; }
  int64_t rows() const { return p.c.shape[p.c.rank - 2]; }
  int64_t cols() const { return p.c.shape[p.c.rank - 1]; }
  int64_t depth() const { return p.a.shape[p.a.rank - 1]; }
  bool aligned() const {
    const auto fits = [](const void* x, const Layout& layout) {
      return reinterpret_cast<uintptr_t>(x) % static_cast<uintptr_t>(dtype_bytes(layout.dtype)) ==
             0;
    };
    return fits(c, p.c) && (!multiplies() || (fits(a, p.a) && fits(b, p.b)));
  }
  bool multiplies() const { return p.alpha != 0 && depth() != 0; }
};

// visit(batch, row, column) of every element of a matrix or batch of them.
template <class Visit>
void each(const Layout& x, Visit visit) {
  for (int64_t batch = 0; batch < (x.rank == 3 ? x.shape[0] : 1); ++batch)
    for (int64_t row = 0; row < x.shape[x.rank - 2]; ++row)
      for (int64_t col = 0; col < x.shape[x.rank - 1]; ++col) visit(batch, row, col);
}

int64_t choose_extent(Input& in, int64_t room) {
  static constexpr int64_t large[] = {48,  63,  64,  65,  96,  100, 127, 128,
                                      129, 160, 200, 256, 257, 300, 500, 1000};
  const int choice = in.byte();
  const int64_t extent = choice >= 240 ? large[choice % 16] : choice == 239 ? 0 : 1 + choice % 40;
  return extent <= room ? extent : 1 + extent % std::max<int64_t>(room, 1);
}

Layout choose_matrix(Input& in, infiniDtype_t dtype, int64_t batch, int64_t rows, int64_t cols,
                     bool may_repeat) {
  Extents shape;
  if (batch >= 0) shape.push_back(static_cast<size_t>(batch));
  shape.insert(shape.end(), {static_cast<size_t>(rows), static_cast<size_t>(cols)});
  const Strides strides = in.one_in(32)
                              ? choose_any_strides(in, shape.size())
                              : choose_nested_strides(in, shape, dtype_bytes(dtype), may_repeat);
  return make_layout(dtype, shape.size(), shape.data(), strides.data());
}

GemmProblem choose_problem(Input& in) {
  static constexpr infiniDtype_t types[] = {INFINI_DTYPE_F32, INFINI_DTYPE_BF16, INFINI_DTYPE_F16,
                                            INFINI_DTYPE_F64};
  static constexpr float factors[] = {1, 0, -1, 2, 0.5f, -0.25f};
  const infiniDtype_t dtype = in.one_of(types);
  const bool narrow = dtype_bytes(dtype) == 2;
  const infiniDtype_t out = narrow && in.one_in(2) ? INFINI_DTYPE_F32 : dtype;
  int64_t room = in.one_in(32) ? 1 << 18 : 6000;
  const int batches = in.byte();
  const int64_t batch = batches < 160 ? -1 : batches % 6;
  if (batch > 1) room /= batch;
  const int64_t m = choose_extent(in, room);
  const int64_t n = choose_extent(in, room / std::max<int64_t>(m, 1));
  const int64_t k = choose_extent(in, room / std::max<int64_t>(m * n, 1));
  const auto own = [&] { return batch < 0 || !in.one_in(4) ? batch : in.one_in(2) ? -1 : 1; };
  GemmProblem p;
  p.c = choose_matrix(in, out, batch, m, n, false);
  p.a = choose_matrix(in, dtype, own(), m, k, true);
  p.b = choose_matrix(in, dtype, own(), k, n, true);
  const int scaling = in.byte();
  p.alpha = factors[scaling % 6];
  p.beta = scaling / 6 % 2 == 0 ? 0 : factors[scaling / 12 % 6];
  return p;
}

bool fits(const ByteRange& range) { return range.end - range.begin < arena_bytes - 512; }

void fill(const Layout& layout, char* base, Values values, harness::Random& random) {
  each(layout, [&](int64_t batch, int64_t row, int64_t col) {
    const double value = values == Values::integers
                             ? static_cast<double>(random.between(-4, 4))
                             : static_cast<double>(random.between(-(1 << 24), 1 << 24)) * 0x1p-24;
    harness::write_element(layout.dtype, base + element_offset(layout, batch, row, col), value);
  });
}

void fill_nan(const Layout& layout, char* base) {
  each(layout, [&](int64_t batch, int64_t row, int64_t col) {
    std::memset(base + element_offset(layout, batch, row, col), 0xff,
                static_cast<size_t>(dtype_bytes(layout.dtype)));
  });
}

std::vector<char> held(const Arena& arena) { return {arena.first(), arena.first() + arena.size()}; }

// Puts the operands into memory. False where that is too little.
bool lay_out(Input& in, Product& x) {
  const ByteRange c = byte_range(x.p.c), a = byte_range(x.p.a), b = byte_range(x.p.b);
  const int64_t unit = dtype_bytes(x.p.a.dtype);
  const int64_t shift = x.inside_c ? in.number(2) / 2 * unit : 0;
  if (!fits(c) || !fits(a) || !fits(b)) return false;
  ByteRange own = c;
  if (x.inside_c) own = {std::min(c.begin, a.begin + shift), std::max(c.end, a.end + shift)};
  if (!fits(own)) return false;
  x.c = memory().c.put(own, choose_place(in, dtype_bytes(x.p.c.dtype)), 3);
  x.a = x.inside_c ? x.c + shift : memory().a.put(a, choose_place(in, unit), 5);
  x.b = memory().b.put(b, choose_place(in, unit), 7);
  harness::Random random(in.byte());
  fill(x.p.a, x.a, x.values, random);
  fill(x.p.b, x.b, x.values, random);
  x.p.beta == 0 ? fill_nan(x.p.c, x.c) : fill(x.p.c, x.c, x.values, random);
  if (!x.multiplies() && !x.inside_c) fill_nan(x.p.a, x.a);
  x.before = held(memory().c);
  if (!x.inside_c) x.before_a = held(memory().a);
  x.before_b = held(memory().b);
  return true;
}

bool equals(const Product& x, long double actual, long double expected) {
  char rounded[8];
  harness::write_element(x.p.c.dtype, rounded, expected);
  return actual == harness::read_element(x.p.c.dtype, rounded);
}

bool within(const Product& x, long double actual, long double expected, long double magnitude,
            long double c) {
  const double u = x.p.a.dtype == INFINI_DTYPE_F64 ? 0x1p-53 : 0x1p-24;
  const auto terms = static_cast<double>(x.depth() + 2);
  const double bound =
      terms * u / (1 - terms * u) * std::fabs(x.p.alpha) * static_cast<double>(magnitude) +
      2 * u * std::fabs(x.p.beta * static_cast<double>(c)) +
      harness::unit_roundoff(x.p.c.dtype) * static_cast<double>(std::fabs(expected)) +
      harness::half_denormal(x.p.c.dtype);
  return static_cast<double>(std::fabs(actual - expected)) <= bound;
}

// Every element is right, and nothing but c's elements changed.
void require_result(const Product& x, const std::string& who) {
  for (Arena* arena : {&memory().c, &memory().a, &memory().b}) arena->open();
  const char* const old_c = x.before.data() + (x.c - memory().c.first());
  std::vector<char> expected = x.before;
  each(x.p.c, [&](int64_t batch, int64_t row, int64_t col) {
    const int64_t at = element_offset(x.p.c, batch, row, col);
    const harness::GemmElement element =
        x.multiplies() ? harness::naive_gemm_element(x.p, x.a, x.b, batch, row, col)
                       : harness::GemmElement{};
    const long double c = x.p.beta == 0 ? 0 : harness::read_element(x.p.c.dtype, old_c + at);
    const long double right = x.p.alpha * element.product + x.p.beta * c;
    const long double actual = harness::read_element(x.p.c.dtype, x.c + at);
    const bool good = x.values == Values::integers ? equals(x, actual, right)
                                                   : within(x, actual, right, element.magnitude, c);
    if (!good)
      finding(who + x.text(), "c[" + std::to_string(batch) + "," + std::to_string(row) + "," +
                                  std::to_string(col) + "] is " + std::to_string(actual) +
                                  ", expected " + std::to_string(right));
    std::memcpy(expected.data() + (x.c - memory().c.first()) + at, x.c + at,
                static_cast<size_t>(dtype_bytes(x.p.c.dtype)));
  });
  const int64_t at = memory().c.difference(expected.data());
  if (at != Arena::none)
    finding(who + x.text(), "byte " + std::to_string(memory().c.first() + at - x.c) +
                                " from c's base, which is no element of it, was changed");
  if (!x.inside_c && memory().a.difference(x.before_a.data()) != Arena::none)
    finding(who + x.text(), "a was changed");
  if (memory().b.difference(x.before_b.data()) != Arena::none)
    finding(who + x.text(), "b was changed");
}

bool shares_bytes(const Product& x) {
  std::vector<char> used(static_cast<size_t>(memory().c.size()));
  const auto mark = [&](const Layout& layout, const char* base, bool look) {
    bool met = false;
    each(layout, [&](int64_t batch, int64_t row, int64_t col) {
      char* place =
          used.data() + (base - memory().c.first()) + element_offset(layout, batch, row, col);
      for (int64_t i = 0; i < dtype_bytes(layout.dtype); ++i) {
        met = met || (look && place[i]);
        if (!look) place[i] = 1;
      }
    });
    return met;
  };
  mark(x.p.c, x.c, false);
  return mark(x.p.a, x.a, true);
}

bool created(const Product& x, GemmDescriptor& desc, const std::string& who) {
  TensorDescriptor c, a, b;
  expect_success(create(c, x.p.c), "infiniopCreateTensorDescriptor");
  expect_success(create(a, x.p.a), "infiniopCreateTensorDescriptor");
  expect_success(create(b, x.p.b), "infiniopCreateTensorDescriptor");
  const infiniStatus_t status = infiniopCreateGemmDescriptor(cpu_handle(), desc.out(), c, a, b);
  const bool collides = has_collisions(x.p.c);
  if (status == INFINI_STATUS_SUCCESS) {
    if (collides) finding(who + x.text(), "a c that overlaps itself was accepted");
    return true;
  }
  const std::string why = infiniGetLastErrorString();
  if (status != INFINI_STATUS_BAD_TENSOR_STRIDES ||
      !(collides || why.find("not decided") != std::string::npos))
    finding(who + x.text(), std::string("refused: ") + infiniStatusString(status) + ": " + why);
  return false;
}

// False where the library refused, as it should.
bool ran(const Product& x, GemmDescriptor& desc, How how, const std::string& who) {
  size_t bytes = 0;
  expect_success(infiniopGetGemmWorkspaceSize(desc, &bytes), "infiniopGetGemmWorkspaceSize");
  if (static_cast<int64_t>(bytes) > memory().workspace.capacity() - 64) return false;
  const int64_t unused = (64 - static_cast<int64_t>(bytes) % 64) % 64;  // keeps it aligned
  void* workspace = memory().workspace.put({0, static_cast<int64_t>(bytes)}, {true, unused}, 11);
  Queue queue(x.p.beta == 0 ? how : How::at_once);  // what is recorded runs twice
  const infiniStatus_t status = infiniopGemm(desc, bytes ? workspace : nullptr, bytes, x.c, x.a,
                                             x.b, x.p.alpha, x.p.beta, queue.stream());
  const bool shared = x.inside_c && x.multiplies() && shares_bytes(x);
  if (status == INFINI_STATUS_SUCCESS && shared)
    finding(who + x.text(), "an a that shares memory with c was accepted");
  if (status == INFINI_STATUS_SUCCESS && !x.aligned() && element_count(x.p.c) > 0)
    finding(who + x.text(), "an address that is not aligned was accepted");
  if (status != INFINI_STATUS_SUCCESS && x.aligned() && !(x.inside_c && x.multiplies()))
    finding(who + x.text(),
            std::string(infiniStatusString(status)) + ": " + infiniGetLastErrorString());
  if (status == INFINI_STATUS_SUCCESS) queue.finish();
  memory().workspace.open();
  return status == INFINI_STATUS_SUCCESS;
}

// The same product on one thread gives the same bits.
void require_same_bits(Product& x, Setting setting, const std::string& who) {
  char* const first = memory().c.first();
  const std::vector<char> result(first, first + memory().c.size());
  std::copy(x.before.begin(), x.before.end(), first);
  setting.threads = 1;
  setting.apply();
  GemmDescriptor desc;
  if (!created(x, desc, who) || !ran(x, desc, How::at_once, who)) return;
  if (!std::equal(result.begin(), result.end(), first))
    finding(who + x.text(), "one thread gives other bits");
}

void run_one(Input& in) {
  const Setting setting = choose_setting(in, variable, candidates);
  setting.apply();
  const int mode = in.byte();
  const How how = mode % 16 == 15   ? How::recorded
                  : mode % 16 == 14 ? How::on_a_stream
                                    : How::at_once;
  Product x;
  x.values = mode / 16 % 4 == 3 ? Values::any : Values::integers;
  x.inside_c = mode / 64 == 3 && mode % 16 > 7;
  x.p = choose_problem(in);
  if (!lay_out(in, x)) return;
  const std::string who = setting.text() + " infini check ";
  if (announces()) announce(who + x.text());
  GemmDescriptor desc;
  if (!created(x, desc, who) || !ran(x, desc, how, who)) return;
  require_result(x, who);
  if (setting.threads > 1) require_same_bits(x, setting, who);
}

}  // namespace
}  // namespace infini::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  infini::fuzz::Input in(data, size);
  infini::fuzz::run_one(in);
  return 0;
}
