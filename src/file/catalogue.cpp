// Opening files of tensors.
#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_set>

#include "base/dtype.h"
#include "base/error.h"
#include "file/tensor_file.h"
#include "file/unpack.h"

namespace infini::file {
namespace {

constexpr int64_t most_header = 100'000'000;

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() &&
         std::string_view(text).substr(text.size() - end.size()) == end;
}

std::string head_of(const Descriptor& file, int64_t offset, int64_t bytes) {
  std::string text(static_cast<size_t>(bytes), '\0');
  file.read(text.data(), bytes, offset);
  return text;
}

// An array at `offset` of a file, of which `size` bytes belong to it.
FileTensor read_npy(const Descriptor& file, int64_t offset, int64_t size, const std::string& what) {
  const std::string first = head_of(file, offset, std::min<int64_t>(12, size));
  const int64_t header = npy_header_bytes(first, size, what);
  FileTensor tensor = parse_npy(head_of(file, offset, header), size, what);
  tensor.offset += offset;
  return tensor;
}

void add_npy(Catalogue& into) {
  const Descriptor& file = *into.parts[0];
  into.tensors.push_back(read_npy(file, 0, file.size(), into.path));
  std::string name = into.path.substr(into.path.rfind('/') + 1);
  into.tensors[0].name = name.substr(0, name.size() - 4);
}

void add_npz(Catalogue& into) {
  const std::shared_ptr<const Descriptor> file = into.parts[0];
  std::unordered_set<std::string> names;
  for (const ZipEntry& entry : parse_zip(*file)) {
    const std::string what = into.path + ": " + entry.name;
    require(ends_with(entry.name, ".npy"), INFINI_STATUS_BAD_PARAM, what,
            ": is no .npy file in the archive");
    FileTensor tensor;
    if (entry.method == 0) {
      tensor = read_npy(*file, entry.offset, entry.bytes, what);
    } else {
      into.parts.push_back(unpacked(*file, entry));
      tensor = read_npy(*into.parts.back(), 0, entry.bytes, what);
      tensor.part = static_cast<int>(into.parts.size()) - 1;
    }
    tensor.name = entry.name.substr(0, entry.name.size() - 4);
    require(names.insert(tensor.name).second, INFINI_STATUS_BAD_PARAM, what, ": comes twice");
    into.tensors.push_back(std::move(tensor));
  }
}

// The tensors of into.parts.back().
void add_safetensors(Catalogue& into) {
  const Descriptor& file = *into.parts.back();
  const std::string& what = file.path();
  const int64_t size = file.size();
  require(size >= 8, INFINI_STATUS_BAD_PARAM, what, ": has ", size,
          " bytes; a .safetensors file begins with 8 of length");
  uint64_t length = 0;
  file.read(&length, 8, 0);
  require(length > 0, INFINI_STATUS_BAD_PARAM, what, ": has a header of 0 bytes");
  require(length <= most_header, INFINI_STATUS_BAD_PARAM, what, ": has a header of ", length,
          " bytes; at most ", most_header, " are read");
  const auto header = static_cast<int64_t>(length);
  require(header <= size - 8, INFINI_STATUS_BAD_PARAM, what, ": has a header of ", length,
          " bytes but only ", size, " in all");
  parse_safetensors(head_of(file, 8, header), 8 + header, size, what, into);
}

void add_sharded(Catalogue& into) {
  const std::shared_ptr<const Descriptor> index = into.parts[0];
  require(index->size() <= most_header, INFINI_STATUS_BAD_PARAM, into.path, ": has ", index->size(),
          " bytes; at most ", most_header, " are read");
  const auto map = parse_shard_index(head_of(*index, 0, index->size()), into.path);
  into.parts.clear();
  const std::string folder = into.path.substr(0, into.path.rfind('/') + 1);
  std::map<std::string, int> files;
  for (const auto& [name, file] : map) {
    if (!files.emplace(file, static_cast<int>(files.size())).second) continue;
    into.parts.push_back(std::make_shared<Descriptor>(Descriptor::open(folder + file)));
    add_safetensors(into);
  }
  std::map<std::string, int> part_of;
  for (const FileTensor& t : into.tensors)
    require(part_of.emplace(t.name, t.part).second, INFINI_STATUS_BAD_PARAM, into.path, ": '",
            t.name, "' is in two files");
  for (const auto& [name, file] : map) {
    const auto found = part_of.find(name);
    require(found != part_of.end() && found->second == files[file], INFINI_STATUS_BAD_PARAM,
            into.path, ": '", name, "' is not in ", file);
  }
}

}  // namespace

int64_t FileTensor::count() const {
  int64_t n = 1;
  for (const int64_t extent : shape)
    if (extent == 0) return 0;
  for (const int64_t extent : shape) n *= extent;
  return n;
}
int64_t FileTensor::bytes() const { return count() * dtype_bytes(dtype); }

std::vector<int64_t> FileTensor::strides() const {
  std::vector<int64_t> steps(shape.size());
  int64_t step = 1;
  for (size_t k = 0; k < shape.size(); ++k) {
    const size_t i = fortran ? k : shape.size() - 1 - k;
    steps[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return steps;
}

std::string type_name(infiniDtype_t dtype, bool e5m2) {
  return dtype == INFINI_DTYPE_F8 ? (e5m2 ? "f8_e5m2" : "f8_e4m3") : dtype_name(dtype);
}

FileKind kind_of(const std::string& path) {
  if (ends_with(path, ".npy")) return FileKind::npy;
  if (ends_with(path, ".npz")) return FileKind::npz;
  if (ends_with(path, ".safetensors")) return FileKind::safetensors;
  if (ends_with(path, ".safetensors.index.json")) return FileKind::sharded;
  fail(INFINI_STATUS_BAD_PARAM, path,
       ": expected a name that ends with .npy, .npz, .safetensors or .safetensors.index.json");
}
const char* kind_name(FileKind kind) {
  constexpr const char* names[] = {"npy", "npz", "safetensors", "sharded safetensors"};
  return names[static_cast<int>(kind)];
}

Catalogue open_catalogue(const std::string& path) {
  Catalogue made;
  made.path = path;
  made.kind = kind_of(path);
  made.parts.push_back(std::make_shared<Descriptor>(Descriptor::open(path)));
  switch (made.kind) {
    case FileKind::npy: add_npy(made); break;
    case FileKind::npz: add_npz(made); break;
    case FileKind::safetensors: add_safetensors(made); break;
    case FileKind::sharded: add_sharded(made); break;
  }
  return made;
}

}  // namespace infini::file
