// Text for terminals of 80 columns.
#pragma once

#include <string>

namespace infini {

constexpr size_t terminal_width = 80;
constexpr char unbroken_space = '\t';  // between words that stay on one line

// `start`, then as many words of `text` as fit; further lines begin where the first word stood. Ended. A word that is
// wider than a line stands alone on one.
std::string paragraph(const std::string& start, const std::string& text);

// The same as every line of a plan begins: "  reads       64 MiB in ...".
std::string labelled(const std::string& label, const std::string& text);

}  // namespace infini
