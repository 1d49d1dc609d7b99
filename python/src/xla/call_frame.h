// XLA's interface for operators of others ("FFI", version 0.x): the structures through which its runtime calls them, as far as
// they are used here. Each begins with its size, by which a runtime with fewer fields is told.
#pragma once

#include <cstddef>
#include <cstdint>

namespace infini::python::xla {

struct Error;      // made and read by XLA alone
struct Execution;  // one run of a compiled program

enum ExtensionKind : int32_t { extension_metadata = 1 };
enum ListItem : int32_t { item_buffer = 1 };
enum AttributeKind : int32_t { attribute_array = 1 };
enum Stage : int32_t { stage_execute = 3 };
enum ErrorCode : int32_t {
  error_invalid = 3,
  error_exhausted = 8,
  error_unimplemented = 12,
  error_internal = 13
};

struct Extension {
  size_t size;
  int32_t kind;
  Extension* next;
};
struct Version {
  size_t size;
  Extension* extensions;
  int32_t major, minor;
};

// Asked for once, when a handler is registered.
struct Metadata {
  size_t size;
  Version version;
  uint32_t traits;
};
struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

struct Buffer {
  size_t size;
  Extension* extensions;
  int32_t dtype;
  void* data;
  int64_t rank;
  int64_t* dims;  // row-major
};
// Arguments or results.
struct List {
  size_t size;
  Extension* extensions;
  int64_t count;
  int32_t* kinds;
  void** items;
};
struct Text {
  const char* data;
  size_t size;
};
struct Numbers {
  int32_t dtype;
  size_t count;
  void* data;
};
struct Attributes {
  size_t size;
  Extension* extensions;
  int64_t count;
  int32_t* kinds;
  Text** names;
  void** items;
};

struct ErrorRequest {
  size_t size;
  Extension* extensions;
  const char* message;
  int32_t code;
};
struct DestroyRequest {
  size_t size;
  Extension* extensions;
  Error* error;
};
struct StreamRequest {
  size_t size;
  Extension* extensions;
  Execution* execution;
  void* stream;  // the answer
};
struct OrdinalRequest {
  size_t size;
  Extension* extensions;
  Execution* execution;
  int32_t ordinal;  // the answer
};

// What XLA's runtime offers. Later versions have more fields behind.
struct Api {
  size_t size;
  Extension* extensions;
  Version version;
  const void* internal;
  Error* (*make_error)(ErrorRequest*);
  void (*error_message)(void*);
  void (*destroy_error)(DestroyRequest*);
  void (*register_handler)(void*);
  Error* (*stream)(StreamRequest*);
  void (*unused[12])(void*);                  // types, states, memory, threads, futures, runs
  Error* (*device_ordinal)(OrdinalRequest*);  // from 0.3 on
};

struct CallFrame {
  size_t size;
  Extension* extensions;
  const Api* api;
  Execution* execution;
  int32_t stage;
  List arguments, results;
  Attributes attributes;
};

using Handler = Error*(CallFrame*);

}  // namespace infini::python::xla
