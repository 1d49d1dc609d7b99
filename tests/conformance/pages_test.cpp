// Paged copies on the device named by INFINI_TEST_DEVICE, against a walk element by element.
#include <cstring>
#include <numeric>
#include <string>
#include <tuple>

#include "backends/cpu/rearrange/schedule.h"
#include "tests/conformance/device_bytes.h"

namespace infini::test {
namespace {

// One side of a random problem.
struct Side {
  std::vector<ptrdiff_t> strides;
  int64_t span = 0;  // elements of a piece, gaps included
  infiniopPagedSide_t pages{};
  std::vector<int64_t> ids;
  size_t shift = 0;  // elements before the first page

  int64_t elements() const { return static_cast<int64_t>(pages.pages) * pages.pitch + span; }
  // The first element of copy i's piece; -1: a bad id.
  int64_t piece_of(int64_t i) const {
    const auto pieces = static_cast<int64_t>(pages.pieces);
    int64_t page = i / pieces, k = i % pieces;
    if (!ids.empty() && pages.whole_pages != 0) {
      page = ids[static_cast<size_t>(page)];
    } else if (!ids.empty()) {
      const int64_t id = ids[static_cast<size_t>(i)];
      if (id < 0) return -1;
      page = id / pieces;
      k = id % pieces;
    }
    if (page < 0 || page >= static_cast<int64_t>(pages.pages)) return -1;
    return page * pages.pitch + k * pages.piece_stride;
  }
};

struct Problem {
  infiniDtype_t dtype;
  size_t element;
  std::vector<size_t> shape;
  Side dst, src;
  size_t count = 0, layers = 1;
  bool wide = false, on_device = false;
};

class Pages : public ManyCopies {
 protected:
  Side random_side(const std::vector<size_t>& shape);
  Problem random_problem();
  void fill_ids(Problem& problem);
  void expect_right(const Problem& problem, bool captured);
};

Side Pages::random_side(const std::vector<size_t>& shape) {
  Side side;
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (random_() % 2)
    std::shuffle(order.begin(), order.end(), random_);
  else
    std::reverse(order.begin(), order.end());
  side.strides.resize(shape.size());
  const bool gaps = random_() % 2;
  side.span = 1;
  for (const size_t dim : order) {
    side.strides[dim] = side.span;
    side.span = side.span * static_cast<int64_t>(shape[dim]) + (gaps ? random_() % 2 : 0);
  }
  side.pages.pages = 2 + random_() % 5;
  side.pages.pieces = 1 + random_() % 3;
  side.pages.piece_stride = side.span + (gaps ? random_() % 3 : 0);
  side.pages.pitch = static_cast<ptrdiff_t>(side.pages.pieces) * side.pages.piece_stride +
                     static_cast<ptrdiff_t>(gaps ? random_() % 3 : 0);
  side.pages.whole_pages = random_() % 3 == 0;
  side.shift = random_() % 3;
  return side;
}

// Every piece of dst is written once at most.
void Pages::fill_ids(Problem& problem) {
  Side &dst = problem.dst, &src = problem.src;
  const size_t to = dst.pages.whole_pages ? dst.pages.pages : dst.pages.pages * dst.pages.pieces;
  dst.ids.resize(to);
  std::iota(dst.ids.begin(), dst.ids.end(), int64_t{0});
  std::shuffle(dst.ids.begin(), dst.ids.end(), random_);
  problem.count = dst.pages.pages * dst.pages.pieces;
  src.ids.resize(problem.count);
  const size_t from = src.pages.pages * (src.pages.whole_pages ? 1 : src.pages.pieces);
  for (auto& id : src.ids) id = static_cast<int64_t>(random_() % from);
  if (random_() % 4 == 0) dst.ids.clear();
  if (random_() % 4 == 0) {
    src.ids.clear();
    problem.count = std::min(problem.count, src.pages.pages * src.pages.pieces);
  }
}

Problem Pages::random_problem() {
  const std::pair<infiniDtype_t, size_t> types[] = {{INFINI_DTYPE_U8, 1},
                                                    {INFINI_DTYPE_F16, 2},
                                                    {INFINI_DTYPE_F32, 4},
                                                    {INFINI_DTYPE_F64, 8},
                                                    {INFINI_DTYPE_C128, 16}};
  Problem problem;
  std::tie(problem.dtype, problem.element) = types[random_() % 5];
  problem.shape.resize(1 + random_() % 3);
  for (auto& extent : problem.shape) extent = 1 + random_() % 8;
  if (random_() % 2) problem.shape.back() = 16 << random_() % 6;
  problem.dst = random_side(problem.shape);
  problem.src = random_side(problem.shape);
  problem.layers = 1 + random_() % 3;
  problem.wide = random_() % 2;
  problem.on_device = device_ids() && random_() % 2;
  fill_ids(problem);
  return problem;
}

// Ids as the call wants them.
struct Ids {
  Ids(const Problem& problem, const std::vector<int64_t>& ids) : empty(ids.empty()) {
    if (empty) return;
    if (problem.wide) {
      host.resize(ids.size() * 8);
      std::memcpy(host.data(), ids.data(), host.size());
    } else {
      const std::vector<int32_t> narrow(ids.begin(), ids.end());
      host.resize(ids.size() * 4);
      std::memcpy(host.data(), narrow.data(), host.size());
    }
    if (problem.on_device) device = std::make_unique<DeviceBytes>(host);
  }
  const void* get() const {
    return empty ? nullptr : device ? device->get() : static_cast<const void*>(host.data());
  }
  bool empty;
  Bytes host;
  std::unique_ptr<DeviceBytes> device;
};

struct PagedOp {
  PagedOp(const Handle& handle, const Problem& problem) {
    const Tensor dst(problem.shape, problem.dst.strides, problem.dtype);
    const Tensor src(problem.shape, problem.src.strides, problem.dtype);
    infiniopRearrangePagedOptions_t options{};
    options.size = sizeof options;
    options.id_dtype = problem.wide ? INFINI_DTYPE_I64 : INFINI_DTYPE_I32;
    options.ids_on_device = problem.on_device;
    options.layers = problem.layers;
    options.dst = problem.dst.pages;
    options.src = problem.src.pages;
    EXPECT_OK(
        infiniopCreateRearrangePagedDescriptor(handle.handle, &desc, dst.desc, src.desc, &options));
  }
  ~PagedOp() { EXPECT_OK(infiniopDestroyRearrangePagedDescriptor(desc)); }
  infiniopRearrangePagedDescriptor_t desc = nullptr;
};

// Both sides' layers, on the host and on the device.
struct Images {
  Images(std::mt19937& random, const Problem& problem) : problem(problem) {
    for (size_t i = 0; i < problem.layers; ++i) {
      to.push_back(random_bytes(random, bytes_of(problem.dst)));
      from.push_back(random_bytes(random, bytes_of(problem.src)));
      dst.push_back(std::make_unique<DeviceBytes>(to.back()));
      src.push_back(std::make_unique<DeviceBytes>(from.back()));
      dst_bases.push_back(at(*dst.back(), problem.dst));
      src_bases.push_back(at(*src.back(), problem.src));
    }
  }
  size_t bytes_of(const Side& side) const {
    return (side.shift + static_cast<size_t>(side.elements())) * problem.element;
  }
  void* at(const DeviceBytes& all, const Side& side) const {
    return static_cast<char*>(all.get()) + side.shift * problem.element;
  }
  void move_by_hand() {
    for (size_t i = 0; i < problem.count; ++i) {
      const int64_t d = problem.dst.piece_of(static_cast<int64_t>(i));
      const int64_t s = problem.src.piece_of(static_cast<int64_t>(i));
      if (d < 0 || s < 0) continue;
      for (size_t layer = 0; layer < problem.layers; ++layer) move_piece(layer, d, s, 0);
    }
  }
  void move_piece(size_t layer, int64_t d, int64_t s, size_t dim) {
    if (dim == problem.shape.size()) {
      const size_t n = problem.element;
      std::memcpy(to[layer].data() + (problem.dst.shift + static_cast<size_t>(d)) * n,
                  from[layer].data() + (problem.src.shift + static_cast<size_t>(s)) * n, n);
      return;
    }
    for (size_t i = 0; i < problem.shape[dim]; ++i)
      move_piece(layer, d + static_cast<int64_t>(i) * problem.dst.strides[dim],
                 s + static_cast<int64_t>(i) * problem.src.strides[dim], dim + 1);
  }
  void expect_equal() const {
    for (size_t i = 0; i < problem.layers; ++i) {
      ASSERT_EQ(to[i], dst[i]->bytes()) << "layer " << i;
      ASSERT_EQ(from[i], src[i]->bytes()) << "src of layer " << i;
    }
  }

