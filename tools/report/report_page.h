// infini bench --report FILE: measurements as one page for a browser, without network.
#pragma once

#include <string>

#include "tools/arguments.h"

namespace infini::tools {

// The page gathers: a bench adds its report to those of earlier ones, and replaces the one of the same work.
class ReportPage {
 public:
  // Takes the option. Throws when the file cannot be written, or holds something that is no page of ours.
  explicit ReportPage(Arguments& arguments);
  bool wanted() const { return !path_.empty(); }
  // `asked` says what was measured, as it was asked for; `json` is the report.
  void add(const std::string& asked, const std::string& json) const;

 private:
  std::string path_;
};

// The page with a report more; for tests without files. `page` is empty for the first.
std::string page_with(const std::string& page, const std::string& asked, const std::string& json);

}  // namespace infini::tools
