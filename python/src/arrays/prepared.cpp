// Copies and products that were made before: found by their layouts and run through the C API.
#include "arrays/prepared.h"

#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

#include "doors/convert.h"
#include "doors/doors.h"
#include "doors/numpy_head.h"
#include "doors/stream.h"
#include "errors.h"
#include "infiniop.h"

namespace infini::python {
namespace {

namespace context = infinicore::context;
using infinicore::Tensor;

void require_success(infiniStatus_t status) {
  if (status != INFINI_STATUS_SUCCESS) [[unlikely]]
    throw infinicore::Error(status, infiniGetLastErrorString());
}

// All that the preparation depends on, as plain numbers.
struct Key {
  int64_t words[3 * (2 + 2 * max_rank)];
  size_t count = 0;
  uint64_t hash = 0;

  explicit Key(std::initializer_list<const Array*> arrays) {
    for (const Array* array : arrays) {
      add(static_cast<int64_t>(array->device.getType()) |
          static_cast<int64_t>(array->device.getIndex()) << 8);
      add(array->rank | static_cast<int64_t>(array->element.code) << 8 |
          int64_t{array->element.swapped} << 16 | array->itemsize << 24);
      for (int i = 0; i < array->rank; ++i) add(array->shape[i]);
      for (int i = 0; i < array->rank; ++i) add(array->steps[i]);
    }
    hash ^= hash >> 32;
    hash *= multiplier;
    hash ^= hash >> 32;
  }
  bool operator==(const std::vector<int64_t>& other) const {
    return other.size() == count && std::memcmp(words, other.data(), count * sizeof words[0]) == 0;
  }

 private:
  static constexpr uint64_t multiplier = 0xff51afd7ed558ccdu;
  uint64_t weight = multiplier;

  // A sum of products, each by an odd number of its own: they do not wait for one another.
  void add(int64_t word) {
    hash += static_cast<uint64_t>(word) * weight;
    weight += 2 * multiplier;
    words[count++] = word;
  }
};

// A fixed number of prepared operators. A key has two places: its own, and the one beside it while
// that is free; the newest takes what it needs.
template <class Operator>
class Cache {
 public:
  template <class Make>
  const Operator& get(const Key& key, Make&& make) {
    Slot &home = slots_[key.hash % size], &beside = slots_[(key.hash % size) ^ 1];
    if (key == home.key) return home.prepared;
    if (key == beside.key) return beside.prepared;
    Slot& chosen = !home.key.empty() && beside.key.empty() ? beside : home;
    chosen.prepared = make();  // may throw: then the old one stays
    chosen.key.assign(key.words, key.words + key.count);
    return chosen.prepared;
  }

 private:
  static constexpr size_t size = 256;
  struct Slot {
    std::vector<int64_t> key;
    Operator prepared;
  };
  Slot slots_[size];
};

struct Copy {
  std::shared_ptr<InfiniopDescriptor> descriptor;

