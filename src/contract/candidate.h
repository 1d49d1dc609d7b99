// Ordered candidate lists: the first that accepts a plan runs it; the last accepts everything.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>

namespace infini {

// `accepts` says where a candidate is wanted; `make` declines by null what it cannot do.
template <class Kernel, class Context, class Plan>
struct Candidate {
  const char* name;
  bool (*accepts)(const Context&, const Plan&);
  std::unique_ptr<Kernel> (*make)(const Context&, const Plan&);
};

// Whether an environment variable's value, a candidate's name with or without '!', names this one.
inline bool names(const char* wanted, const char* candidate) {
  const size_t length = std::strlen(candidate);
  return std::strncmp(wanted, candidate, length) == 0 &&
         (wanted[length] == 0 || std::strcmp(wanted + length, "!") == 0);
}

// `variable` names an environment variable that may hold one candidate's name: only that one and the
// ones behind it (the fallbacks) are then asked; with '!' behind the name it is not asked whether it
// accepts, only made, which it may still decline. For tests and measurements.
template <class Kernel, class Context, class Plan, size_t N>
std::unique_ptr<Kernel> first_accepting(const Candidate<Kernel, Context, Plan> (&list)[N],
                                        const Context& context, const Plan& plan,
                                        const char* variable) {
  const char* wanted = std::getenv(variable);
  bool reached = wanted == nullptr;
  if (!reached) {  // an unknown name skips nothing
    reached = true;
    for (const auto& candidate : list) reached = reached && !names(wanted, candidate.name);
  }
  for (const auto& candidate : list) {
    const bool named = wanted != nullptr && names(wanted, candidate.name);
    const bool forced = named && wanted[std::strlen(wanted) - 1] == '!';
    reached = reached || named;
    if (!reached || (!forced && !candidate.accepts(context, plan))) continue;
    if (auto kernel = candidate.make(context, plan)) return kernel;
  }
  return nullptr;
}

}  // namespace infini
