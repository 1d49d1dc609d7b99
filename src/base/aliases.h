// Names that people write for element types and devices, besides those that the library has for them.
#pragma once

#include <string_view>

#include "infinicore.h"

namespace infini {

struct Alias {
  const char *alias, *name;
};

// "float32" and the like for "f32"; ends with a null pair.
extern const Alias dtype_aliases[];

// By the library's name or an alias; INFINI_DTYPE_INVALID when no type has it.
infiniDtype_t dtype_from_any_name(std::string_view name);

// What a vendor's platform is called: "nvidia" for "cuda" or "gpu", null for what is none. Hints only: who names a
// device should say whose.
const char* device_kind_of_platform(std::string_view platform);

}  // namespace infini
