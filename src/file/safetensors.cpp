// .safetensors: eight bytes of length, a JSON object, and the tensors without gaps.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "base/checked.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/json.h"
#include "file/json_cursor.h"
#include "file/tensor_file.h"

namespace infini::file {
namespace {

struct TypeName {
  const char* name;
  infiniDtype_t dtype;
  bool e5m2;
};
constexpr TypeName types[] = {
    {"BOOL", INFINI_DTYPE_BOOL, false}, {"U8", INFINI_DTYPE_U8, false},
    {"I8", INFINI_DTYPE_I8, false},     {"F8_E4M3", INFINI_DTYPE_F8, false},
    {"F8_E5M2", INFINI_DTYPE_F8, true}, {"I16", INFINI_DTYPE_I16, false},
    {"U16", INFINI_DTYPE_U16, false},   {"F16", INFINI_DTYPE_F16, false},
    {"BF16", INFINI_DTYPE_BF16, false}, {"I32", INFINI_DTYPE_I32, false},
    {"U32", INFINI_DTYPE_U32, false},   {"F32", INFINI_DTYPE_F32, false},
    {"F64", INFINI_DTYPE_F64, false},   {"I64", INFINI_DTYPE_I64, false},
    {"U64", INFINI_DTYPE_U64, false},   {"C64", INFINI_DTYPE_C64, false}};
constexpr size_t most_dims = 64;

void set_type(FileTensor& tensor, JsonCursor& json) {
  const std::string text = json.string();
  for (const TypeName& type : types)
    if (text == type.name) {
      tensor.dtype = type.dtype;
      tensor.e5m2 = type.e5m2;
      return;
    }
  json.fail_here("unknown dtype '" + text + "'");
}

int64_t natural(JsonCursor& json, const char* what) {
  const int64_t value = json.whole_number();
  if (value < 0) json.fail_here(std::string(what) + " is negative");
  return value;
}

// One tensor's object; returns where its bytes end.
int64_t parse_tensor(JsonCursor& json, FileTensor& tensor) {
  bool seen[3] = {};
  int64_t end = 0;
  std::string key;
  for (json.open_object(); json.next_member(key);) {
    const int which = key == "dtype" ? 0 : key == "shape" ? 1 : key == "data_offsets" ? 2 : -1;
    if (which < 0) json.fail_here("unknown key '" + key + "'");
    if (std::exchange(seen[which], true)) json.fail_here("the key '" + key + "' comes twice");
    if (which == 0) set_type(tensor, json);
    if (which == 1)
      for (json.open_array(); json.next_item();) {
        tensor.shape.push_back(natural(json, "an extent"));
        if (tensor.shape.size() > most_dims) json.fail_here("more than 64 dims");
      }
    if (which == 2) {
      int64_t numbers[2] = {}, count = 0;
      for (json.open_array(); json.next_item();) {
        const int64_t number = natural(json, "an offset");
        if (count < 2) numbers[count] = number;
        ++count;
      }
      if (count != 2) json.fail_here("expected two offsets");
      tensor.offset = numbers[0];
      end = numbers[1];
    }
  }
  if (!seen[0] || !seen[1] || !seen[2])
    json.fail_here("'" + tensor.name + "' lacks its dtype, shape or data_offsets");
  return end;
}

void parse_metadata(JsonCursor& json, Catalogue& into) {
  std::string key;
  for (json.open_object(); json.next_member(key);) {
    for (const auto& [other, value] : into.metadata)
      if (other == key) json.fail_here("the key '" + key + "' comes twice");
    if (json.peek() != '"') json.fail_here("metadata '" + key + "' is no string");
    into.metadata.emplace_back(key, json.string());
  }
}

// The tensors fill the data without gaps or overlaps, each with the bytes that it needs.
void require_whole(std::vector<FileTensor>& tensors, const std::vector<int64_t>& ends,
                   int64_t data_begin, int64_t size, const std::string& what) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return tensors[a].offset != tensors[b].offset ? tensors[a].offset < tensors[b].offset
                                                  : ends[a] < ends[b];
  });
  int64_t at = 0;
  for (const size_t i : order) {
    FileTensor& t = tensors[i];
    require(t.offset <= ends[i], INFINI_STATUS_BAD_PARAM, what, ": '", t.name,
            "' ends before it begins: data_offsets ", t.offset, ", ", ends[i]);
    require(t.offset == at, INFINI_STATUS_BAD_PARAM, what, ": '", t.name, "' begins at ", t.offset,
            " of the data; expected ", at, (t.offset < at ? " (it overlaps another)" : " (a gap)"));
    int64_t needed = dtype_bytes(t.dtype);
    const bool empty = std::find(t.shape.begin(), t.shape.end(), 0) != t.shape.end();
    for (const int64_t extent : t.shape)
      require(checked_mul(needed, empty ? 1 : extent, needed), INFINI_STATUS_BAD_PARAM, what, ": '",
              t.name, "' has a shape of more than 2^63 bytes");
    if (empty) needed = 0;
    require(needed == ends[i] - t.offset, INFINI_STATUS_BAD_PARAM, what, ": '", t.name, "' has ",
            ends[i] - t.offset, " bytes; its shape needs ", needed);
    at = ends[i];
    require(at <= size - data_begin, INFINI_STATUS_BAD_PARAM, what, ": '", t.name, "' ends at ", at,
            " of the data, of which there are ", size - data_begin, " bytes");
  }
  require(at == size - data_begin, INFINI_STATUS_BAD_PARAM, what, ": has ", size - data_begin - at,
          " bytes after its last tensor");
  for (FileTensor& t : tensors) t.offset += data_begin;
}

}  // namespace

