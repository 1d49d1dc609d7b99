// Files of tensors: what lies where, without reading an element.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/export.h"
#include "file/descriptor.h"
#include "infinicore.h"

namespace infini::file {

struct FileTensor {
  std::string name;
  infiniDtype_t dtype = INFINI_DTYPE_INVALID;
  bool e5m2 = false;  // of F8
  std::vector<int64_t> shape;
  bool fortran = false;  // the first dim is the contiguous one
  int part = 0;          // of the catalogue's files
  int64_t offset = 0;    // of the first byte
  int64_t count() const;
  INFINI_TOOL_EXPORT int64_t bytes() const;
  std::vector<int64_t> strides() const;  // in elements
};

// The bits of an element type as files name it: "bf16", "f8_e5m2".
INFINI_TOOL_EXPORT std::string type_name(infiniDtype_t dtype, bool e5m2);

enum class FileKind { npy, npz, safetensors, sharded };
// By the name's end; throws BAD_PARAM for others.
FileKind kind_of(const std::string& path);
INFINI_TOOL_EXPORT const char* kind_name(FileKind kind);

struct Catalogue {
  std::string path;
  FileKind kind = FileKind::npy;
  std::vector<std::shared_ptr<const Descriptor>> parts;
  std::vector<FileTensor> tensors;  // in the order in which they lie
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Throws BAD_PARAM with one sentence for whatever is wrong with a file.
INFINI_TOOL_EXPORT Catalogue open_catalogue(const std::string& path);

// The parsers, over bytes: `size` is that of the whole file, `header` what stands at its beginning (all of it for npy and
// safetensors; whoever calls has read as much as header_bytes() says).
FileTensor parse_npy(std::string_view bytes, int64_t size, const std::string& what);
int64_t npy_header_bytes(std::string_view first12, int64_t size, const std::string& what);
void parse_safetensors(std::string_view json, int64_t data_begin, int64_t size,
                       const std::string& what, Catalogue& into);
// name -> file of a sharded model.
std::vector<std::pair<std::string, std::string>> parse_shard_index(std::string_view json,
                                                                   const std::string& what);
// Entries of an archive that are stored or deflated.
struct ZipEntry {
  std::string name;
  int method = 0;
  int64_t offset = 0;  // of the data
  int64_t packed = 0, bytes = 0;
};
std::vector<ZipEntry> parse_zip(const Descriptor& file);

// Headers of new files.
std::string npy_header(const FileTensor& tensor);
// Sets the tensors' offsets, which count from the file's beginning.
std::string safetensors_header(std::vector<FileTensor>& tensors,
                               const std::vector<std::pair<std::string, std::string>>& metadata);

}  // namespace infini::file