  static Copy make(const Array& dst, const Array& src) {
    auto [y, x] = to_words(dst, src, Hold::caller);
    const Tensor spread = x->broadcast_to(y->shape());
    const CurrentDevice current(dst.device);
    infiniopRearrangeDescriptor_t made = nullptr;
    require_success(infiniopCreateRearrangeDescriptor(context::getInfiniopHandle(), &made,
                                                      y->desc(), spread->desc()));
    return {{made, [](auto* old) { infiniopDestroyRearrangeDescriptor(old); }}};
  }
};

// The CPU has done its work when it returns: one small workspace serves a thread's products in
// turn.
constexpr size_t small_workspace = 1 << 16;

// A product of matrices, or of one batch of them, from what may have any number of batch dims.
struct Sides {
  Tensor c, a, b;
};

// Vectors as matrices of one row or column, which the result lacks.
Sides as_matrices(Tensor c, Tensor a, Tensor b) {
  const bool row = a->ndim() == 1, column = b->ndim() == 1;
  if (row) {
    a = a->unsqueeze(0);
    c = c->unsqueeze(c->ndim() - (column ? 0 : 1));
  }
  if (column) {
    b = b->unsqueeze(1);
    c = c->unsqueeze(c->ndim());
  }
  return {c, a, b};
}

using infinicore::Shape;

Shape batch_of(const Tensor& tensor) {
  return {tensor->shape().begin(), tensor->shape().end() - 2};
}

size_t count_of(const Shape& shape) {
  size_t count = 1;
  for (const size_t extent : shape) count *= extent;
  return count;
}

// The tensor with its batch dims as one, or with those of it that are rows, too.
Tensor folded(const Tensor& tensor, bool into_rows) {
  const size_t rows = tensor->size(tensor->ndim() - 2), columns = tensor->size(tensor->ndim() - 1),
               batch = count_of(batch_of(tensor));
  return into_rows ? tensor->view({batch * rows, columns}) : tensor->view({batch, rows, columns});
}

// Throws where no strides say it.
Sides folded(const Sides& sides) {
  const Shape batch = batch_of(sides.c), left = batch_of(sides.a), right = batch_of(sides.b);
  const size_t count = count_of(batch);
  const auto fits = [&](const Shape& own) {
    return own == batch || (count_of(own) == 1 && own.size() <= batch.size());
  };
  if (!fits(left) || !fits(right) || (left != batch && right != batch))
    fail_value("batch dims that are not those of both, or of one");
  if (count > 1 && left == batch && right != batch) try {  // more rows
      return {folded(sides.c, true), folded(sides.a, true), folded(sides.b, true)};
    } catch (const infinicore::Error&) {  // the rows of two matrices do not lie evenly
    }
  if (count == 1) return {folded(sides.c, true), folded(sides.a, true), folded(sides.b, true)};
  return {folded(sides.c, false), folded(sides.a, false), folded(sides.b, false)};
}

struct Gemm {
  std::shared_ptr<InfiniopDescriptor> descriptor;  // null: the long way
  size_t workspace = 0;

  static Gemm make(const Array& c, const Array& a, const Array& b) try {
    if (!can_convert(c) || !can_convert(a) || !can_convert(b) || c.is_empty()) return {};
    const Sides sides = folded(as_matrices(to_tensor(c, Hold::caller), to_tensor(a, Hold::caller),
                                           to_tensor(b, Hold::caller)));
    const CurrentDevice current(c.device);
    infiniopGemmDescriptor_t made = nullptr;
    if (infiniopCreateGemmDescriptor(context::getInfiniopHandle(), &made, sides.c->desc(),
                                     sides.a->desc(), sides.b->desc()) != INFINI_STATUS_SUCCESS)
      return {};
    Gemm gemm{{made, [](auto* old) { infiniopDestroyGemmDescriptor(old); }}};
    require_success(infiniopGetGemmWorkspaceSize(made, &gemm.workspace));
    const size_t most = c.device == infinicore::Device::cpu() ? small_workspace : 0;
    return gemm.workspace <= most ? gemm : Gemm{};
  } catch (const infinicore::Error&) {
    return {};
  }
};

}  // namespace

void run_prepared_copy(const Array& dst, const Array& src, void* stream, Gil gil) {
  thread_local Cache<Copy> copies;
  const Copy& copy = copies.get(Key({&dst, &src}), [&] { return Copy::make(dst, src); });
  const Unlocked unlocked(worth_unlocking(dst), gil);
  require_success(infiniopRearrange(copy.descriptor.get(), dst.data, src.data, stream));
}

nb::object run_prepared_numpy_copy(const Array& src) {
  thread_local Cache<Copy> copies;
  const Copy& copy = copies.get(Key({&src}), [&] {
    Array dst = src;
    set_dense_steps(dst);
    return Copy::make(dst, src);
  });
  nb::object made = new_numpy(numpy_dtype(src), src.shape, src.rank);
  const Unlocked unlocked(worth_unlocking(src));
  require_success(infiniopRearrange(copy.descriptor.get(), numpy_data(made), src.data, nullptr));
  return made;
}

bool run_prepared_gemm(const Array& c, const Array& a, const Array& b, double alpha, double beta,
                       void* stream, Gil gil) {
  thread_local Cache<Gemm> products;
  const Gemm& gemm = products.get(Key({&c, &a, &b}), [&] { return Gemm::make(c, a, b); });
  if (!gemm.descriptor) return false;
  alignas(64) thread_local std::byte workspace[small_workspace];
  const Unlocked unlocked(worth_unlocking(c, a.shape[a.rank - 1]), gil);
  const infiniopGemmScales_t scales{sizeof scales, alpha, beta};
  require_success(infiniopGemmWithScales(gemm.descriptor.get(), workspace, gemm.workspace, c.data,
                                         a.data, b.data, &scales, stream));
  return true;
}

}  // namespace infini::python
