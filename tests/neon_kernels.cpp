// The panel kernels of one level against the portable ones; a program of its own, so that it can be
// cross-compiled without a test framework and run under an emulator.
#include <cstdio>
#include <cstring>
#include <vector>

#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/shuffle/kernels.h"
#include "backends/cpu/rearrange/shuffle/program.h"

using namespace infini::cpu;

namespace {

constexpr int64_t row_pitch = 403, column_pitch = 83, size = 64 * 1024;

// One panel by both kernels into memory that was equal before: it must be equal afterwards.
bool same(PanelKernel kernel, PanelKernel reference, int word, int rows, int64_t columns, int at) {
  std::vector<char> src(size), expected(size, 'x'), actual(size, 'x');
  for (int64_t i = 0; i < size; ++i)
    src[static_cast<size_t>(i)] = static_cast<char>(i * 7 + i / 251);
  int64_t src_of_row[64], dst_of_column[256];
  for (int r = 0; r < 64 / word; ++r) src_of_row[r] = (r < rows ? r : rows - 1) * row_pitch;
  for (int64_t c = 0; c < columns; ++c) dst_of_column[c] = (columns - 1 - c) * column_pitch;
  Panel panel{};
  panel.dst_of_column = dst_of_column;
  panel.src = src.data() + at;
  panel.src_of_row = src_of_row;
  panel.columns = columns;
  panel.rows = rows;
  panel.dst = expected.data() + 64 + at;
  reference(panel);
  panel.dst = actual.data() + 64 + at;
  kernel(panel);
  if (expected != actual) return false;
  // The same by steps instead of tables.
  std::vector<char> stepped(size, 'x');
  panel.dst = stepped.data() + 64 + at + dst_of_column[0];
  panel.dst_of_column = panel.src_of_row = nullptr;
  panel.column_step = -column_pitch;
  panel.row_step = row_pitch;
  kernel(panel);
  return expected == stepped;
}

// Two periods of a shuffle program whose atoms come from anywhere.
bool shuffles(int64_t atom, int64_t blocks, unsigned seed) {
  std::vector<char> src(size), expected(size, 'x'), actual(size, 'x');
  for (int64_t i = 0; i < size; ++i)
    src[static_cast<size_t>(i)] = static_cast<char>(i * 7 + i / 251);
  ShuffleTask task{blocks, 3 * atom, 3 * atom, atom, {}};
  for (int64_t i = 0; i < 3 * blocks; ++i)
    task.offsets.push_back(1000 + static_cast<int64_t>((seed += seed * 5 + 7) >> 8) % 40);
  const ShuffleProgram program = make_shuffle_program(task, 16, shuffle_cost(task, 16, 64));
  for (int64_t i = 0; i < 2 * program.bytes; ++i) {
    const int64_t at = i % program.bytes, from = task.offsets[static_cast<size_t>(at / atom)];
    expected[static_cast<size_t>(i)] =
        src[static_cast<size_t>(from + at % atom + i / program.bytes * 99)];
  }
  const ShuffleRun run{actual.data(), src.data(), 2, program.vectors(), program.bytes, 99, 0};
  shuffle_kernels_neon(program.depth).run(program, run);
  return std::memcmp(expected.data(), actual.data(), static_cast<size_t>(2 * program.bytes)) == 0;
}

}  // namespace

int main() {
  int checked = 0;
  for (int word = 1; word <= 16; word *= 2) {
    const PanelKernel kernel = panel_kernels(isa(), word).cached;
    const PanelKernel streamed = panel_kernels(isa(), word).streamed;
    const PanelKernel reference = panel_kernels_portable(word).cached;
    for (int rows = 1; rows <= 64 / word; ++rows)
      for (int64_t columns = 1; columns * word <= 80; ++columns, ++checked)
        if (!same(kernel, reference, word, rows, columns, rows % 5) ||
            (isa() == Isa::neon && !same(streamed, reference, word, rows, columns, 0))) {
          std::printf("%s differs: word %d, %d rows, %d columns\n", isa_name(isa()), word, rows,
                      static_cast<int>(columns));
          return 1;
        }
  }
  for (int64_t atom = 1; atom <= 24; ++atom)
    for (int64_t blocks = 1; blocks <= 16; ++blocks)
      if (isa() == Isa::neon &&
          !shuffles(atom, blocks, static_cast<unsigned>(31 * atom + blocks))) {
        std::printf("a shuffle differs: atoms of %d bytes, %d blocks\n", static_cast<int>(atom),
                    static_cast<int>(blocks));
        return 1;
      }
  std::printf("%d panels at level %s agree with the portable kernels\n", checked, isa_name(isa()));
  return 0;
}