void parse_safetensors(std::string_view text, int64_t data_begin, int64_t size,
                       const std::string& what, Catalogue& into) {
  JsonCursor json(text, what);
  if (text.empty() || text[0] != '{') json.fail_here("the header is no JSON object");
  std::vector<FileTensor> tensors;
  std::vector<int64_t> ends;
  std::unordered_set<std::string> names;
  std::string key;
  for (json.open_object(); json.next_member(key);) {
    if (!names.insert(key).second) json.fail_here("the name '" + key + "' comes twice");
    if (key == "__metadata__") {
      parse_metadata(json, into);
      continue;
    }
    FileTensor tensor;
    tensor.name = key;
    tensor.part = static_cast<int>(into.parts.size()) - 1;
    ends.push_back(parse_tensor(json, tensor));
    tensors.push_back(std::move(tensor));
  }
  json.end();
  require_whole(tensors, ends, data_begin, size, what);
  into.tensors.insert(into.tensors.end(), std::make_move_iterator(tensors.begin()),
                      std::make_move_iterator(tensors.end()));
}

std::vector<std::pair<std::string, std::string>> parse_shard_index(std::string_view text,
                                                                   const std::string& what) {
  JsonCursor json(text, what);
  std::vector<std::pair<std::string, std::string>> files;
  std::unordered_set<std::string> names;
  bool found = false;
  std::string key;
  for (json.open_object(); json.next_member(key);) {
    if (key != "weight_map") {
      json.skip_value();
      continue;
    }
    if (std::exchange(found, true)) json.fail_here("the key 'weight_map' comes twice");
    for (json.open_object(); json.next_member(key);) {
      if (!names.insert(key).second) json.fail_here("the name '" + key + "' comes twice");
      std::string file = json.string();
      if (file.empty() || file.find('/') != file.npos || file == "." || file == "..")
        json.fail_here("'" + file + "' is no name of a file beside the index");
      files.emplace_back(key, std::move(file));
    }
  }
  json.end();
  require(found, INFINI_STATUS_BAD_PARAM, what, ": has no weight_map");
  return files;
}

std::string safetensors_header(std::vector<FileTensor>& tensors,
                               const std::vector<std::pair<std::string, std::string>>& metadata) {
  std::string text = "{";
  if (!metadata.empty()) {
    JsonObject object;
    for (const auto& [key, value] : metadata) object.add(key, value);
    text += "\"__metadata__\":" + object.text();
  }
  int64_t at = 0;
  for (FileTensor& t : tensors) {
    const auto type = std::find_if(std::begin(types), std::end(types), [&](const TypeName& known) {
      return known.dtype == t.dtype && known.e5m2 == t.e5m2;
    });
    require(type != std::end(types), INFINI_STATUS_BAD_PARAM,
            ".safetensors has no name for elements of ", type_name(t.dtype, t.e5m2));
    text += std::string(text.size() > 1 ? "," : "") + json_string(t.name) + ":{\"dtype\":\"" +
            type->name + "\",\"shape\":[";
    for (size_t i = 0; i < t.shape.size(); ++i)
      text += (i == 0 ? "" : ",") + std::to_string(t.shape[i]);
    t.offset = at;
    at += t.bytes();
    text += "],\"data_offsets\":[" + std::to_string(t.offset) + "," + std::to_string(at) + "]}";
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string header(8, '\0');
  const uint64_t length = text.size();
  std::memcpy(header.data(), &length, 8);
  header += text;
  for (FileTensor& t : tensors) t.offset += static_cast<int64_t>(header.size());
  return header;
}

}  // namespace infini::file
