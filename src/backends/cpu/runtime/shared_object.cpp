// Opening shared libraries by dlopen.
#include "backends/cpu/runtime/shared_object.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace infini::cpu {
namespace {

// Sanitizers intercept by the global scope and refuse libraries that look at their own first.
bool sanitized() { return dlsym(RTLD_DEFAULT, "__sanitizer_acquire_crash_state") != nullptr; }

}  // namespace

void* open_shared_object(const char* path) {
  if (path == nullptr) return nullptr;
  return dlopen(path, RTLD_NOW | RTLD_LOCAL | (sanitized() ? 0 : RTLD_DEEPBIND));
}

void* open_shared_object(const char* path, const char* variable, const char* value) {
  if (std::getenv(variable) != nullptr) return open_shared_object(path);
  // Both stay for good: somebody may still be reading when the old environment is back.
  static std::string entry;
  static std::vector<char*> with_entry;
  entry = std::string(variable) + '=' + value;
  with_entry = {entry.data()};
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) with_entry.push_back(*at);
  with_entry.push_back(nullptr);
  char** const before = environ;
  environ = with_entry.data();
  void* const library = open_shared_object(path);
  environ = before;
  return library;
}

void* symbol_of(void* library, const char* name) {
  return library == nullptr ? nullptr : dlsym(library, name);
}

}  // namespace infini::cpu
