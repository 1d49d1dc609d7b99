// Asynchronous copies into shared memory: nothing arrives before it is waited for, and the bytes
// are garbage until then.
#include <cstring>

#include "kernel.h"

namespace simt {
namespace {

constexpr size_t vector = 16;

// Kernels run with real loads: what they may read, this may read.
void take(Staged& copy) {
  std::memcpy(copy.bytes, reinterpret_cast<const void*>(copy.from), vector);
}

void mark_arriving(const uint8_t* to, bool arriving) {
  SharedWord* word =
      &engine.shared_words[static_cast<size_t>(to - engine.shared) / SharedWord::bytes];
  for (size_t i = 0; i < vector / SharedWord::bytes; ++i) word[i].arriving = arriving;
}

}  // namespace

void finish_copies(Thread& thread) {
  for (Staged& copy : thread.staged) {
    if (!copy.taken) take(copy);
    mark_arriving(copy.to, false);
    check_shared(copy.to, vector, true);
    std::memcpy(copy.to, copy.bytes, vector);
  }
  thread.staged.clear();
}

}  // namespace simt

using namespace simt;

void simtStageVector(void* shared, const void* global) {
  Engine& e = engine;
  auto* to = static_cast<uint8_t*>(shared);
  const auto from = reinterpret_cast<Address>(global);
  if (reinterpret_cast<Address>(shared) % vector != 0 || from % vector != 0) {
    violate(SIMT_EMU_MISALIGNED, "a copy of 16 bytes from %p to %p", global, shared);
    fault(simtErrorMisalignedAddress);
  }
  if (static_cast<size_t>(to - e.shared) >= most_shared) {
    violate(SIMT_EMU_BOUNDS, "an asynchronous copy to %p, which is not shared memory", shared);
    fault(simtErrorIllegalAddress);
  }
  check_access(global, vector, false);
  check_shared(to, vector, true);
  Staged copy{to, from, e.draw() % 2 == 0, {}};
  if (copy.taken) take(copy);
  std::memset(to, static_cast<int>(0x50 | (e.draw() & 15)), vector);
  mark_arriving(to, true);
  append_or_fault(this_thread().staged, copy);
}

void simtStageWait() { finish_copies(this_thread()); }
