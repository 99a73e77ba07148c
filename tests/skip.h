// A test that lacks a requirement (the models next to the repository, a tool) reports it: it is counted as skipped, not
// as passed.
#pragma once

#include <string>
#include <vector>

namespace dovetail::test {

// Exit status of an executable in which a test was skipped and none failed; CTest and tools/summarize_tests.py use it.
inline constexpr int kSkipped = 77;

inline std::vector<std::string>& skip_reasons() {
  static std::vector<std::string> reasons;
  return reasons;
}
// Call this, then return from the test. Checks made so far still count: a failure remains a failure.
inline void skip(std::string reason) { skip_reasons().push_back(std::move(reason)); }

}  // namespace dovetail::test
