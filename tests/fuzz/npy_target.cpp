// .npy headers: every text is understood or refused with words, and what is understood is the same when it is written and read
// again. The first byte is the version's, the rest the header.
#include <string>

#include "base/error.h"
#include "file/tensor_file.h"
#include "tests/fuzz/setting.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace infini;
  if (size < 1 || size > 60000) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string bytes = std::string("\x93NUMPY") + static_cast<char>(data[0] % 5) + '\0';
  bytes += static_cast<char>(text.size() & 255);
  bytes += static_cast<char>(text.size() >> 8);
  if (data[0] % 5 >= 2) bytes += std::string(2, '\0');
  bytes += text;
  try {
    // Of any size: first as if there were no data, then with as many as it wants.
    const auto parse = [](const std::string& all, int64_t needed) {
      return file::parse_npy(all, static_cast<int64_t>(all.size()) + needed, "x.npy");
    };
    file::FileTensor tensor;
    try {
      tensor = parse(bytes, 0);
    } catch (const Error& error) {
      const std::string why = error.what(), before = "its shape needs ";
      if (why.empty()) fuzz::finding(text, "refused without a word");
      const size_t at = why.find(before);
      if (at == why.npos) return 0;
      const int64_t needed = std::stoll(why.substr(at + before.size()));
      if (needed > INT64_MAX / 2) return 0;
      tensor = parse(bytes, needed);
    }
    const std::string written = file::npy_header(tensor);
    const file::FileTensor again = parse(written, tensor.bytes());
    if (again.shape != tensor.shape || again.dtype != tensor.dtype)
      fuzz::finding(text, "another tensor when written and read: " + written);
  } catch (const Error& error) {
    if (*error.what() == '\0') fuzz::finding(text, "refused without a word");
  }
  return 0;
}
