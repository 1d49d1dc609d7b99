// The command line tool: look at devices and plans, check problems, measure.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "bench/interrupt.h"
#include "harness/suggest.h"
#include "tools/commands.h"

namespace infini::tools {
namespace {

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int run(const Command& command, const std::vector<std::string>& words) {
  if (std::any_of(words.begin(), words.end(), asks_for_help) ||
      (words.size() == 1 && words[0] == "help"))
    return print(help_text(command.name));
  Arguments arguments(command, words);
  if (std::string(command.name) != "devices") {
    const auto threads = arguments.take_integer("--threads", 0, 0, 1024);
    if (threads != 0) require_success(infiniSetNumThreads(static_cast<int>(threads)));
  }
  return command.run(arguments);
}

int help(const std::vector<std::string>& topics) {
  if (topics.empty()) return print(help_text());
  for (const std::string& topic : topics)
    print((&topic == &topics.front() ? "" : "\n") + help_text(topic));
  return 0;
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty()) return print(help_text()), 2;
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (asks_for_help(words[0])) return print(help_text());
  if (words[0] == "help") return help(rest);
  if (words[0] == "complete") return complete(rest);
  if (words[0] == "--version") return print(std::string("infini ") + infiniVersionString() + "\n");
  if (const Command* command = find_command(words[0])) return run(*command, rest);
  std::vector<std::string> known = {"help", "--help", "--version"};
  for (const Command& command : commands()) known.emplace_back(command.name);
  std::fprintf(stderr, "infini: \"%s\" is not a command%s; see `infini help`\n",
               printable(words[0]).c_str(), harness::did_you_mean(words[0], known).c_str());
  return 2;
}

// A standard file that is closed would be the next one that is opened, and what is printed would land in it.
// In its place stands one that takes nothing, so that printing fails as it should.
void occupy_standard_files() {
  for (int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(file, F_GETFD) < 0) static_cast<void>(open("/dev/null", O_RDONLY));
}

int dispatch_or_say_why_not(int count, char** values) {
  try {
    return dispatch({values + 1, values + std::max(count, 1)});
  } catch (const std::exception& error) {
    std::fflush(stdout);  // first what was said before it
    std::fprintf(stderr, "infini: %s\n", printable(error.what(), true).c_str());
    return 2;
  }
}

}  // namespace
}  // namespace infini::tools

int main(int count, char** values) {
  infini::tools::occupy_standard_files();
  const int status = infini::tools::dispatch_or_say_why_not(count, values);
  const bool failed_before = std::ferror(stdout) != 0;
  const bool written = std::fflush(stdout) == 0 && !failed_before;
  infini::bench::end_as_interrupted();
  if (written) return status;
  std::fprintf(stderr, "infini: cannot write standard output%s%s\n", failed_before ? "" : ": ",
               failed_before ? "" : std::strerror(errno));
  return status == 0 ? 2 : status;
}
