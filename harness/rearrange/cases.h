// The curated cases: the shapes and strides that have broken implementations before.
#pragma once

#include <string>
#include <vector>

namespace infini::harness {

// Valid problems in text form; every backend must pass all of them.
std::vector<std::string> curated_rearrange_cases();

// Layouts that some backend has a kernel for, of up to some MB: all kinds of transposes, runs, blocks and repeats.
std::vector<std::string> layout_cases();
// Runs of all kinds and element sizes that are longer than what one task, block or core takes at a time.
std::vector<std::string> long_run_cases();

}  // namespace infini::harness