  const Problem& problem;
  std::vector<Bytes> to, from;
  std::vector<std::unique_ptr<DeviceBytes>> dst, src;
  std::vector<void*> dst_bases;
  std::vector<const void*> src_bases;
};

void Pages::expect_right(const Problem& problem, bool captured) {
  const Handle handle;
  const PagedOp op(handle, problem);
  Images images(random_, problem);
  Ids to(problem, problem.dst.ids), from(problem, problem.src.ids);
  run_or_replay(stream_, captured, [&] {
    EXPECT_OK(infiniopRearrangePaged(op.desc, problem.count, images.dst_bases.data(), to.get(),
                                     images.src_bases.data(), from.get(), stream_));
    for (Ids* ids : {&to, &from})  // they were read before the call returned
      std::fill(ids->host.begin(), ids->host.end(), 0xff);
  });
  ASSERT_OK(infinirtStreamSynchronize(stream_));
  images.move_by_hand();
  images.expect_equal();
  EXPECT_OK(infiniopRearrangePagedStatus(op.desc, stream_));
}

TEST_F(Pages, RandomProblems) {
  for (int trial = 0; trial < 60; ++trial) {
    SCOPED_TRACE(trial);
    expect_right(random_problem(), captures() && trial % 4 == 0);
    if (HasFailure()) return;
  }
}

// What only many bytes reach on the CPU: pieces shared by threads, runs past the caches.
TEST_F(Pages, RandomProblemsPastTheCaches) {
  cpu::Policy policy;
  policy.threads = 3;
  policy.streamed_bytes = policy.bytes_per_thread = 64;
  const cpu::ForcedPolicy lowered(policy);
  for (int trial = 0; trial < 60 && !HasFailure(); ++trial) {
    SCOPED_TRACE(trial);
    expect_right(random_problem(), captures() && trial % 4 == 0);
  }
}

// Tokens into slots, and back by block tables: the two layouts that engines use.
Problem cache_problem(bool on_device) {
  Problem problem;
  problem.dtype = INFINI_DTYPE_F16;
  problem.element = 2;
  problem.shape = {4, 32};  // heads, dim of one token
  problem.dst.strides = {16 * 32, 32};
  problem.dst.strides[1] = 1;
  problem.dst.span = 3 * 16 * 32 + 32;
  problem.dst.pages = {9, 4 * 16 * 32, 16, 32, 0};  // block heads token dim
  problem.src.strides = {32, 1};
  problem.src.span = 4 * 32;
  problem.src.pages = {400, 4 * 32, 1, 0, 0};  // token heads dim
  problem.layers = 2;
  problem.on_device = on_device;
  return problem;
}

TEST_F(Pages, TokensGoToSlots) {
  for (const bool on_device : {false, true}) {
    if (on_device && !device_ids()) continue;
    Problem problem = cache_problem(on_device);
    problem.src.pages.piece_stride = problem.src.span;
    problem.count = 9 * 16;
    problem.dst.ids.resize(problem.count);
    std::iota(problem.dst.ids.begin(), problem.dst.ids.end(), int64_t{0});
    std::shuffle(problem.dst.ids.begin(), problem.dst.ids.end(), random_);
    expect_right(problem, false);
    if (captures()) expect_right(problem, true);
  }
}

TEST_F(Pages, BadIdsOfTheHostMoveNothing) {
  Problem problem = cache_problem(false);
  problem.src.pages.piece_stride = problem.src.span;
  problem.count = 3;
  const Handle handle;
  const PagedOp op(handle, problem);
  for (const int64_t id : {int64_t{-1}, int64_t{9 * 16}, int64_t{INT32_MIN}}) {
    problem.dst.ids = {0, id, 2};
    Images images(random_, problem);
    const Ids to(problem, problem.dst.ids);
    EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
              infiniopRearrangePaged(op.desc, 3, images.dst_bases.data(), to.get(),
                                     images.src_bases.data(), nullptr, stream_));
    EXPECT_NE(std::string::npos, std::string(infiniGetLastErrorString()).find("dst_ids[1] is "))
        << infiniGetLastErrorString();
    ASSERT_OK(infinirtStreamSynchronize(stream_));
    images.expect_equal();
  }
}

TEST_F(Pages, BadIdsOfTheDeviceAreSkippedAndTold) {
  if (!device_ids()) return;
  Problem problem = cache_problem(true);
  problem.src.pages.piece_stride = problem.src.span;
  problem.wide = true;
  problem.count = 6;
  problem.dst.ids = {5, 7, -1, 0, 9 * 16, INT64_MIN};
  problem.src.ids = {1, 400, 3, INT64_MAX, 4, 6};
  const Handle handle;
  const PagedOp op(handle, problem);
  Images images(random_, problem);
  const Ids to(problem, problem.dst.ids), from(problem, problem.src.ids);
  EXPECT_OK(infiniopRearrangePaged(op.desc, problem.count, images.dst_bases.data(), to.get(),
                                   images.src_bases.data(), from.get(), stream_));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniopRearrangePagedStatus(op.desc, stream_));
  EXPECT_STREQ("copy 1 had an id that is negative or beyond the last page; it moved nothing",
               infiniGetLastErrorString());
  images.move_by_hand();
  images.expect_equal();
  EXPECT_OK(infiniopRearrangePagedStatus(op.desc, stream_)) << "told once";
}

