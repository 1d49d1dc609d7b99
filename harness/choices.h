// Golden files of choices: which candidate a machine's model takes for each of many problems, so that a changed choice
// is a line of a diff, on any machine and without timing.
#pragma once

#include <functional>
#include <string>

namespace infini::harness {

// The file's lines are "CANDIDATE PROBLEM". Empty when choose(problem) gives every line's candidate, else the lines that
// changed and how to accept them: INFINI_TEST_ACCEPT=1 writes the file anew.
std::string compare_choices(const std::string& path,
                            const std::function<std::string(const std::string&)>& choose);

}  // namespace infini::harness
