// Measuring paged copies: one call for all pieces, beside a copy of the same bytes.
#include "bench/copies/pages_bench.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>

#include "base/error.h"
#include "bench/copies/copy_limit.h"
#include "bench/measure.h"
#include "bench/peers/batch_copies.h"
#include "ops/rearrange_paged.h"
#include "runtime/current_device.h"

namespace infini::bench {
namespace {

// A side: strides of a piece, and its pages (elements of two bytes).
struct CaseSide {
  std::vector<ptrdiff_t> strides;
  int64_t pitch, pieces, piece_stride;
};

struct PagesCase {
  std::string name;
  std::vector<size_t> shape;  // of a piece
  CaseSide dst, src;
  int64_t bytes;                                  // in all
  bool dst_on_host = false, src_on_host = false;  // in pinned memory
};

// Memory of the device, or of the host and pinned.
class Room {
 public:
  Room(Device& device, size_t bytes, bool on_host)
      : device_(device),
        on_host_(on_host),
        p_(on_host ? device.allocate_host(bytes) : device.allocate(bytes)) {
    if (on_host)
      std::memset(p_, 0x5a, bytes);
    else
      device.set(p_, 0x5a, bytes);
  }
  ~Room() { on_host_ ? device_.free_host(p_) : device_.free(p_); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  char* get() const { return static_cast<char*>(p_); }
  void fill(const void* from, size_t bytes) const {
    if (on_host_)
      std::memcpy(p_, from, bytes);
    else
      device_.copy(p_, from, bytes, INFINIRT_MEMCPY_H2D);
  }
  void read(void* to, size_t bytes) const {
    if (on_host_)
      std::memcpy(to, p_, bytes);
    else
      device_.copy(to, p_, bytes, INFINIRT_MEMCPY_D2H);
  }

 private:
  Device& device_;
  bool on_host_;
  void* p_;
};

PagesCase dense_case(const std::string& name, int64_t bytes, int64_t pieces) {
  const auto elements = static_cast<size_t>(bytes / 2);
  const CaseSide side{{1}, bytes / 2, 1, bytes / 2};
  return {name, {elements}, side, side, bytes * pieces};
}

// Out to pinned memory and in from it.
void add_swaps(std::vector<PagesCase>& cases, const std::string& what, int64_t bytes,
               int64_t pieces) {
  cases.push_back(dense_case("swap out: " + what + " to pinned memory", bytes, pieces));
  cases.back().dst_on_host = true;
  cases.push_back(dense_case("swap in: " + what + " from pinned memory", bytes, pieces));
  cases.back().src_on_host = true;
}

// Blocks of 16 tokens, 8 heads of 128 numbers.
std::vector<PagesCase> all_cases() {
  constexpr int64_t t = 16, h = 8, d = 128, page = t * h * d, total = 256 << 20;
  std::vector<PagesCase> cases;
  for (const int64_t bytes : {128, 512, 2048, 16 << 10, 256 << 10})
    cases.push_back(
        dense_case("pieces of " + std::to_string(bytes) + " bytes", bytes, total / bytes));
  for (const int64_t bytes : {2 << 10, 32 << 10})
    add_swaps(cases, "pieces of " + std::to_string(bytes >> 10) + " KiB", bytes,
              (64 << 20) / bytes);
  for (const auto& [kib, pages] :
       {std::pair{1, 16}, {1, 1000}, {1, 100000}, {32, 16}, {32, 1000}, {512, 16}, {512, 500}})
    add_swaps(cases, std::to_string(pages) + " pages of " + std::to_string(kib) + " KiB", kib << 10,
              pages);
  cases.push_back({"append tokens: heads dim -> block token heads dim",
                   {h, d},
                   {{d, 1}, page, t, h * d},
                   {{d, 1}, h * d, 1, h * d},
                   total});
  cases.push_back({"append tokens: heads dim -> block heads token dim",
                   {h, d},
                   {{t * d, 1}, page, t, d},
                   {{d, 1}, h * d, 1, h * d},
                   total});
  cases.push_back({"blocks: token heads dim -> heads token dim",
                   {t, h, d},
                   {{d, t * d, 1}, page, 1, page},
                   {{h * d, d, 1}, page, 1, page},
                   total});
  cases.push_back({"blocks: token heads dim -> heads dim/8 token 8",
                   {t, h, d / 8, 8},
                   {{8, t * d, t * 8, 1}, page, 1, page},
                   {{h * d, d, 8, 1}, page, 1, page},
                   total});
  cases.push_back({"blocks: token heads dim -> heads dim token",
                   {t, h, d},
                   {{1, t * d, t}, page, 1, page},
                   {{h * d, d, 1}, page, 1, page},
                   total});
  return cases;
}

PagesCase find_case(const std::string& name) {
  for (auto& each : all_cases())
    if (each.name == name) return each;
  fail(INFINI_STATUS_BAD_PARAM, "there is no case \"", name, "\"");
}

// All that a run needs, in the device's memory.
class Setup {
 public:
  Setup(Device& device, const PagesCase& about)
      : device_(device),
        about_(about),
        piece_bytes_(2 *
                     static_cast<int64_t>(std::accumulate(about.shape.begin(), about.shape.end(),
                                                          size_t{1}, std::multiplies<>()))),
        pages_(about.bytes / (2 * about.dst.pitch)),
        count_(pages_ * about.dst.pieces),
        src_pages_(count_ / about.src.pieces),
        op_(device, plan()),
        dst_(device, static_cast<size_t>(pages_ * about.dst.pitch * 2), about.dst_on_host),
        src_(device, static_cast<size_t>(src_pages_ * about.src.pitch * 2), about.src_on_host),
        ids_(device, static_cast<size_t>(count_) * 4),
        order_(static_cast<size_t>(count_)) {
    std::iota(order_.begin(), order_.end(), 0);
    std::shuffle(order_.begin(), order_.end(), std::mt19937(7));
    device.copy(ids_.get(), order_.data(), order_.size() * 4, INFINIRT_MEMCPY_H2D);
  }