TEST_F(Pages, BadArgumentsAreAnswered) {
  const Handle handle;
  const Tensor page({4, 8}), other({8, 4}), deep(std::vector<size_t>(63, 1));
  infiniopRearrangePagedDescriptor_t desc = nullptr;
  const auto create = [&](const Tensor& dst, const infiniopRearrangePagedOptions_t* options) {
    return infiniopCreateRearrangePagedDescriptor(handle.handle, &desc, dst.desc, page.desc,
                                                  options);
  };
  infiniopRearrangePagedOptions_t options{};
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, create(page, &options)) << "size 0";
  options.size = sizeof options;
  options.id_dtype = INFINI_DTYPE_F32;
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_DTYPE, create(page, &options));
  options.id_dtype = INFINI_DTYPE_I32;
  options.dst.pitch = 31;
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_STRIDES, create(page, &options));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE, create(other, nullptr));
  EXPECT_EQ(
      INFINI_STATUS_BAD_TENSOR_SHAPE,
      infiniopCreateRearrangePagedDescriptor(handle.handle, &desc, deep.desc, deep.desc, nullptr));
  struct {
    infiniopRearrangePagedOptions_t known;
    size_t later;
  } newer{};
  newer.known.size = sizeof newer;
  newer.later = 1;
  EXPECT_EQ(INFINI_STATUS_NOT_IMPLEMENTED, create(page, &newer.known));
  EXPECT_EQ(nullptr, desc);
  newer.later = 0;
  ASSERT_OK(create(page, &newer.known));
  const void* bases[] = {nullptr};
  void* dst[] = {nullptr};
  EXPECT_OK(infiniopRearrangePaged(desc, 0, nullptr, nullptr, nullptr, nullptr, stream_));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniopRearrangePaged(desc, 1, nullptr, nullptr, bases, nullptr, stream_));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniopRearrangePaged(desc, 1, dst, nullptr, bases, nullptr, stream_));
  EXPECT_OK(infiniopDestroyRearrangePagedDescriptor(desc));
}

}  // namespace
}  // namespace infini::test
