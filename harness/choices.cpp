// Comparing choices with a golden file.
#include "harness/choices.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace infini::harness {

std::string compare_choices(const std::string& path,
                            const std::function<std::string(const std::string&)>& choose) {
  std::ifstream file(path);
  std::ostringstream changed, anew;
  std::string candidate, problem;
  int lines = 0, differences = 0;
  while (file >> candidate && std::getline(file >> std::ws, problem)) {
    const std::string now = choose(problem);
    ++lines;
    anew << now << ' ' << problem << '\n';
    if (now == candidate) continue;
    ++differences;
    changed << "  " << candidate << " -> " << now << "  " << problem << '\n';
  }
  if (lines == 0) return path + " has no lines";
  if (differences == 0) return {};
  if (std::getenv("INFINI_TEST_ACCEPT") != nullptr) {
    std::ofstream(path) << anew.str();
    return {};
  }
  return std::to_string(differences) + " of " + std::to_string(lines) + " choices of " + path +
         " changed:\n" + changed.str() +
         "If `infini bench --regret` says that they are better: INFINI_TEST_ACCEPT=1 writes the "
         "file.";
}

}  // namespace infini::harness
