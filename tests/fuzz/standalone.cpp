// The fuzz targets without libFuzzer, for every compiler: seeds, then so many inputs made of them and of random bytes, the
// same on every machine; then others, which no run had before, until the time is over.
//   fuzz_NAME SEEDS RUNS [SECONDS [FIRST]]    SEEDS: a file of tests/fuzz/corpus; SECONDS: none unless told, and
//                                             INFINI_FUZZ_SECONDS goes before it; FIRST: the first of the others
//   fuzz_NAME INPUT                           one input, in hexadecimal as findings print it
// What finds something is printed with the line that runs it again, and kept in the file finding_of_fuzz_NAME.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "harness/rearrange/random_problems.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// Of the sanitizers, where they are; they call it before they end the process.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

namespace {

using Bytes = std::vector<uint8_t>;
using infini::harness::Random;

constexpr size_t most_bytes = 400;
constexpr unsigned most_seconds = 300;  // of one input; most take microseconds
Bytes current;                          // what runs now
bool plain = false;                     // seeds are texts
std::string again, all_again, kept;     // how to run it again, and all before it; where it is kept

// Only what a signal handler may call.
void write_text(int file, const char* text, size_t length) {
  if (write(file, text, length) < 0) return;
}

void write_input(int file) {
  static constexpr char digits[] = "0123456789abcdef";
  char text[2 * most_bytes + 1];
  size_t length = 0;
  for (const uint8_t byte : current) {
    text[length++] = digits[byte / 16];
    text[length++] = digits[byte % 16];
  }
  text[length++] = '\n';
  write_text(file, text, length);
}

void tell() {
  write_text(STDERR_FILENO, again.data(), again.size());
  write_input(STDERR_FILENO);
  write_text(STDERR_FILENO, all_again.data(), all_again.size());
  const int file = open(kept.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  write_input(file);
  close(file);
}

void die(int signal) {
  tell();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void hear_of_the_end() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM}) {
    const auto before = std::signal(signal, die);
    if (before != SIG_DFL) std::signal(signal, before);  // a sanitizer's, which says more
  }
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(tell);
}

void run(Bytes input) {
  input.resize(std::min(input.size(), most_bytes));
  current = std::move(input);
  alarm(most_seconds);
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

// What is the same everywhere, then what is new. Returns how many there were of either.
struct Count {
  int64_t usual = 0, others = 0;
};
Count run_all(const std::vector<Bytes>& seeds, int64_t runs, std::chrono::duration<double> time,
              int64_t first) {
  const auto start = std::chrono::steady_clock::now();
  Count count;
  for (const Bytes& seed : seeds) run(seed);
  for (; count.usual < runs; ++count.usual) run(make(count.usual + 1, seeds));
  for (; std::chrono::steady_clock::now() - start < time; ++count.others)
    run(make(first + count.others, seeds));
  return count;
}

double seconds(const char* given) {
  const char* wanted = std::getenv("INFINI_FUZZ_SECONDS");
  return std::atof(wanted != nullptr ? wanted : given);
}

// Far from the usual ones and from those of other runs.
int64_t any_number() {
  std::random_device device;
  return (int64_t{1} << 40) + static_cast<int64_t>(device()) * (int64_t{1} << 20);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string program = argv[0];
  again = "FOUND something; again: " + program + " ";
  kept = "finding_of_" + program.substr(program.rfind('/') + 1);
  hear_of_the_end();
  if (argc == 2) {
    run(from_hexadecimal(argv[1]));
    return 0;
  }
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s SEEDS RUNS [SECONDS [FIRST]] | INPUT\n", argv[0]);
    return 2;
  }
  const std::string path = argv[1];
  plain = path.find("text.txt") != std::string::npos;
  const std::vector<Bytes> seeds = read_seeds(path);
  const double time = argc > 3 ? seconds(argv[3]) : 0;
  const int64_t first = argc > 4 ? std::atoll(argv[4]) : any_number();
  all_again = "Or, if it takes what ran before it: env -u INFINI_FUZZ_SECONDS " + program + " " +
              path + " " + argv[2] + " " + std::to_string(time) + " " + std::to_string(first) +
              "\n";
  const Count count =
      run_all(seeds, std::atoll(argv[2]), std::chrono::duration<double>(time), first);
  std::printf(
      "%zu seeds, %lld inputs as everywhere and %lld others from number %lld on, no finding\n",
      seeds.size(), static_cast<long long>(count.usual), static_cast<long long>(count.others),
      static_cast<long long>(first));
  return 0;
}
