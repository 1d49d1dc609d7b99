// Rows that join in dst without a gap, but not at the ends of lines. Stored one by one, every line in which two rows
// meet is fetched from memory and written twice; here rows are put together in L1 and leave it in whole lines.
#include <algorithm>
#include <cstring>

#include "backends/cpu/rearrange/copy_bytes.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/runs/kernels.h"

namespace infini::cpu {
namespace {

// A part of dst that begins with a line of its own, but for the first bytes of the first one.
class Joint {
 public:
  explicit Joint(char* dst)
      : skipped_(static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst) % line_bytes)),
        filled_(skipped_),
        lines_(dst - skipped_) {}

  void add(const char* row, int64_t bytes) {
    while (bytes > 0) {
      const int64_t now = std::min(bytes, size - filled_);
      std::memcpy(buffer_ + filled_, row, static_cast<size_t>(now));
      filled_ += now;
      row += now;
      bytes -= now;
      if (filled_ == size) leave();
    }
  }
  // What there is, up to the last byte.
  void leave() {
    copy_streamed(lines_ + skipped_, buffer_ + skipped_, filled_ - skipped_);
    lines_ += filled_;
    skipped_ = filled_ = 0;
  }

 private:
  static constexpr int64_t size = 8 << 10;
  int64_t skipped_, filled_;
  char* lines_;
  alignas(line_bytes) char buffer_[size];
};

}  // namespace

void copy_joined(const Line& line) {
  constexpr int64_t ahead_bytes = 2 << 10;  // the hardware does not know where the next rows are
  const int64_t ahead = line.repeat_src * (ahead_bytes / line.count + 1);
  Joint joint(line.dst);
  const char* row = line.src;
  for (int64_t turn = 0; turn < line.repeat; ++turn, row += line.repeat_src) {
    for (int64_t i = 0; i < line.count; i += line_bytes) __builtin_prefetch(row + ahead + i);
    joint.add(row, line.count);
  }
  joint.leave();
}

}  // namespace infini::cpu
