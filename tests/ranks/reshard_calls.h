// What tests of reshardings call in C, in one line each.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "infinireshard.h"

namespace infini::test {

inline infiniReshardPlan_t plan_of_text(const std::string& text) {
  infiniReshardPlan_t plan = nullptr;
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infiniReshardCreatePlan(&plan, text.c_str()))
      << infiniGetLastErrorString();
  return plan;
}

inline infiniReshardOptions_t options_of(size_t piece, size_t staging, double timeout) {
  infiniReshardOptions_t options{};
  options.size = sizeof options;
  options.piece_bytes = piece;
  options.staging_bytes = staging;
  options.timeout = timeout;
  return options;
}

}  // namespace infini::test
