// Where backend modules are looked for: absolute folders only, never the current directory.
//
// Law: the folders come from INFINI_BACKEND_PATH, else from the file that this code was loaded from as the
// kernel knows it. Neither argv[0] nor a name that the loader was given takes part: both may be relative, and
// would then mean whatever folder the process happens to be in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/export.h"

namespace infini {

struct ModuleFolders {
  std::vector<std::filesystem::path> folders;  // absolute, in order of preference
  std::vector<std::string> remarks;            // what was not followed, and why: whole sentences
};

// What decides, so that a test can say it.
struct ModuleOrigin {
  std::string variable;        // the value of INFINI_BACKEND_PATH; empty: not set
  std::string file;            // that this code is in; empty: unknown
  bool is_program = false;     // that file is the main program, not a library
  bool is_privileged = false;  // setuid, setgid or with capabilities: the caller is not trusted
};

ModuleFolders module_folders(const ModuleOrigin& origin);

// Of this process, found out once.
INFINI_TOOL_EXPORT const ModuleFolders& module_folders();

// The file that is mapped at `address`, of text as in /proc/self/maps; empty when there is none.
std::string file_mapped_at(std::istream& maps, uintptr_t address);

}  // namespace infini
