// Finding the folders of backend modules.
#include "runtime/module_folders.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/environment.h"

namespace infini {
namespace {

using std::filesystem::path;

void add_named(const std::string& variable, ModuleFolders& found) {
  std::istringstream entries(variable);
  for (std::string entry; std::getline(entries, entry, ':');) {
    if (path(entry).is_absolute())
      found.folders.push_back(path(entry).lexically_normal());
    else if (!entry.empty())
      found.remarks.push_back("INFINI_BACKEND_PATH names \"" + entry +
                              "\", which is not an absolute path and was not followed");
  }
  if (found.folders.empty() && found.remarks.empty())
    found.remarks.push_back("INFINI_BACKEND_PATH names no folder");
}

// A library's modules lie beside it; those of a program that carries the library's code itself (bin/infini), in
// the lib folder beside its own.
void add_own(const ModuleOrigin& origin, ModuleFolders& found) {
  const path own = path(origin.file).parent_path();
  if (!own.is_absolute()) {
    found.remarks.push_back("the folder of this code is not known (/proc cannot be read)");
    return;
  }
  if (origin.is_program && origin.is_privileged) {  // whoever can link to it chooses its folder
    found.remarks.push_back("a privileged program does not look for modules beside itself");
    return;
  }
  found.folders.push_back(own);
  if (!origin.is_program) return;
  for (const char* beside : {"../lib", "../lib64", "../lib/" INFINI_LIBRARY_ARCHITECTURE})
    found.folders.push_back((own / beside).lexically_normal());
}

ModuleOrigin origin_of_this_process() {
  ModuleOrigin origin;
  if (const char* variable = environment("INFINI_BACKEND_PATH")) origin.variable = variable;
  origin.is_privileged = getauxval(AT_SECURE) != 0;
  const auto here = reinterpret_cast<const void*>(&origin_of_this_process);
  Dl_info info{};
  void* map = nullptr;
  const bool known = dladdr1(here, &info, &map, RTLD_DL_LINKMAP) != 0 && map != nullptr;
  const std::string name = known ? static_cast<const link_map*>(map)->l_name : "";
  origin.is_program = name.empty();
  std::ifstream maps("/proc/self/maps");
  origin.file = file_mapped_at(maps, reinterpret_cast<uintptr_t>(here));
  if (origin.file.empty() && path(name).is_absolute()) origin.file = name;
  return origin;
}

}  // namespace

ModuleFolders module_folders(const ModuleOrigin& origin) {
  ModuleFolders found;
  const bool named = !origin.variable.empty();
  if (named && origin.is_privileged)
    found.remarks.push_back("INFINI_BACKEND_PATH is not followed in a privileged program");
  if (named && !origin.is_privileged)
    add_named(origin.variable, found);
  else
    add_own(origin, found);
  return found;
}

const ModuleFolders& module_folders() {
  static const auto* folders = new ModuleFolders(module_folders(origin_of_this_process()));
  return *folders;  // never destroyed: somebody's static destructor may ask for a device
}

std::string file_mapped_at(std::istream& maps, uintptr_t address) {
  // "begin-end permissions offset device inode   /path", the path as the kernel knows it: whole, without links.
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    words >> std::hex >> begin >> dash >> end;
    if (!words || address < begin || address >= end) continue;
    const size_t at = line.find('/');
    return at == std::string::npos ? "" : line.substr(at);
  }
  return "";
}

}  // namespace infini
