// What every command says of itself: on which machine, with which version, when; and the file that --json names.
#pragma once

#include <cstdint>
#include <string>

#include "harness/json.h"
#include "tools/arguments.h"

namespace infini::tools {

// "infini 0.2.0 on cpu: AMD EPYC, 2 threads": the line above results.
std::string machine_line();

// An object with the command's name, the version, the time, and the current device as "machine".
harness::JsonObject start_report(const char* command);

// --json [FILE]: where a report goes besides, or instead of, the text for people.
class ReportFile {
 public:
  // Where prints for people go while standard output is the report's.
  enum class Prints { to_standard_error, nothing };

  // Takes the option. With standard output as FILE ("-", or no FILE), what is printed for people goes elsewhere from
  // here on. Throws when the file cannot be written.
  explicit ReportFile(Arguments& arguments, Prints prints = Prints::to_standard_error);
  ~ReportFile();
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

  bool wanted() const { return wanted_; }
  bool is_standard_output() const { return output_ >= 0; }
  const std::string& path() const { return path_; }

  // A report with nothing in it is not worth one that is there.
  bool holds_an_older_one() const { return holds_an_older_one_; }
  // The whole report so far. A file is replaced at once or not at all; standard output gets only what is final.
  void write(const std::string& json, bool is_final) const;

 private:
  void redirect_prints(Prints prints);

  std::string path_;
  bool wanted_ = false, holds_an_older_one_ = false;
  int output_ = -1;  // a duplicate of standard output, while prints go elsewhere
};

// A line that is overwritten, on standard error where that is a terminal: how far a loop is, once it has run for a second.
class Progress {
 public:
  explicit Progress(int64_t total);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // "[ 3/12]", as wide for every number.
  std::string label(int64_t number) const;
  void show(int64_t number, const std::string& what);
  // Before anything is printed.
  void clear();

 private:
  int64_t total_;
  double start_, shown_at_ = 0;
  bool is_terminal_, visible_ = false;
};

}  // namespace infini::tools
