// Facts in a file, so that the next process begins with what was measured on this processor.
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "backends/cpu/machine/machine.h"

namespace infini::cpu {
namespace {

constexpr const char* title = "infini machine";
constexpr const char* version = INFINI_VERSION;

// A number between nothing and a lot; anything else is no fact.
bool take_number(std::istream& in, double& value) {
  double read = 0;
  if (!(in >> read) || !std::isfinite(read) || read <= 0 || read > 1e15) return false;
  value = read;
  return true;
}

bool take_fact(std::istream& in, const Fact& fact, Machine& machine) {
  if (fact.number != nullptr) return take_number(in, machine.*fact.number);
  return take_number(in, (machine.*fact.rate).one) && take_number(in, (machine.*fact.rate).all);
}

// Each fact once, in any order, and nothing else.
bool take_facts(std::istream& in, Machine& machine, std::string& why_not) {
  size_t taken = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    const Fact* found = nullptr;
    for (const Fact& fact : facts())
      if (name == fact.name) found = &fact;
    if (found == nullptr || !take_fact(words, *found, machine)) {
      why_not = "\"" + line.substr(0, 60) + "\" is no fact";
      return false;
    }
    ++taken;
  }
  if (taken == facts().size()) return true;
  why_not = "has " + std::to_string(taken) + " facts of " + std::to_string(facts().size());
  return false;
}

bool expect_line(std::istream& in, const std::string& what, const std::string& value,
                 std::string& why_not) {
  std::string line;
  if (std::getline(in, line) && line == what + " " + value) return true;
  why_not = "says \"" + line.substr(0, 80) + "\" where \"" + what + " " + value + "\" was expected";
  return false;
}

// Asked when the library is loaded, since a client may change its environment later; in setuid programs nowhere.
std::string find_place() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  if (getauxval(AT_SECURE) != 0) return "";
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/infini/machine";
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/infini/machine" : "";
}
const std::string& place() {
  static const std::string& path = *new std::string(find_place());
  return path;
}
[[maybe_unused]] const bool asked_at_load = !place().empty();

bool make_folder(const std::string& path) {
  return mkdir(path.c_str(), 0700) == 0 || access(path.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

std::string machine_file() { return place(); }

bool read_machine(const std::string& path, Machine& machine, std::string& why_not) {
  constexpr off_t most_bytes = 1 << 16;  // what has no end, or no lines, is not read to its end
  why_not.clear();
  struct stat file_facts {};
  if (stat(path.c_str(), &file_facts) == 0 &&
      (!S_ISREG(file_facts.st_mode) || file_facts.st_size > most_bytes)) {
    why_not = "is no file of facts";
    return false;
  }
  std::ifstream file(path);
  if (!file.is_open()) {
    if (access(path.c_str(), F_OK) == 0) why_not = "cannot be read";
    return false;
  }
  Machine kept = machine;
  if (!expect_line(file, title, version, why_not) ||
      !expect_line(file, "processor", machine.name, why_not) || !take_facts(file, kept, why_not))
    return false;
  machine = kept;
  machine.origin = "measured, kept in " + path;
  return true;
}

bool write_machine(const std::string& path, const Machine& machine, std::string& why_not) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    make_folder(path.substr(0, at));
  const std::string part = path + "." + std::to_string(getpid());  // nobody reads half a file
  std::ofstream file(part);
  file.precision(6);
  file << title << " " << version << "\nprocessor " << machine.name << "\n";
  for (const Fact& fact : facts()) {
    file << fact.name << " ";
    if (fact.number != nullptr)
      file << machine.*fact.number << "\n";
    else
      file << (machine.*fact.rate).one << " " << (machine.*fact.rate).all << "\n";
  }
  file.close();
  if (file.good() && std::rename(part.c_str(), path.c_str()) == 0) return true;
  unlink(part.c_str());
  why_not = "cannot write " + path;
  return false;
}

}  // namespace infini::cpu
