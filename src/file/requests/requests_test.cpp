// Many pieces at once, by io_uring and by plain reads: the same bytes, the same errors.
#include "file/requests/requests.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <numeric>
#include <random>

#include "base/error.h"
#include "file/requests/ring.h"

namespace infini::file {
namespace {

constexpr int64_t file_bytes = 3'000'007;

// A file without a name, of bytes that tell where they are.
class Requests : public testing::Test {
 protected:
  Requests() : file_(open_unnamed(), "pieces") {
    for (int64_t i = 0; i < file_bytes; ++i) content_.push_back(static_cast<char>(i * 7 + i / 251));
    file_.write(content_.data(), file_bytes, 0);
  }
  static int open_unnamed() {
    char name[] = "requests_XXXXXX";
    const int fd = mkstemp(name);
    unlink(name);
    return fd;
  }
  void forget() const {  // so that reads go to the disk
    fsync(file_.fd());
    posix_fadvise(file_.fd(), 0, 0, POSIX_FADV_DONTNEED);
  }
  // Pieces of odd lengths at random places, their memory one after the other.
  std::vector<Piece> random_pieces(size_t count, std::string& memory) {
    std::vector<Piece> pieces;
    int64_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      const int64_t length = 1 + static_cast<int64_t>(random_() % 9000);
      pieces.push_back(
          {&file_, static_cast<int64_t>(random_() % (file_bytes - length)), length, nullptr});
      bytes += length;
    }
    memory.assign(static_cast<size_t>(bytes), '?');
    char* at = memory.data();
    for (Piece& piece : pieces) at = (piece.memory = at) + piece.bytes;
    return pieces;
  }
  void expect_content(const std::vector<Piece>& pieces) const {
    for (const Piece& p : pieces)
      ASSERT_EQ(std::string_view(p.memory, static_cast<size_t>(p.bytes)),
                std::string_view(content_).substr(static_cast<size_t>(p.offset),
                                                  static_cast<size_t>(p.bytes)))
          << p.offset;
  }

  std::mt19937_64 random_{5};
  std::string content_;
  Descriptor file_;
};

TEST_F(Requests, AnyNumberOfPieces) {
  for (const size_t count : {0, 1, 2, 63, 64, 65, 1000})
    for (const bool cold : {true, false}) {
      std::string memory;
      const auto pieces = random_pieces(count, memory);
      if (cold) forget();
      read_pieces(pieces);
      expect_content(pieces);
    }
}

TEST_F(Requests, ARingReadsWhatIsHandedOut) {
  std::string memory;
  const auto pieces = random_pieces(300, memory);
  forget();
  std::atomic<size_t> next{0};
  if (!read_by_ring(pieces, next, 8)) GTEST_SKIP() << "no io_uring here";
  expect_content(pieces);
  next = pieces.size();
  EXPECT_TRUE(read_by_ring(pieces, next, 8));
}

TEST_F(Requests, TheEndOfAFileIsTold) {
  for (const size_t count : {2, 200}) {
    std::string memory;
    auto pieces = random_pieces(count, memory);
    pieces[count / 2].offset = file_bytes - pieces[count / 2].bytes + 1;
    forget();
    try {
      read_pieces(pieces);
      FAIL() << "a piece past the end was read";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "pieces: ends at byte 3000007, 1 bytes too early");
    }
  }
}

TEST_F(Requests, WhatIsWrittenIsReadAgain) {
  std::string memory, back(static_cast<size_t>(file_bytes), '?');
  std::vector<Piece> out, in;
  std::string other(content_.rbegin(), content_.rend());
  for (int64_t at = 0; at < file_bytes; at += 10'001) {
    const int64_t bytes = std::min<int64_t>(10'001, file_bytes - at);
    out.push_back({&file_, at, bytes, other.data() + at});
    in.push_back({&file_, at, bytes, back.data() + at});
  }
  write_pieces(out);
  forget();
  read_pieces(in);
  EXPECT_EQ(back, other);
}

}  // namespace
}  // namespace infini::file
