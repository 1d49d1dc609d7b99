// Archives: the directory of a .npz, and its deflated entries.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "file/tensor_file.h"
#include "file/unpack.h"

#if __has_include(<zlib.h>)
#include <dlfcn.h>
#include <zlib.h>
#endif

namespace infini::file {
namespace {

constexpr int64_t most_directory = 100'000'000;

template <class Number>
Number number_at(std::string_view bytes, size_t at, const std::string& what) {
  Number n;
  require(at + sizeof n <= bytes.size(), INFINI_STATUS_BAD_PARAM, what,
          ": the archive's directory ends early");
  std::memcpy(&n, bytes.data() + at, sizeof n);
  return n;
}

std::string part_of(const Descriptor& file, int64_t offset, int64_t bytes) {
  require(offset >= 0 && bytes >= 0 && bytes <= most_directory && offset <= file.size() - bytes,
          INFINI_STATUS_BAD_PARAM, file.path(), ": the archive's directory is not in the file");
  std::string text(static_cast<size_t>(bytes), '\0');
  file.read(text.data(), bytes, offset);
  return text;
}

struct Directory {
  int64_t offset, bytes, entries;
};

Directory find_directory(const Descriptor& file) {
  const std::string& what = file.path();
  const int64_t size = file.size(), tail = std::min<int64_t>(size, 65557);
  const std::string end = part_of(file, size - tail, tail);
  const size_t at = end.rfind("PK\5\6");
  require(at != end.npos && at + 22 <= end.size(), INFINI_STATUS_BAD_PARAM, what,
          ": is no .npz file (it has no directory at its end)");
  Directory found{number_at<uint32_t>(end, at + 16, what), number_at<uint32_t>(end, at + 12, what),
                  number_at<uint16_t>(end, at + 10, what)};
  if (at >= 20 && end.substr(at - 20, 4) == "PK\6\7") {
    const auto record = number_at<int64_t>(end, at - 20 + 8, what);
    const std::string wide = part_of(file, record, 56);
    require(wide.substr(0, 4) == "PK\6\6", INFINI_STATUS_BAD_PARAM, what,
            ": the archive's end is damaged");
    found = {number_at<int64_t>(wide, 48, what), number_at<int64_t>(wide, 40, what),
             number_at<int64_t>(wide, 32, what)};
  }
  return found;
}

// Sizes and offset of more than 32 bits stand in the extra field, those that are needed, in this order.
void widen_sizes(std::string_view extra, ZipEntry& entry, int64_t& local, const std::string& what) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    const auto id = number_at<uint16_t>(extra, at, what);
    const size_t length = number_at<uint16_t>(extra, at + 2, what);
    at += 4;
    if (id == 1) {
      size_t from = at;
      for (int64_t* number : {&entry.bytes, &entry.packed, &local})
        if (*number == 0xffffffff) {
          *number = number_at<int64_t>(extra, from, what);
          from += 8;
        }
    }
    at += length;
  }
}

}  // namespace

std::vector<ZipEntry> parse_zip(const Descriptor& file) {
  const std::string& what = file.path();
  const Directory directory = find_directory(file);
  const std::string text = part_of(file, directory.offset, directory.bytes);
  std::vector<ZipEntry> entries;
  size_t at = 0;
  for (int64_t i = 0; i < directory.entries; ++i) {
    require(std::string_view(text).substr(at, 4) == "PK\1\2", INFINI_STATUS_BAD_PARAM, what,
            ": the archive's directory is damaged");
    const auto flags = number_at<uint16_t>(text, at + 8, what);
    const size_t name = number_at<uint16_t>(text, at + 28, what),
                 extra = number_at<uint16_t>(text, at + 30, what),
                 comment = number_at<uint16_t>(text, at + 32, what);
    ZipEntry entry;
    entry.method = number_at<uint16_t>(text, at + 10, what);
    entry.packed = number_at<uint32_t>(text, at + 20, what);
    entry.bytes = number_at<uint32_t>(text, at + 24, what);
    int64_t local = number_at<uint32_t>(text, at + 42, what);
    require(at + 46 + name + extra + comment <= text.size(), INFINI_STATUS_BAD_PARAM, what,
            ": the archive's directory ends early");
    entry.name = text.substr(at + 46, name);
    widen_sizes(std::string_view(text).substr(at + 46 + name, extra), entry, local, what);
    require((flags & 1) == 0, INFINI_STATUS_BAD_PARAM, what, ": ", entry.name, " is encrypted");
    require(entry.method == 0 || entry.method == 8, INFINI_STATUS_BAD_PARAM, what, ": ", entry.name,
            " is packed by method ", entry.method, "; expected stored or deflated");
    const std::string head = part_of(file, local, 30);
    require(head.substr(0, 4) == "PK\3\4", INFINI_STATUS_BAD_PARAM, what, ": ", entry.name,
            " does not begin where the directory says");
    entry.offset =
        local + 30 + number_at<uint16_t>(head, 26, what) + number_at<uint16_t>(head, 28, what);
    require(entry.packed >= 0 && entry.bytes >= 0 && entry.offset <= file.size() &&
                entry.packed <= file.size() - entry.offset &&
                (entry.method != 0 || entry.packed == entry.bytes),
            INFINI_STATUS_BAD_PARAM, what, ": ", entry.name, " is not whole in the file");
    entries.push_back(std::move(entry));
    at += 46 + name + extra + comment;
  }
  return entries;
}

