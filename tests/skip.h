// A test that lacks what it needs (the models alongside the repository, a tool) says so: it is counted as skipped, not
// as passed.
#pragma once

#include <string>
#include <vector>

namespace dovetail::test {

// Exit status of an executable of which a test was skipped and none failed; CTest and tools/summarize_tests.py know it.
inline constexpr int kSkipped = 77;

inline std::vector<std::string>& skip_reasons() {
  static std::vector<std::string> reasons;
  return reasons;
}
// Call, then return from the test. What has been checked so far still counts: a failure remains one.
inline void skip(std::string reason) { skip_reasons().push_back(std::move(reason)); }

}  // namespace dovetail::test
