// The library's environment variables: all read once, when the library is loaded, so that a client's
// setenv() in another thread meets nobody who reads. In setuid programs none is read.
#pragma once

#include <string>
#include <vector>

namespace infini {

// A variable's value as it was when the library was loaded; null where it was not set.
const char* environment(const char* name);

// A value that was not understood is told, never ignored in silence: `infini plan` and `infini devices`
// print these lines. Telling the same twice tells it once.
void tell_not_understood(const char* name, const std::string& expected);
// Also names that begin with INFINI_ and are none of ours.
std::vector<std::string> environment_complaints();

// "1" and "0"; anything else is told and gives the default.
bool environment_flag(const char* name, bool by_default);

// A module carries its own copy of this file: it asks the library's instead.
struct EnvironmentSource {
  const char* (*value)(const char* name);
  void (*tell)(const char* name, const std::string& expected);
};
EnvironmentSource own_environment();
void adopt_environment(const EnvironmentSource& source);

// For tests, which set variables while they run: nobody else may be reading.
void reread_environment();

}  // namespace infini
