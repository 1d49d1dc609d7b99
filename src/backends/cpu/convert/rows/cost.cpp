// What rows cost: a call for every piece, and the ends of rows that are parts of lines.
#include <algorithm>

#include "backends/cpu/convert/rows/schedule.h"
#include "base/dtype.h"

namespace infini::cpu {

double convert_rows_ns(const ConvertRows& s, const OperatorPlan& plan, const Setting& setting) {
  const int64_t row_bytes = s.length * dtype_bytes(plan.dtypes[0]);
  const bool whole =
      s.rows == 1 || (s.outer.back().steps[0] % line_bytes == 0 && row_bytes % line_bytes == 0);
  const double parts = s.streams && !whole ? 2.0 * line_bytes * static_cast<double>(s.rows) : 0;
  const double calls = static_cast<double>(s.pieces()) * task_ns(setting.machine) +
                       static_cast<double>(s.rows) * turn_ns(setting.machine);
  return convert_ns(plan, setting, calls + line_ns(plan, setting.machine), parts, s.streams);
}

}  // namespace infini::cpu
