// Taking the GIL where the interpreter may be going away.
#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

namespace infini::python {

// Runs what takes the GIL. While the interpreter is going away, Python ends the threads that ask for
// it (pthread_exit), which unwinds them: through destructors, which would end the process. Such a
// thread stays here instead, until the process is over.
template <class Take>
auto unless_exiting(Take take) {
  try {
    return take();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
}

// Whether the calling thread holds the GIL: Python's do, others' do not.
enum class Gil { held, none };

// Without the GIL for as long as it lives, if that is wanted.
class Unlocked {
 public:
  explicit Unlocked(bool wanted, Gil gil = Gil::held)
      : state_(wanted && gil == Gil::held ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    if (state_) unless_exiting([&] { PyEval_RestoreThread(state_); });
  }
  Unlocked(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

// With the GIL for as long as it lives, whether or not the thread had it before.
class Locked {
 public:
  Locked() : state_(unless_exiting([] { return PyGILState_Ensure(); })) {}
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace infini::python
