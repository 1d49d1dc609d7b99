// Ctrl-C as a wish: what runs ends where it can, and what was measured so far is kept. A second one ends the process.
#pragma once

#include <exception>

namespace infini::bench {

class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

// From here on SIGINT, SIGTERM and SIGHUP are noted, each once.
void watch_interrupts();
bool interrupted();
// Throws Interrupted if so.
void end_if_interrupted();
// Ends the process by the signal that was noted, so that its parent learns how it ended; returns when there was none.
void end_as_interrupted();

}  // namespace infini::bench
