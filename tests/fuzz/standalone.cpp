// The fuzz targets without libFuzzer, for every compiler: seeds, then so many inputs made of them and of random bytes, the
// same on every machine.
//   fuzz_NAME SEEDS RUNS [FIRST]    SEEDS: a file of tests/fuzz/corpus; FIRST: the number of the first input, 1 unless told
//   fuzz_NAME INPUT                 one input, in hexadecimal as findings print it
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "harness/random_problems.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;
using infini::harness::Random;

constexpr size_t most_bytes = 400;
Bytes current;       // what runs now
bool plain = false;  // seeds are texts

// Only what a signal handler may call.
void write_hexadecimal(const Bytes& bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  char text[2 * most_bytes + 1];
  size_t length = 0;
  for (const uint8_t byte : bytes) {
    text[length++] = digits[byte / 16];
    text[length++] = digits[byte % 16];
  }
  text[length++] = '\n';
  if (write(STDERR_FILENO, text, length) < 0) return;
}

void die(int signal) {
  static constexpr char said[] = "FOUND by the input ";
  if (write(STDERR_FILENO, said, sizeof said - 1) >= 0) write_hexadecimal(current);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void run(Bytes input) {
  input.resize(std::min(input.size(), most_bytes));
  current = std::move(input);
  LLVMFuzzerTestOneInput(current.data(), current.size());
}

Bytes from_hexadecimal(const std::string& text) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::vector<Bytes> read_seeds(const std::string& path) {
  std::vector<Bytes> seeds;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    seeds.push_back(plain ? Bytes(line.begin(), line.end()) : from_hexadecimal(line));
  return seeds;
}

// Small numbers are usual choices in all targets; texts are made of what texts have.
uint8_t any_byte(Random& random) {
  static constexpr char letters[] = "0123456789x=,-. abcdefgmnkustrw_";
  if (plain) return static_cast<uint8_t>(letters[random.between(0, sizeof letters - 2)]);
  return static_cast<uint8_t>(random.between(0, random.one_in(3) ? 15 : 255));
}

Bytes random_bytes(Random& random) {
  Bytes bytes(static_cast<size_t>(random.between(1, random.one_in(8) ? most_bytes : 100)));
  for (auto& byte : bytes) byte = any_byte(random);
  return bytes;
}

Bytes changed(Random& random, Bytes bytes, const Bytes& other) {
  for (auto changes = random.between(1, 6); changes > 0; --changes) {
    const auto at = random.between(0, static_cast<int64_t>(bytes.size()));
    const auto place = bytes.begin() + at;
    switch (random.between(0, 4)) {
      case 0: bytes.insert(place, any_byte(random)); break;
      case 1:
        if (place != bytes.end()) bytes.erase(place);
        break;
      case 2: {  // the end of another one
        bytes.erase(place, bytes.end());
        const auto from = random.between(0, static_cast<int64_t>(other.size()));
        bytes.insert(bytes.end(), other.begin() + from, other.end());
        break;
      }
      default:
        if (place != bytes.end()) *place = any_byte(random);
    }
  }
  return bytes;
}

Bytes make(int64_t which, const std::vector<Bytes>& seeds) {
  Random random(static_cast<uint64_t>(which) * 0x9e3779b97f4a7c15u);
  if (seeds.empty() || random.one_in(plain ? 8 : 2)) return random_bytes(random);
  const auto any = [&]() -> const Bytes& {
    return seeds[static_cast<size_t>(random.between(0, static_cast<int64_t>(seeds.size()) - 1))];
  };
  const Bytes& one = any();
  return changed(random, one, any());
}

}  // namespace

int main(int argc, char** argv) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    const auto before = std::signal(signal, die);
    if (before != SIG_DFL) std::signal(signal, before);  // a sanitizer's, which says more
  }
  if (argc == 2) {
    run(from_hexadecimal(argv[1]));
    return 0;
  }
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s SEEDS RUNS [FIRST] | INPUT\n", argv[0]);
    return 2;
  }
  const std::string path = argv[1];
  plain = path.find("text.txt") != std::string::npos;
  const std::vector<Bytes> seeds = read_seeds(path);
  const int64_t runs = std::atoll(argv[2]), first = argc > 3 ? std::atoll(argv[3]) : 1;
  for (const Bytes& seed : seeds) run(seed);
  for (int64_t number = first; number < first + runs; ++number) run(make(number, seeds));
  std::printf("%zu seeds and %lld other inputs, no finding\n", seeds.size(),
              static_cast<long long>(runs));
  return 0;
}
