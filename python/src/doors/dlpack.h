// DLPack: the structures through which array frameworks hand each other memory, as its
// specification lays them out (versions 0.8 to 1.x), and the table of C functions that some hang on
// their array type.
#pragma once

#include <cstdint>

namespace infini::python::dlpack {

enum DeviceType : int32_t { cpu = 1, cuda = 2, cuda_host = 3, rocm = 10, cuda_managed = 13 };
enum TypeCode : uint8_t {
  int_ = 0,
  uint = 1,
  floating = 2,
  bfloat = 4,
  complex = 5,
  boolean = 6,
  float8_e4m3fn = 10
};

struct Device {
  int32_t type, id;
};
struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null means row-major
  uint64_t byte_offset;
};

// What a capsule "dltensor" holds.
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

struct Version {
  uint32_t major, minor;
};
constexpr Version version{1, 1};
constexpr uint64_t read_only = 1, is_copied = 2;

// What a capsule "dltensor_versioned" holds.
struct ManagedTensorVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedTensorVersioned*);
  uint64_t flags;
  Tensor tensor;
};

// The capsule "dlpack_exchange_api" in the attribute __dlpack_c_exchange_api__ of an array type.
// None of these orders streams. They return 0, or -1 with a Python exception set.
struct ExchangeApi {
  Version version;
  ExchangeApi* older;
  int (*allocate)(Tensor* prototype, ManagedTensorVersioned** out, void* context,
                  void (*set_error)(void* context, const char* kind, const char* message));
  int (*export_managed)(void* object, ManagedTensorVersioned** out);
  int (*import_managed)(ManagedTensorVersioned* stolen, void** object);
  int (*borrow)(void* object, Tensor* out);  // valid as long as the object is; may be null
  int (*current_stream)(int32_t device_type, int32_t device_id, void** stream);
};

}  // namespace infini::python::dlpack
