// What libinfini.so shows to its own command line tool beyond the public headers. These symbols carry a version that
// names the exact release (see CMakeLists.txt), so a tool of another release does not start with them; clients must not
// use them.
#pragma once

// Protected in the library, where calls stay direct; what a program refers to must not be.
#ifdef INFINI_TOOL
#define INFINI_TOOL_EXPORT __attribute__((visibility("default")))
#else
#define INFINI_TOOL_EXPORT __attribute__((visibility("protected")))
#endif
