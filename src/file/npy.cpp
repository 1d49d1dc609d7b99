// .npy: NumPy's own format. The header is a Python dictionary of three keys, which is all that is understood here.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/dtype.h"
#include "base/error.h"
#include "file/tensor_file.h"

namespace infini::file {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr int64_t most_header = 1 << 20;
constexpr int most_dims = 64;

struct Descr {
  const char* text;
  infiniDtype_t dtype;
};
constexpr Descr descrs[] = {
    {"<f2", INFINI_DTYPE_F16}, {"<f4", INFINI_DTYPE_F32},  {"<f8", INFINI_DTYPE_F64},
    {"|i1", INFINI_DTYPE_I8},  {"<i2", INFINI_DTYPE_I16},  {"<i4", INFINI_DTYPE_I32},
    {"<i8", INFINI_DTYPE_I64}, {"|u1", INFINI_DTYPE_U8},   {"<u2", INFINI_DTYPE_U16},
    {"<u4", INFINI_DTYPE_U32}, {"<u8", INFINI_DTYPE_U64},  {"|b1", INFINI_DTYPE_BOOL},
    {"<c8", INFINI_DTYPE_C64}, {"<c16", INFINI_DTYPE_C128}};

class Header {
 public:
  Header(std::string_view text, const std::string& what) : text_(text), what_(what) {}

  void parse(FileTensor& tensor) {
    expect('{');
    bool seen[3] = {};
    while (!take('}')) {
      const std::string key = quoted("a key");
      expect(':');
      const int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (which < 0) fail_here("unknown key '" + key + "'");
      if (std::exchange(seen[which], true)) fail_here("the key '" + key + "' comes twice");
      if (which == 0) tensor.dtype = dtype();
      if (which == 1) tensor.fortran = truth();
      if (which == 2) tensor.shape = shape();
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    for (int i = 0; i < 3; ++i)
      if (!seen[i])
        fail_here(std::string("the key '") +
                  (i == 0   ? "descr"
                   : i == 1 ? "fortran_order"
                            : "shape") +
                  "' is missing");
    spaces();
    if (at_ + 1 != text_.size() || text_[at_] != '\n')
      fail_here("expected the header to end with a newline");
  }

 private:
  [[noreturn]] void fail_here(const std::string& why) const {
    fail(INFINI_STATUS_BAD_PARAM, what_, ", header byte ", at_, ": ", why);
  }
  void spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail_here(std::string("expected '") + c + "'");
  }
  std::string quoted(const char* what) {
    spaces();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail_here(std::string("expected ") + what + " in quotes");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) fail_here("a string that does not end");
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    if (out.find_first_of("\\\n") != out.npos) fail_here("escapes are not understood");
    at_ = end + 1;
    return out;
  }
  infiniDtype_t dtype() {
    spaces();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '('))
      fail_here("structured elements are not understood");
    const std::string text = quoted("the descr");
    for (const Descr& known : descrs)
      if (text == known.text || (text[0] == '=' && text.substr(1) == known.text + 1) ||
          (known.text[0] == '|' && !text.empty() && text.substr(1) == known.text + 1 &&
           text[0] == '<'))
        return known.dtype;
    if (text.find('O') != text.npos) fail_here("object arrays are refused: they hold code");
    if (!text.empty() && text[0] == '>') fail_here("'" + text + "' is of the other byte order");
    fail_here("'" + text + "' is no type of numbers that is understood");
  }
  bool truth() {
    spaces();
    if (text_.substr(at_, 4) == "True") return at_ += 4, true;
    if (text_.substr(at_, 5) == "False") return at_ += 5, false;
    fail_here("fortran_order is neither True nor False");
  }
  std::vector<int64_t> shape() {
    std::vector<int64_t> dims;
    expect('(');
    while (!take(')')) {
      dims.push_back(extent());
      if (dims.size() > most_dims) fail_here("more than 64 dims");
      if (take(',')) continue;
      if (dims.size() == 1) fail_here("a shape of one dim needs a comma");
      expect(')');
      break;
    }
    return dims;
  }
  int64_t extent() {
    spaces();
    const size_t start = at_;
    int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value))
        fail_here("this extent is too large");
    if (at_ == start) fail_here("expected an extent");
    return value;
  }

  std::string_view text_;
  const std::string& what_;
  size_t at_ = 0;
};

