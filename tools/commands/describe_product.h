// What a product over ranks sends and computes, for `infini reshard`.
#pragma once

#include <string>

namespace infini::tools {

// Prints it; the steps of `rank`, too, where `explain` is set. Gives the report's JSON.
std::string describe_product(const std::string& text, bool explain, int rank);

}  // namespace infini::tools
