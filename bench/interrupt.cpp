// Noting signals.
#include "bench/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace infini::bench {
namespace {

volatile std::sig_atomic_t noted = 0;  // the signal, or 0

}  // namespace

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { noted = signal; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    // What a parent told us to ignore (nohup, a job in the background) stays ignored.
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

bool interrupted() { return noted != 0; }

void end_if_interrupted() {
  if (interrupted()) throw Interrupted();
}

void end_as_interrupted() {
  if (!interrupted()) return;
  std::signal(noted, SIG_DFL);
  std::raise(noted);
}

}  // namespace infini::bench