int64_t prefix_bytes(int major) { return major == 1 ? 10 : 12; }

}  // namespace

int64_t npy_header_bytes(std::string_view first, int64_t size, const std::string& what) {
  require(first.size() >= 10 && first.substr(0, 6) == magic, INFINI_STATUS_BAD_PARAM, what,
          ": is no .npy file (it does not begin with \\x93NUMPY)");
  const int major = first[6], minor = first[7];
  require(major >= 1 && major <= 3 && minor == 0, INFINI_STATUS_BAD_PARAM, what,
          ": is of .npy version ", major, ".", minor, "; expected 1.0, 2.0 or 3.0");
  const int64_t prefix = prefix_bytes(major);
  require(static_cast<int64_t>(first.size()) >= prefix, INFINI_STATUS_BAD_PARAM, what,
          ": ends inside its header");
  uint32_t length = 0;
  std::memcpy(&length, first.data() + 8, major == 1 ? 2 : 4);
  require(length > 0, INFINI_STATUS_BAD_PARAM, what, ": has a header of 0 bytes");
  require(length <= most_header, INFINI_STATUS_BAD_PARAM, what, ": has a header of ", length,
          " bytes; at most ", most_header, " are read");
  require(prefix + length <= size, INFINI_STATUS_BAD_PARAM, what, ": has a header of ", length,
          " bytes but only ", size, " in all");
  return prefix + length;
}

FileTensor parse_npy(std::string_view bytes, int64_t size, const std::string& what) {
  const int64_t begin = npy_header_bytes(bytes.substr(0, 12), size, what);
  require(static_cast<int64_t>(bytes.size()) >= begin, INFINI_STATUS_BAD_PARAM, what,
          ": ends inside its header");
  const auto prefix = static_cast<size_t>(prefix_bytes(bytes[6]));
  FileTensor tensor;
  Header(bytes.substr(prefix, static_cast<size_t>(begin) - prefix), what).parse(tensor);
  tensor.offset = begin;
  int64_t needed = dtype_bytes(tensor.dtype);
  bool fits = true;
  const bool empty = std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
  for (const int64_t extent : tensor.shape)
    fits = fits && checked_mul(needed, empty ? 1 : extent, needed);
  if (empty) needed = 0;
  require(fits, INFINI_STATUS_BAD_PARAM, what, ": has a shape of more than 2^63 bytes");
  require(needed == size - begin, INFINI_STATUS_BAD_PARAM, what, ": has ", size - begin,
          " bytes of data; its shape needs ", needed);
  return tensor;
}

std::string npy_header(const FileTensor& tensor) {
  const auto known = std::find_if(std::begin(descrs), std::end(descrs),
                                  [&](const Descr& d) { return d.dtype == tensor.dtype; });
  require(known != std::end(descrs), INFINI_STATUS_BAD_PARAM, ".npy has no name for elements of ",
          type_name(tensor.dtype, tensor.e5m2), "; write .safetensors, or convert by --dtype");
  std::string text =
      std::string("{'descr': '") + known->text + "', 'fortran_order': False, 'shape': (";
  for (const int64_t extent : tensor.shape) text += std::to_string(extent) + ", ";
  if (tensor.shape.size() > 1) text.resize(text.size() - 2);
  if (tensor.shape.size() == 1) text.resize(text.size() - 1);
  text += "), }";
  const size_t unpadded = 10 + text.size() + 1;
  text.append((64 - unpadded % 64) % 64, ' ');
  text += '\n';
  std::string header(magic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 255);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace infini::file
