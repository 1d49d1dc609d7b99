// What the costs on an Ascend chip are made of. Assumed: nobody has measured them on a chip yet, so only their proportions
// count. Where they come from stands beside each.
#pragma once

namespace infini::ascend {

struct ChipModel {
  double memory_bytes_per_ns = 1600;  // an Atlas A2's data sheet; a copy reads and writes
  // Between two calls in a stream, of a copy engine or an operator: asynchronous launches of such chips.
  double call_ns = 5000;
  double row_ns = 0.1;      // of the 2-D engine, for a row however short: 64 bytes at full speed
  double block_bytes = 32;  // that the AI Core reads and writes at the least
  double ai_cpu_ns = 23e6;  // of a call that leaves the AI Core: the least that users tell of
  double ai_cpu_element_ns = 0.5;
  double matrix_flops_per_ns = 300e3;  // of 16-bit elements, the data sheet's
};

}  // namespace infini::ascend
