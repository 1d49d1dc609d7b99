// infini machine: the facts about this processor by which kernels are chosen, assumed or measured.
#include <cstdio>
#include <ctime>
#include <sstream>

#include "backends/cpu/machine/machine.h"
#include "base/error.h"
#include "ops/explain/plan_picture.h"
#include "tools/commands.h"
#include "tools/report/report.h"

namespace infini::tools {
namespace {

std::string facts_json(const cpu::Machine& machine) {
  harness::JsonObject object;
  for (const cpu::Fact& fact : cpu::facts()) {
    if (fact.number != nullptr)
      object.add(fact.name, machine.*fact.number);
    else
      object.add_json(fact.name, harness::JsonObject()
                                     .add("one", (machine.*fact.rate).one)
                                     .add("all", (machine.*fact.rate).all)
                                     .text());
  }
  return object.text();
}

// "48 KiB", "0.42 ns", "74, 146 bytes/ns".
std::string value_text(const cpu::Machine& machine, const cpu::Fact& fact) {
  const std::string unit = fact.unit;
  if (fact.number != nullptr && unit == "bytes")
    return bytes_text(static_cast<int64_t>(machine.*fact.number));
  std::ostringstream text;
  text.precision(4);
  if (fact.number != nullptr)
    text << machine.*fact.number;
  else
    text << (machine.*fact.rate).one << ", " << (machine.*fact.rate).all;
  text << (unit.empty() ? "" : " ") << unit;
  return text.str();
}

void print_facts(const cpu::Machine& machine) {
  std::printf("%s (%s)\nrates: one thread, all together\n\n", machine.name.c_str(),
              machine.origin.c_str());
  for (const cpu::Fact& fact : cpu::facts())
    std::printf("  %-17s %-18s %s\n", fact.name, value_text(machine, fact).c_str(), fact.meaning);
}

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Measured now, and kept for the processes that come. This thread works all the time, unless others have its processor.
cpu::Machine measure_and_keep() {
  constexpr double quiet_share = 0.8;
  const double start = seconds_of(CLOCK_MONOTONIC), worked = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  cpu::Machine machine = cpu::measure_machine(cpu::profile_of_this_processor());
  if (seconds_of(CLOCK_THREAD_CPUTIME_ID) - worked <
      quiet_share * (seconds_of(CLOCK_MONOTONIC) - start))
    std::printf(
        "note: other programs used the processors meanwhile. By such facts kernels are\n"
        "chosen worse than by the built-in profile: measure again when they are idle.\n");
  const std::string path = cpu::machine_file();
  std::string why_not;
  require(
      !path.empty(), INFINI_STATUS_BAD_PARAM,
      "there is no folder to keep them in: neither XDG_CACHE_HOME nor HOME is an absolute path");
  require(cpu::write_machine(path, machine, why_not), INFINI_STATUS_INTERNAL_ERROR, why_not);
  machine.origin = "measured, kept in " + path;
  return machine;
}

}  // namespace

int run_machine(Arguments& arguments) {
  const bool measure = arguments.take_flag("--measure");
  const ReportFile file(arguments, ReportFile::Prints::nothing);
  arguments.require_none();
  const cpu::Machine machine = measure ? measure_and_keep() : cpu::machine();
  print_facts(machine);
  if (!measure && !cpu::machine_remark().empty())
    std::printf("note: not used: %s\n", cpu::machine_remark().c_str());
  file.write(start_report("machine")
                 .add("processor", machine.name)
                 .add("origin", machine.origin)
                 .add_json("facts", facts_json(machine))
                 .text(),
             true);
  return 0;
}

}  // namespace infini::tools
