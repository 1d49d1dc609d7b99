// How an operator is carried out on the XPU, as plain data: which operands are packed first, how rows are cut and among how
// many cores they are shared. Pure host code, no SDK.
//
// Law: the chunks of all units (or, of row functions, of all rows) are the elements of operand 0, each once, every one together
// with those of the other operands that belong to it; no chunk is larger than its buffer. (schedule_test.cpp walks them.)
#pragma once

#include <string>

#include "backends/kunlun/operators/row_nest.h"
#include "plan/operators/packed_operator.h"

namespace infini::kunlun {

struct RowSchedule {
  PackedOperator packed;
  RowNest nest{};
  int clusters = 1, cores = 1;
};

RowSchedule make_row_schedule(const OperatorPlan& plan, int device_clusters);

// "3 rows of 70001 by 12x64 cores, in chunks of 192, packs a"
std::string to_string(const RowSchedule& schedule);

}  // namespace infini::kunlun
