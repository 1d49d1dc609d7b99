// Opening other people's shared libraries inside a process that is not ours.
#pragma once

namespace infini::cpu {

// Opens the library for us alone: its symbols serve nobody else, and it prefers its own to equal ones
// that the host has loaded. Null: `path` is null or cannot be opened.
void* open_shared_object(const char* path);

// The same, while the environment holds `variable` with `value`, unless it has the variable already.
// The environment is not edited: for the moment of loading it is a copy with one more entry, so that
// other threads may go on reading either of them. (One that writes it in this moment loses its entry.)
void* open_shared_object(const char* path, const char* variable, const char* value);

void* symbol_of(void* library, const char* name);

// True where the library has it.
template <class Function>
bool find_symbol(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(symbol_of(library, name));
  return function != nullptr;
}

}  // namespace infini::cpu
