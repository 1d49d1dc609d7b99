// A transport that is a Python object, as the table that the library takes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include <exception>
#include <string>
#include <vector>

#include "errors.h"
#include "gil.h"
#include "infinireshard.h"

namespace infini::python {

namespace nb = nanobind;

// A transport in Python: post_send(peer, tag, buffer) and post_receive(...) give a request, wait_any(requests, seconds) the
// index of one that is done, or None; begin_round(tag, transfers, on_device, stream) a round, end_round(round, stream, seconds)
// whether it is over. An exception of theirs ends the run and is raised by it.
class Transport {
 public:
  explicit Transport(nb::handle object) : object_(nb::borrow(object)) {
    table_.size = sizeof table_;
    table_.context = this;
    table_.rank = nb::cast<int>(object_.attr("rank"));
    table_.ranks = nb::cast<int>(object_.attr("ranks"));
    table_.post_send = post_send;
    table_.post_receive = post_receive;
    table_.wait_any = wait_any;
    table_.cancel = cancel;
    table_.describe = describe;
    table_.any_thread = nb::cast<bool>(nb::getattr(object_, "any_thread", nb::bool_(false)));
    table_.takes_device_memory =
        nb::cast<bool>(nb::getattr(object_, "takes_device_memory", nb::bool_(false)));
    if (nb::hasattr(object_, "begin_round")) {
      table_.begin_round = begin_round;
      table_.end_round = end_round;
    }
    const nb::object shared = nb::getattr(object_, "shared", nb::none());
    if (!shared.is_none()) take_shared(shared);
  }
  const infiniTransport_t* table() const { return &table_; }
  // What a method raised, with a note of what that means here (from Python 3.11 on).
  void rethrow(const std::string& words) {
    if (!raised_) return;
    try {
      std::rethrow_exception(raised_);
    } catch (nb::python_error& error) {
      if (nb::hasattr(error.value(), "add_note")) error.value().attr("add_note")(words.c_str());
      throw;
    }
  }
  // After a failure: messages may still arrive in what was given to the transport, or be read from there.
  bool left_open() const { return left_open_; }

 private:
  static constexpr int python_raised = 1;
  // Addresses by rank; None for ranks of other machines.
  void take_shared(const nb::object& addresses) {
    for (const nb::handle one : addresses)
      shared_.push_back(one.is_none() ? nullptr
                                      : reinterpret_cast<void*>(nb::cast<uintptr_t>(one)));
    if (shared_.size() != static_cast<size_t>(table_.ranks))
      fail_value("shared has ", shared_.size(), " addresses for ", table_.ranks, " ranks");
    table_.shared = shared_.data();
    table_.shared_bytes = nb::cast<size_t>(object_.attr("shared_bytes"));
  }
  // Runs what Python does, with the GIL; an exception is kept for the end.
  template <class Body>
  static int guarded(void* context, Body body) {
    auto& self = *static_cast<Transport*>(context);
    const Locked locked;
    try {
      body(self);
      return 0;
    } catch (...) {
      if (!self.raised_) self.raised_ = std::current_exception();
      return python_raised;
    }
  }
  static nb::object memory_view(void* data, size_t bytes, bool writes) {
    return nb::steal(PyMemoryView_FromMemory(static_cast<char*>(data),
                                             static_cast<Py_ssize_t>(bytes),
                                             writes ? PyBUF_WRITE : PyBUF_READ));
  }
  // An object that frameworks take for an array of bytes on a GPU.
  static nb::object device_view(void* data, size_t bytes) {
    nb::dict about;
    about["shape"] = nb::make_tuple(bytes);
    about["typestr"] = "|u1";
    about["data"] = nb::make_tuple(reinterpret_cast<uintptr_t>(data), false);
    about["strides"] = nb::none();
    about["version"] = 3;
    const nb::object made = nb::module_::import_("types").attr("SimpleNamespace")();
    nb::setattr(made, "__cuda_array_interface__", about);
    return made;
  }
  void post(const char* method, int peer, int tag, void* data, size_t bytes, bool writes,
            void** request) {
    nb::object made = object_.attr(method)(peer, tag, memory_view(data, bytes, writes));
    *request = made.release().ptr();
  }
  static int post_send(void* context, int peer, int tag, const void* data, size_t bytes,
                       void** request) {
    return guarded(context, [&](Transport& self) {
      self.post("post_send", peer, tag, const_cast<void*>(data), bytes, false, request);
    });
  }
  static int post_receive(void* context, int peer, int tag, void* data, size_t bytes,
                          void** request) {
    return guarded(context, [&](Transport& self) {
      self.post("post_receive", peer, tag, data, bytes, true, request);
    });
  }
  static int wait_any(void* context, void** requests, int count, double seconds, int* index,
                      size_t* bytes) {
    return guarded(context, [&](Transport& self) {
      nb::list open;
      std::vector<int> places;
      for (int i = 0; i < count; ++i)
        if (requests[i] != nullptr) {
          open.append(nb::borrow(static_cast<PyObject*>(requests[i])));
          places.push_back(i);
        }
      const nb::object done = self.object_.attr("wait_any")(open, seconds);
      *index = -1;
      if (done.is_none()) return;
      const auto [at, got] = nb::cast<std::pair<size_t, size_t>>(done);
      if (at >= places.size()) fail_value("wait_any gave ", at, " of ", places.size(), " requests");
      *index = places[at];
      *bytes = got;
      Py_DECREF(static_cast<PyObject*>(requests[*index]));
      requests[*index] = nullptr;
    });
  }
  static int begin_round(void* context, int tag, const infiniTransfer_t* transfers, int count,
                         int on_device, void* stream, void** round) {
    return guarded(context, [&](Transport& self) {
      nb::list all;
      for (const infiniTransfer_t* one = transfers; one != transfers + count; ++one)
        all.append(nb::make_tuple(one->peer, one->sends != 0,
                                  on_device != 0
                                      ? device_view(one->data, one->bytes)
                                      : memory_view(one->data, one->bytes, one->sends == 0)));
      nb::object made = self.object_.attr("begin_round")(tag, all, on_device != 0,
                                                         reinterpret_cast<uintptr_t>(stream));
      *round = made.release().ptr();
    });
  }
  static int end_round(void* context, void* round, void* stream, double seconds, int* done) {
    return guarded(context, [&](Transport& self) {
      const nb::handle given(static_cast<PyObject*>(round));
      *done = nb::cast<bool>(self.object_.attr("end_round")(
                  given, reinterpret_cast<uintptr_t>(stream), seconds))
                  ? 1
                  : 0;
      if (*done != 0) given.dec_ref();
    });
  }
  static int cancel(void* context, void** requests, int count) {
    auto& self = *static_cast<Transport*>(context);
    const Locked locked;
    bool ended = true;
    nb::list open;
    for (int i = 0; i < count; ++i)
      if (requests[i] != nullptr) {
        open.append(nb::steal(static_cast<PyObject*>(requests[i])));
        requests[i] = nullptr;
      }
    try {
      ended = nb::cast<bool>(self.object_.attr("cancel")(open));
    } catch (...) {
      ended = false;
    }
    self.left_open_ = self.left_open_ || !ended;
    return ended ? 0 : 1;
  }
  static const char* describe(void*, int) { return "an exception was raised"; }

  nb::object object_;
  infiniTransport_t table_{};
  std::vector<void*> shared_;
  std::exception_ptr raised_;
  bool left_open_ = false;
};

}  // namespace infini::python
