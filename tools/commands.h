// The commands of the tool: their names, options and words, from which help, suggestions and completion are made.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/arguments.h"

namespace infini::tools {

struct Option {
  const char* name;   // "--device"
  const char* value;  // "NAME[:ID]"; empty: a flag
  const char* about;
};

struct Command {
  const char* name;
  int (*run)(Arguments&);
  const char* summary;  // half a line
  const char* usage;    // how it is called, and what it then does
  std::span<const Option> options;
};

std::span<const Command> commands();
// Null: there is none of this name.
const Command* find_command(const std::string& name);
std::vector<std::string> option_names(const Command& command);

// `infini help`, and `infini help TOPIC`: a command, problems, dtypes or environment. Throws for what is none.
std::string help_text();
std::string help_text(const std::string& topic);

int run_devices(Arguments& arguments);
int run_plan(Arguments& arguments);
int run_check(Arguments& arguments);
int run_bench(Arguments& arguments);
int run_machine(Arguments& arguments);
int run_reshard(Arguments& arguments);
int run_info(Arguments& arguments);
int run_convert(Arguments& arguments);
int run_rearrange(Arguments& arguments);
int run_slice(Arguments& arguments);
int run_shard(Arguments& arguments);
int run_unshard(Arguments& arguments);

// Prints the words that may stand in place of the last one of `words`, one a line. For shells.
int complete(std::vector<std::string> words);

}  // namespace infini::tools
