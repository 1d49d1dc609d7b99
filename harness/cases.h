// The curated cases: the shapes and strides that have broken implementations before.
#pragma once

#include <string>
#include <vector>

namespace infini::harness {

// Valid problems in text form; every backend must pass all of them.
std::vector<std::string> curated_rearrange_cases();

}  // namespace infini::harness
