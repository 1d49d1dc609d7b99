// Memory that ends at pages which nobody may touch.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

namespace infini::test {

// Bytes between two pages that nobody may touch; they begin behind the first one or end before the second one.
class GuardedPages {
 public:
  GuardedPages(size_t size, bool at_begin) : size_(size) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    mapped_ = (size + page - 1) / page * page + 2 * page;
    start_ = static_cast<char*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (start_ == MAP_FAILED || mprotect(start_, page, PROT_NONE) != 0 ||
        mprotect(start_ + mapped_ - page, page, PROT_NONE) != 0)
      throw std::bad_alloc();
    data_ = at_begin ? start_ + page : start_ + mapped_ - page - size;
  }
  GuardedPages(const GuardedPages&) = delete;
  ~GuardedPages() { munmap(start_, mapped_); }
  char* data() { return data_; }
  char* begin() { return data_; }
  char* end() { return data_ + size_; }
  bool equals(const std::vector<char>& other) {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  size_t size_, mapped_;
  char *start_, *data_;
};

}  // namespace infini::test
