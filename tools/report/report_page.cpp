// infini bench --report FILE: measurements as one page for a browser, without network.
#include "tools/report/report_page.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "harness/json.h"
#include "report_page_html.h"

namespace infini::tools {
namespace {

// The page's reports stand between these, one in a line.
constexpr const char* opening = "<script type=\"application/json\" id=\"reports\">[";
constexpr const char* closing = "]</script>";

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> reports_in(const std::string& page) {
  const size_t begin = page.find(opening), end = page.find(closing);
  if (begin == std::string::npos || end == std::string::npos) return {};
  std::istringstream lines(page.substr(begin + std::string(opening).size(), end - begin));
  std::vector<std::string> reports;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("]")) break;
    if (line.ends_with(",")) line.pop_back();
    if (line.starts_with("{")) reports.push_back(line);
  }
  return reports;
}

// In one line; a "<" in a problem's text would end the page's script.
std::string embedded(const std::string& json) {
  std::string text;
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else if (c != '\n')
      text += c;
  }
  return text;
}

}  // namespace

std::string page_with(const std::string& page, const std::string& asked, const std::string& json) {
  std::string head = embedded(harness::JsonObject().add("asked", asked).text());
  head.back() = ',';  // where the report goes on
  const std::string added = head + embedded(json).substr(1);
  const std::string same_work = added.substr(0, added.find("\"version\""));
  std::string list = "\n" + added;
  for (const std::string& report : reports_in(page))
    if (!report.starts_with(same_work)) list += ",\n" + report;
  std::string made = report_page_html;
  return made.insert(made.find(opening) + std::string(opening).size(), list + "\n");
}

ReportPage::ReportPage(Arguments& arguments) {
  path_ = arguments.take_value("--report", "");
  if (path_.empty()) return;
  // Found out before anything is measured.
  require(std::ofstream(path_, std::ios::app).is_open(), INFINI_STATUS_BAD_PARAM,
          "--report: cannot write ", path_);
  const std::string page = read_file(path_);
  require(page.empty() || page.find(opening) != std::string::npos, INFINI_STATUS_BAD_PARAM,
          "--report: ", path_, " holds something that is no report of `infini bench`");
}

void ReportPage::add(const std::string& asked, const std::string& json) const {
  if (!wanted()) return;
  const std::string page = page_with(read_file(path_), asked, json), beside = path_ + ".part";
  std::ofstream file(beside);
  file << page;
  file.close();
  require(file.good(), INFINI_STATUS_INTERNAL_ERROR, "--report: cannot write ", beside);
  std::filesystem::rename(beside, path_);
}

}  // namespace infini::tools