  int64_t bytes() const { return count_ * piece_bytes_; }
  const char* way() const { return op_.kernel() ? op_.kernel()->candidate() : "loop"; }
  void run() const {
    void* dst[] = {dst_.get()};
    const void* src[] = {src_.get()};
    op_.run({static_cast<size_t>(count_), dst, ids_.get(), src, nullptr, nullptr});
  }
  // Every element where the ids say.
  bool verify() const {
    std::vector<uint16_t> from(static_cast<size_t>(src_pages_ * about_.src.pitch));
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint16_t>(i * 2654435761u >> 7);
    src_.fill(from.data(), from.size() * 2);
    run();
    device_.synchronize();
    std::vector<uint16_t> to(static_cast<size_t>(pages_ * about_.dst.pitch));
    dst_.read(to.data(), to.size() * 2);
    for (int64_t i = 0; i < count_; ++i)
      if (!piece_is_right(to, from, place(about_.dst, order_[static_cast<size_t>(i)]),
                          place(about_.src, i), 0))
        return false;
    op_.check(nullptr);
    return true;
  }
  void copy_plainly() const {
    const auto kind = about_.dst_on_host   ? INFINIRT_MEMCPY_D2H
                      : about_.src_on_host ? INFINIRT_MEMCPY_H2D
                                           : INFINIRT_MEMCPY_D2D;
    device_.copy_async(dst_.get(), src_.get(), static_cast<size_t>(bytes()), kind, nullptr);
  }
  // The same pieces as the driver's batch takes them.
  BatchedCopies batched() const {
    BatchedCopies copies;
    for (int64_t i = 0; i < count_; ++i) {
      copies.dst.push_back(dst_.get() + 2 * place(about_.dst, order_[static_cast<size_t>(i)]));
      copies.src.push_back(src_.get() + 2 * place(about_.src, i));
      copies.bytes.push_back(static_cast<size_t>(piece_bytes_));
    }
    return copies;
  }
  void copy_by(const PlainCopy& copy) const {
    copy.run(dst_.get(), src_.get(), static_cast<size_t>(bytes()), threads_in_use());
  }

