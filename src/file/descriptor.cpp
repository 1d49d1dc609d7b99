// Whole reads and writes.
#include "file/descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace infini::file {
namespace {

constexpr int64_t most_at_once = 1 << 30;  // Linux moves at most 2 GiB

}  // namespace

void fail_errno(const std::string& path, const char* doing) {
  const int error = errno;
  fail(error == ENOMEM ? INFINI_STATUS_OUT_OF_MEMORY : INFINI_STATUS_BAD_PARAM, path, ": cannot ",
       doing, ": ", std::strerror(error));
}

Descriptor Descriptor::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail_errno(path, "open");
  Descriptor made(fd, path);
  struct stat facts;
  if (fstat(fd, &facts) != 0) fail_errno(path, "look at");
  require(S_ISREG(facts.st_mode), INFINI_STATUS_BAD_PARAM, path, ": ",
          S_ISDIR(facts.st_mode) ? "is a folder" : "is no regular file");
  return made;
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

void Descriptor::read(void* to, int64_t bytes, int64_t offset) const {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got =
        ::pread(fd_, at, static_cast<size_t>(std::min(bytes, most_at_once)), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno(path_, "read");
    require(got > 0, INFINI_STATUS_BAD_PARAM, path_, ": ends at byte ", offset, ", ", bytes,
            " bytes too early");
    at += got, offset += got, bytes -= got;
  }
}

void Descriptor::write(const void* from, int64_t bytes, int64_t offset) const {
  auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t got =
        ::pwrite(fd_, at, static_cast<size_t>(std::min(bytes, most_at_once)), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno(path_, "write");
    at += got, offset += got, bytes -= got;
  }
}

int64_t Descriptor::size() const {
  struct stat facts;
  if (fstat(fd_, &facts) != 0) fail_errno(path_, "look at");
  return facts.st_size;
}

bool Descriptor::same_file(const std::string& path) const {
  struct stat mine, other;
  return fstat(fd_, &mine) == 0 && ::stat(path.c_str(), &other) == 0 &&
         mine.st_dev == other.st_dev && mine.st_ino == other.st_ino;
}

}  // namespace infini::file
