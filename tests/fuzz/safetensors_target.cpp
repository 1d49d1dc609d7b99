// .safetensors headers and shard indices: every text is understood or refused with words, and what is understood lies in the file
// without gaps and is the same when it is written and read again.
#include <string>

#include "base/error.h"
#include "file/tensor_file.h"
#include "tests/fuzz/setting.h"

namespace infini::fuzz {
namespace {

file::Catalogue parse(const std::string& text, int64_t data) {
  file::Catalogue made;
  const auto begin = static_cast<int64_t>(text.size()) + 8;
  file::parse_safetensors(text, begin, begin + data, "x.safetensors", made);
  return made;
}

void check(const std::string& text, int64_t data) {
  file::Catalogue made = parse(text, data);
  int64_t bytes = 0;
  for (const file::FileTensor& tensor : made.tensors) bytes += tensor.bytes();
  if (bytes != data) finding(text, "tensors that do not fill the file");
  const std::string header = file::safetensors_header(made.tensors, made.metadata);
  const file::Catalogue again = parse(header.substr(8), data);
  bool same = again.tensors.size() == made.tensors.size() && again.metadata == made.metadata;
  for (size_t i = 0; same && i < made.tensors.size(); ++i)
    same = again.tensors[i].name == made.tensors[i].name &&
           again.tensors[i].shape == made.tensors[i].shape &&
           again.tensors[i].dtype == made.tensors[i].dtype;
  if (!same) finding(text, "other tensors when written and read: " + header.substr(8));
}

}  // namespace
}  // namespace infini::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace infini;
  if (size < 2) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] == 0)
      file::parse_shard_index(text, "x.index.json");
    else
      fuzz::check(text, data[0] % 64);
  } catch (const Error& error) {
    if (*error.what() == '\0') fuzz::finding(text, "refused without a word");
  }
  return 0;
}
