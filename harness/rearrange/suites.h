// Named lists of problems for `infini bench`.
#pragma once

#include <string_view>
#include <vector>

namespace infini::harness {

struct BenchCase {
  const char* name;     // short, stable: it is the key in JSON results
  const char* problem;  // problem text
};
struct Suite {
  const char* name;
  const char* about;
  std::vector<BenchCase> cases;
};

std::vector<Suite> cpu_suites();
std::vector<Suite> gemm_suites();

const std::vector<Suite>& suites();
// Null when there is none of this name.
const Suite* find_suite(std::string_view name);

}  // namespace infini::harness
