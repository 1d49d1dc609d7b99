// Guarded memory.
#include "tests/fuzz/arena.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "harness/rearrange/random_problems.h"

namespace infini::fuzz {
namespace {

constexpr int64_t page = 4096;
constexpr int64_t table_shifts = 4096;

// Random bytes that fillings are taken from: made once, since a run must not cost more than it tests.
const char* table(int64_t bytes) {
  static const auto* random = [](int64_t size) {
    auto* all = new std::vector<char>(static_cast<size_t>(size));
    harness::Random source(7);
    for (int64_t i = 0; i + 8 <= size; i += 8) {
      const uint64_t word = source.next();
      std::memcpy(all->data() + i, &word, 8);
    }
    return all;
  }(int64_t{4} << 20);
  if (bytes > static_cast<int64_t>(random->size())) std::abort();
  return random->data();
}

int64_t first_difference(const char* a, const char* b, int64_t count) {
  if (count <= 0 || std::memcmp(a, b, static_cast<size_t>(count)) == 0) return Arena::none;
  return std::mismatch(a, a + count, b).first - a;
}

}  // namespace

Place choose_place(Input& in, int64_t unit) {
  const int choice = in.byte();
  return {(choice & 1) != 0, choice < 128 ? 0 : (choice >> 1) % 64 * unit % 128};
}

Arena::Arena(int64_t bytes) : bytes_((bytes + 2 * margin + page - 1) / page * page) {
  void* mapping = mmap(nullptr, static_cast<size_t>(bytes_ + 2 * page), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) std::abort();
  mapping_ = static_cast<char*>(mapping);
  memory_ = mapping_ + page;
  if (mprotect(memory_, static_cast<size_t>(bytes_), PROT_READ | PROT_WRITE) != 0) std::abort();
  table(bytes_ + table_shifts);
}

Arena::~Arena() {
  open();
  munmap(mapping_, static_cast<size_t>(bytes_ + 2 * page));
}

const char* Arena::pattern(const char* place) const {
  return table(0) + shift_ + (place - memory_);
}

char* Arena::put(const ByteRange& range, const Place& place, uint64_t seed) {
  open();
  const int64_t span = range.end - range.begin;
  if (span + place.distance > bytes_) std::abort();
  low_ = place.at_end ? memory_ + bytes_ - span - place.distance : memory_ + place.distance;
  high_ = low_ + span;
  shift_ = seed % table_shifts;
  begin_ = std::max(memory_, low_ - margin);
  end_ = std::min(memory_ + bytes_, high_ + margin);
  std::memcpy(begin_, pattern(begin_), static_cast<size_t>(end_ - begin_));
  ASAN_POISON_MEMORY_REGION(begin_, static_cast<size_t>(low_ - begin_));
  ASAN_POISON_MEMORY_REGION(high_, static_cast<size_t>(end_ - high_));
  return low_ - range.begin;
}

void Arena::open() { ASAN_UNPOISON_MEMORY_REGION(begin_, static_cast<size_t>(end_ - begin_)); }

int64_t Arena::difference(const char* expected) const {
  int64_t at = first_difference(begin_, pattern(begin_), low_ - begin_);
  if (at != none) return at - (low_ - begin_);
  at = first_difference(high_, pattern(high_), end_ - high_);
  if (at != none) return at + size();
  return first_difference(low_, expected ? expected : pattern(low_), size());
}

}  // namespace infini::fuzz
