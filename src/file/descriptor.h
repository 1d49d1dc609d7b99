// An open file: whole reads and writes at a place, and which file it is.
#pragma once

#include <cstdint>
#include <string>

namespace infini::file {

class Descriptor {
 public:
  // For reading. Refuses what is no regular file.
  static Descriptor open(const std::string& path);
  Descriptor(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();

  // All of it, or an error: a file that became shorter is told.
  void read(void* to, int64_t bytes, int64_t offset) const;
  void write(const void* from, int64_t bytes, int64_t offset) const;
  int64_t size() const;
  bool same_file(const std::string& path) const;
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

// "model.safetensors: No such file or directory"
[[noreturn]] void fail_errno(const std::string& path, const char* doing);

}  // namespace infini::file
