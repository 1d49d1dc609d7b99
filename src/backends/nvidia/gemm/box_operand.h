// Operands of 16 bits that the copy engine (TMA, sm_90 and later) fetches in boxes: what it can
// read, and where it puts the elements.
//
// C++17, constexpr where kernels share it.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/gemm/gemm_plan.h"

namespace infini::nvidia {

constexpr int box_line_bytes = 128;            // of a box with k inside
constexpr int box_depth = box_line_bytes / 2;  // elements of k in a box
constexpr int box_alignment = 1024;  // of boxes in shared memory: one period of the widest swizzle
constexpr int barrier_bytes = 8;
// What a processor has (sm_90), and what the driver takes of it for each block.
constexpr int processor_bytes = 228 << 10, driver_bytes = 1 << 10;

constexpr int box_bytes(int extent) { return extent * box_line_bytes; }

// A or B as the engine sees it: matrices of lines of elements side by side. Steps are bytes.
struct BoxOperand {
  bool k_inside;                // lines run along k, else along x (rows of A, columns of B)
  int64_t inner, outer, batch;  // extents; a batch of 1 for all matrices of C
  int64_t outer_step, batch_step;
};

// Nothing unless the operand has 16 bits, lines of elements side by side and steps that are
// multiples of 16 bytes. Bases must be such multiples, too.
std::optional<BoxOperand> box_operand_a(const GemmPlan& plan);
std::optional<BoxOperand> box_operand_b(const GemmPlan& plan);

// Where element (x, k) lies in an operand's box of `extent` × box_depth. Lines are as long as the
// box is wide, without gaps; the engine spreads their vectors of 16 bytes over the banks: a
// vector's number in its line is xored with the number of its 128 bytes in the box.
constexpr uint32_t place_in_box(int extent, int x, int k, bool k_inside) {
  const uint32_t line_bytes = k_inside ? box_line_bytes : static_cast<uint32_t>(extent) * 2;
  const uint32_t line = static_cast<uint32_t>(k_inside ? x : k) * line_bytes,
                 inner = static_cast<uint32_t>(k_inside ? k : x) * 2;
  const uint32_t turn = (line / 128) % (line_bytes / 16) * 16;
  return line + (inner ^ turn);
}

}  // namespace infini::nvidia