 private:
  static int64_t place(const CaseSide& side, int64_t piece) {
    return piece / side.pieces * side.pitch + piece % side.pieces * side.piece_stride;
  }
  bool piece_is_right(const std::vector<uint16_t>& to, const std::vector<uint16_t>& from, int64_t d,
                      int64_t s, size_t dim) const {
    if (dim == about_.shape.size())
      return to[static_cast<size_t>(d)] == from[static_cast<size_t>(s)];
    for (size_t i = 0; i < about_.shape[dim]; ++i) {
      const auto n = static_cast<int64_t>(i);
      if (!piece_is_right(to, from, d + n * about_.dst.strides[dim],
                          s + n * about_.src.strides[dim], dim + 1))
        return false;
    }
    return true;
  }
  PagedPlan plan() const {
    const auto layout = [&](const CaseSide& side) {
      return make_layout(INFINI_DTYPE_F16, about_.shape.size(), about_.shape.data(),
                         side.strides.data());
    };
    const auto options = [](const CaseSide& side, int64_t pages) {
      return PagedSideOptions{pages, side.pitch, side.pieces, side.piece_stride, false};
    };
    PagedPlan plan = make_paged_plan(layout(about_.dst), layout(about_.src),
                                     options(about_.dst, pages_), options(about_.src, src_pages_));
    plan.ids_on_device = true;
    return plan;
  }

  Device& device_;
  const PagesCase& about_;
  int64_t piece_bytes_, pages_, count_, src_pages_;
  RearrangePaged op_;
  Room dst_, src_;
  Memory ids_;
  std::vector<int32_t> order_;
};

// What calls cost their caller, with a queue that is not full.
double host_seconds(Device& device, const Setup& setup) {
  constexpr int calls = 50;
  double spent = 0;
  for (int i = 0; i < calls; ++i) {
    device.synchronize();
    const auto start = std::chrono::steady_clock::now();
    setup.run();
    spent += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  device.synchronize();
  return spent / calls;
}

// The driver's batch where it is a peer: of pieces that are one run each, to or from the host. Else none.
BatchedCopies batch_of(const Device& device, const PagesCase& about, const Setup& setup) {
  if ((!about.dst_on_host && !about.src_on_host) || !has_batched_copies(device)) return {};
  BatchedCopies copies = setup.batched();
  try {
    run_batched_copies(copies);
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
    return {};
  }
  return copies;
}

}  // namespace

std::vector<std::string> pages_cases() {
  std::vector<std::string> names;
  for (const auto& each : all_cases()) names.push_back(each.name);
  return names;
}

CopyRow measure_pages(const std::string& name, const Options& options) {
  Device& device = current_device();
  device.make_current();
  const PagesCase about = find_case(name);
  const Setup setup(device, about);
  CopyRow row;
  row.name = name;
  row.way = setup.way();
  row.bytes = setup.bytes();
  if (options.verify) row.verified = setup.verify();
  std::vector<Side> sides;
  sides.push_back({[&] { setup.run(); }});
  if (device.kind() == INFINI_DEVICE_CPU)
    for (const PlainCopy& copy : plain_copies()) sides.push_back({[&] { setup.copy_by(copy); }});
  else
    sides.push_back({[&] { setup.copy_plainly(); }});
  BatchedCopies copies = batch_of(device, about, setup);
  const bool batched = !copies.bytes.empty();
  if (batched) sides.push_back({[&] { run_batched_copies(copies); }});
  measure(device, sides, options.seconds);
  row.seconds = sides[0].median();
  if (batched) {
    row.batch_seconds = sides.back().median();
    row.batch_ratio = times_as_long(sides.back(), sides[0]);
    sides.pop_back();
  }
  for (size_t i = 1; i < sides.size(); ++i) {
    const double ratio = times_as_long(sides[i], sides[0]);
    if (i > 1 && ratio >= row.ratio) continue;
    row.ratio = ratio;
    row.spread = spread_of(ratios_of(sides[i], sides[0]));
    row.limit_seconds = sides[i].median();
  }
  if (device.kind() != INFINI_DEVICE_CPU) row.host_seconds = host_seconds(device, setup);
  return row;
}

}  // namespace infini::bench