#if __has_include(<zlib.h>)
namespace {

// zlib, opened where it is needed: the library does not depend on it.
struct Zlib {
  Zlib() {
    void* const library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    init = reinterpret_cast<decltype(init)>(dlsym(library, "inflateInit2_"));
    step = reinterpret_cast<decltype(step)>(dlsym(library, "inflate"));
    end = reinterpret_cast<decltype(end)>(dlsym(library, "inflateEnd"));
  }
  decltype(&::inflateInit2_) init = nullptr;
  decltype(&::inflate) step = nullptr;
  decltype(&::inflateEnd) end = nullptr;
};

// A stream that is ended.
struct Inflation {
  explicit Inflation(const Zlib& zlib) : zlib_(zlib) {
    require(zlib.init != nullptr && zlib.step != nullptr && zlib.end != nullptr,
            INFINI_STATUS_NOT_IMPLEMENTED, "there is no libz.so.1, which unpacks deflated arrays");
    require(zlib.init(&z, -MAX_WBITS, ZLIB_VERSION, sizeof z) == Z_OK, INFINI_STATUS_OUT_OF_MEMORY,
            "zlib cannot start");
  }
  Inflation(const Inflation&) = delete;
  ~Inflation() { zlib_.end(&z); }
  int step() { return zlib_.step(&z, Z_NO_FLUSH); }
  z_stream z{};

 private:
  const Zlib& zlib_;
};

}  // namespace

std::shared_ptr<const Descriptor> unpacked(const Descriptor& archive, const ZipEntry& entry) {
  const int fd = memfd_create("infini", MFD_CLOEXEC);
  if (fd < 0) fail_errno(archive.path(), "make memory for");
  auto made = std::make_shared<Descriptor>(fd, archive.path() + ": " + entry.name);
  constexpr int64_t piece = 1 << 18;
  std::string in(piece, '\0'), out(piece, '\0');
  const Zlib zlib;
  Inflation inflation(zlib);
  z_stream& z = inflation.z;
  int64_t taken = 0, given = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    if (z.avail_in == 0 && taken < entry.packed) {
      const int64_t now = std::min(piece, entry.packed - taken);
      archive.read(in.data(), now, entry.offset + taken);
      taken += now;
      z.next_in = reinterpret_cast<Bytef*>(in.data());
      z.avail_in = static_cast<uInt>(now);
    }
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(piece);
    status = inflation.step();
    const int64_t got = piece - z.avail_out;
    require((status == Z_OK || status == Z_STREAM_END) && given + got <= entry.bytes &&
                (got > 0 || z.avail_in > 0 || taken < entry.packed || status == Z_STREAM_END),
            INFINI_STATUS_BAD_PARAM, made->path(), ": the packed bytes are damaged");
    made->write(out.data(), got, given);
    given += got;
  }
  require(given == entry.bytes, INFINI_STATUS_BAD_PARAM, made->path(), ": unpacks to ", given,
          " bytes; expected ", entry.bytes);
  return made;
}
#else
std::shared_ptr<const Descriptor> unpacked(const Descriptor& archive, const ZipEntry& entry) {
  fail(INFINI_STATUS_NOT_IMPLEMENTED, archive.path(), ": ", entry.name,
       " is deflated; this library was built without zlib.h (numpy.savez stores)");
}
#endif

}  // namespace infini::file
