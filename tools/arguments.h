// Command line arguments: flags with and without values, and the rest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "infinicore.h"

namespace infini::tools {

struct Command;

class Arguments {
 public:
  // The words behind the command's name.
  Arguments(const Command& command, std::vector<std::string> words)
      : command_(command), words_(std::move(words)) {}

  // Each takes what it finds out of the list.
  bool take_flag(const std::string& name);
  std::string take_value(const std::string& name, const std::string& otherwise);
  // A value that may be left out: the next word is one unless it is an option or begins a problem. Empty: no such option.
  std::string take_optional_value(const std::string& name, const std::string& left_out);
  // Throws for what is not within least..most.
  int64_t take_integer(const std::string& name, int64_t otherwise, int64_t least,
                       int64_t most = INT64_MAX);
  // --device NAME[:ID]; makes that device current. `id` may be null.
  infiniDevice_t take_device(int* id = nullptr);

  // --op NAME: an operator, "rearrange" when absent.
  std::string take_operator();

  // What is left: throws for anything that looks like a flag. The words of a problem without quotes around it
  // are one.
  std::vector<std::string> rest() const;
  // Throws when anything is left.
  void require_none() const;

 private:
  [[noreturn]] void refuse_option(const std::string& word) const;

  const Command& command_;
  std::vector<std::string> words_;
};

// What is left, as `expected` ("IN OUT") says.
std::vector<std::string> words_of(const Arguments& arguments, size_t least, size_t most,
                                  const char* expected);

// What files and arguments say, for a terminal: what it would obey is told as \x1b. `lines`: but for the ends of lines.
std::string printable(const std::string& text, bool lines = false);

// Throws the last error of the C API when status is not SUCCESS.
void require_success(infiniStatus_t status);

// What the environment says and nobody understood, one line each.
void print_complaints();

}  // namespace infini::tools
