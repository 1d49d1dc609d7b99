// infini bench pages, infini bench transfer: cases of their own, each against a plain copy.
#include "tools/commands/bench_copies.h"

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "bench/copies/pages_bench.h"
#include "bench/interrupt.h"
#include "tools/commands.h"
#include "tools/commands/python_peers.h"

namespace infini::tools {
namespace {

std::string report_of(const std::vector<bench::CopyRow>& rows, bool complete) {
  return start_report("bench")
      .add("complete", complete)
      .add_json("rows", bench::copy_rows_json(rows))
      .text();
}

template <class Measure>
int bench_each(const std::vector<std::string>& names, const ReportFile& file,
               const Measure& measure) {
  std::vector<bench::CopyRow> rows;
  try {
    for (const auto& name : names) {
      bench::end_if_interrupted();
      rows.push_back(measure(name));
      bench::print_copy_row(rows.back());
      file.write(report_of(rows, false), false);
    }
  } catch (const bench::Interrupted&) {
    std::printf("interrupted: %zu of %zu cases were measured\n", rows.size(), names.size());
  }
  if (!rows.empty() || !file.holds_an_older_one())
    file.write(report_of(rows, rows.size() == names.size()), true);
  return std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.verified; }) ? 0
                                                                                             : 1;
}

}  // namespace

std::optional<int> bench_copies(Arguments& arguments, const bench::Options& options,
                                const ReportFile& file, bool peer) {
  const bool pages = arguments.take_flag("pages"), transfer = arguments.take_flag("transfer");
  if (!pages && !transfer) return std::nullopt;
  const std::string filter = arguments.take_value("--filter", "");
  arguments.require_none();
  auto names = pages ? bench::pages_cases() : bench::transfer_cases();
  std::erase_if(names, [&](const auto& name) { return name.find(filter) == std::string::npos; });
  require(!names.empty(), INFINI_STATUS_BAD_PARAM, "no case has \"", filter, "\" in its name");
  bench::watch_interrupts();
  std::printf("%s\n", machine_line().c_str());
  bench::print_copy_header(pages ? "a copy" : "pinned");
  const int status = bench_each(names, file, [&](const std::string& name) {
    return pages ? bench::measure_pages(name, options) : bench::measure_transfer(name, options);
  });
  if (peer && !bench::interrupted()) run_copies_peer(pages ? "pages" : "transfer");
  return status;
}

}  // namespace infini::tools
