// What a candidate does, in the words of the field.
#pragma once

#include <string>

namespace infini {

// Empty for a name that is not known here.
std::string kernel_words(const std::string& candidate);

}  // namespace infini
