// Copies that were made before: found by their layouts and run through the C API, with no tensor in between.
#include "prepared.h"

#include <cstring>
#include <vector>

#include "convert.h"
#include "errors.h"
#include "infiniop.h"
#include "stream.h"

namespace infini::python {
namespace {

namespace context = infinicore::context;

void require_success(infiniStatus_t status) {
  if (status != INFINI_STATUS_SUCCESS) [[unlikely]]
    throw infinicore::Error(status, infiniGetLastErrorString());
}

// All that the preparation depends on, as plain numbers.
struct Key {
  int64_t words[1 + 4 * max_rank];
  size_t count = 0;
  uint64_t hash = 0;

  Key(const Array& dst, const Array& src) {
    add(static_cast<int64_t>(dst.device.getType()) | static_cast<int64_t>(dst.device.getIndex()) << 8 |
        static_cast<int64_t>(dst.rank) << 24 | static_cast<int64_t>(src.rank) << 32 | dst.itemsize << 40);
    for (const Array* side : {&dst, &src}) {
      for (int i = 0; i < side->rank; ++i) add(side->shape[i]);
      for (int i = 0; i < side->rank; ++i) add(side->steps[i]);
    }
  }
  bool operator==(const std::vector<int64_t>& other) const {
    return other.size() == count && std::memcmp(words, other.data(), count * sizeof words[0]) == 0;
  }

 private:
  void add(int64_t word) {
    words[count++] = word;
    hash = (hash ^ static_cast<uint64_t>(word)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
};

class Slot {
 public:
  Slot() = default;
  Slot(const Slot&) = delete;
  ~Slot() { infiniopDestroyRearrangeDescriptor(copy_); }

  bool holds(const Key& key) const { return copy_ && key == key_; }
  infiniopRearrangeDescriptor_t copy() const { return copy_; }
  void fill(const Key& key, const Array& dst, const Array& src) {
    auto [y, x] = to_words(dst, src, Hold::caller);
    const infinicore::Tensor spread = x->broadcast_to(y->shape());
    const CurrentDevice current(dst.device);
    infiniopRearrangeDescriptor_t made = nullptr;
    require_success(infiniopCreateRearrangeDescriptor(context::getInfiniopHandle(), &made, y->desc(), spread->desc()));
    infiniopDestroyRearrangeDescriptor(copy_);
    copy_ = made;
    key_.assign(key.words, key.words + key.count);
  }

 private:
  std::vector<int64_t> key_;
  infiniopRearrangeDescriptor_t copy_ = nullptr;
};

// A key has two places; the newer one takes the first that is free, or its own.
infiniopRearrangeDescriptor_t prepare(const Array& dst, const Array& src) {
  constexpr size_t count = 256;
  thread_local Slot slots[count];
  const Key key(dst, src);
  Slot &home = slots[key.hash % count], &beside = slots[(key.hash % count) ^ 1];
  if (home.holds(key)) return home.copy();
  if (beside.holds(key)) return beside.copy();
  Slot& chosen = home.copy() && !beside.copy() ? beside : home;
  chosen.fill(key, dst, src);
  return chosen.copy();
}

}  // namespace

void run_prepared_copy(const Array& dst, const Array& src, void* stream) {
  const infiniopRearrangeDescriptor_t copy = prepare(dst, src);
  const Unlocked unlocked(worth_unlocking(dst));
  require_success(infiniopRearrange(copy, dst.data, src.data, stream));
}

}  // namespace infini::python
