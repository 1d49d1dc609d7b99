// Command line arguments.
#include "tools/arguments.h"

#include <algorithm>

#include "base/device_kind.h"
#include "base/error.h"
#include "harness/text.h"
#include "infinirt.h"

namespace infini::tools {

bool Arguments::take_flag(const std::string& name) {
  const auto found = std::find(words_.begin(), words_.end(), name);
  if (found == words_.end()) return false;
  words_.erase(found);
  return true;
}

std::string Arguments::take_value(const std::string& name, const std::string& otherwise) {
  for (auto word = words_.begin(); word != words_.end(); ++word) {
    if (word->starts_with(name + "=")) {
      const std::string value = word->substr(name.size() + 1);
      words_.erase(word);
      return value;
    }
    if (*word != name) continue;
    require(word + 1 != words_.end(), INFINI_STATUS_BAD_PARAM, name, " needs a value");
    const std::string value = *(word + 1);
    words_.erase(word, word + 2);
    return value;
  }
  return otherwise;
}

int64_t Arguments::take_integer(const std::string& name, int64_t otherwise) {
  const std::string text = take_value(name, "");
  return text.empty() ? otherwise : harness::parse_integer(text, name);
}

infiniDevice_t Arguments::take_device() {
  const auto parts = harness::split(take_value("--device", "cpu"), ':');
  const infiniDevice_t kind = device_kind_from_name(parts[0]);
  require(kind != INFINI_DEVICE_TYPE_COUNT, INFINI_STATUS_BAD_PARAM, "--device: \"", parts[0],
          "\" is not a kind of device; `infini devices` lists them");
  const int64_t id = parts.size() > 1 ? harness::parse_integer(parts[1], "--device") : 0;
  require_success(infinirtSetDevice(kind, static_cast<int>(id)));
  return kind;
}

std::string Arguments::take_operator() {
  const std::string name = take_value("--op", "rearrange");
  require(name == "rearrange" || name == "gemm", INFINI_STATUS_BAD_PARAM, "--op is \"", name,
          "\"; expected rearrange or gemm");
  return name;
}

std::vector<std::string> Arguments::rest() const {
  for (const auto& word : words_)
    require(!word.starts_with("--"), INFINI_STATUS_BAD_PARAM, word,
            " is not an option of this command; see `infini --help`");
  return words_;
}

void require_success(infiniStatus_t status) {
  require(status == INFINI_STATUS_SUCCESS, status, infiniGetLastErrorString());
}

}  // namespace infini::tools
