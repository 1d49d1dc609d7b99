// Files that appear only when they are complete.
#include "file/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace infini::file {
namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

void require_free(const std::string& path, bool replace,
                  const std::vector<std::shared_ptr<const Descriptor>>& inputs) {
  for (const auto& input : inputs)
    require(!input->same_file(path), INFINI_STATUS_BAD_PARAM, path,
            ": is the input; the output must be another file");
  struct stat facts;
  if (lstat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT) return;
    fail_errno(path, "look at");
  }
  require(S_ISREG(facts.st_mode), INFINI_STATUS_BAD_PARAM, path, ": is ",
          S_ISDIR(facts.st_mode)   ? "a folder"
          : S_ISLNK(facts.st_mode) ? "a symbolic link"
                                   : "no regular file");
  require(replace, INFINI_STATUS_BAD_PARAM, path, ": exists already (--replace writes it anew)");
}

// Flushes a folder's list of names; some file systems have no such thing.
void flush_folder(const std::string& path) {
  const int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  ::close(folder);
}

// Unlike rename() it refuses a name that somebody else took meanwhile. Not every file system knows such a rename, or links.
bool name_new(const std::string& temporary, const std::string& path) {
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0)
    return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  if (link(temporary.c_str(), path.c_str()) == 0) return unlink(temporary.c_str()) == 0;
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return false;
  struct stat facts;
  if (lstat(path.c_str(), &facts) == 0) {
    errno = EEXIST;
    return false;
  }
  return rename(temporary.c_str(), path.c_str()) == 0;
}

}  // namespace

Outputs::~Outputs() {
  for (File& file : files_)
    if (!file.temporary.empty()) unlink(file.temporary.c_str());
}

const Descriptor& Outputs::add(const std::string& path, int64_t bytes, bool replace,
                               const std::vector<std::shared_ptr<const Descriptor>>& inputs) {
  require_free(path, replace, inputs);
  std::string name = path + ".XXXXXX.part";
  const int fd = mkostemps(name.data(), 5, O_CLOEXEC);
  if (fd < 0) fail_errno(path, "create");
  files_.push_back({path, name, replace, std::make_unique<Descriptor>(fd, path)});
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(fd, 0666 & ~mask);
  // A disk that is too full is told before hours of work. The space is not taken now: blocks that are allocated when they are
  // written, many at once, are much faster to fill in any order.
  struct statvfs disk;
  if (fstatvfs(fd, &disk) == 0 && disk.f_frsize > 0) {
    const auto room = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
    require(static_cast<uint64_t>(bytes) <= room, INFINI_STATUS_BAD_PARAM, path, ": needs ", bytes,
            " bytes; the disk has ", room, " left");
  }
  if (ftruncate(fd, bytes) != 0) fail_errno(path, "make room for");
  return *files_.back().descriptor;
}

void Outputs::finish() {
  for (File& file : files_)
    if (fsync(file.descriptor->fd()) != 0) fail_errno(file.path, "write");
  for (size_t i = 0; i < files_.size(); ++i) {
    File& file = files_[i];
    if (file.replace ? rename(file.temporary.c_str(), file.path.c_str()) != 0
                     : !name_new(file.temporary, file.path)) {
      const int error = errno;
      for (size_t k = 0; k < i; ++k)  // all or none
        if (!files_[k].replace) unlink(files_[k].path.c_str());
      errno = error;
      fail_errno(file.path, "name");
    }
    file.temporary.clear();
  }
  for (const File& file : files_) flush_folder(file.path);
}

}  // namespace infini::file
