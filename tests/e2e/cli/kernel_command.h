// `dovetail kernel` for the tests of its actions.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "tests/catch.h"
#include "tests/process.h"

namespace dovetail::test {

inline const std::string kKernels = DOVETAIL_SOURCE_DIR "/examples/kernels/";
inline const std::string kMatmul = kKernels + "matmul.loops";

inline Finished kernel_command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "kernel");
  return dovetail(arguments);
}

// The report of a kernel action that succeeds.
inline Json kernel_json(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const Finished finished = kernel_command(std::move(arguments));
  INFO(finished.error);
  REQUIRE(finished.exit == 0);
  return parse_json(finished.out, "output").value();
}

// Error: an exit code other than `exit`, or a message without `why`.
inline void kernel_refused(const std::vector<std::string>& arguments, const std::string& why, int exit = 2) {
  const Finished finished = kernel_command(arguments);
  INFO(finished.error);
  CHECK(finished.exit == exit);
  CHECK_THAT(finished.error, Catch::Matchers::ContainsSubstring(why));
}

}  // namespace dovetail::test
