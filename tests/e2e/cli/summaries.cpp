// One screen of a report: what `run`, `profile`, `simulate` and `compare` print without --details.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("reports fit one screen of 100 columns, and --details has the rest") {
  const std::string assembly = DOVETAIL_SOURCE_DIR "/examples/assembly/matmul.s";
  struct Row {
    std::vector<std::string> command;
    std::vector<const char*> said, in_details;
  };
  const std::vector<std::string> target{"--target", "accel,cpu", "--hw", "1x16x16-ext"};
  const auto with = [&](std::vector<std::string> command, std::vector<std::string> more) {
    command.insert(command.end(), target.begin(), target.end());
    command.insert(command.end(), more.begin(), more.end());
    return command;
  };
  const std::vector<Row> rows{
      {with({"run", test::kDigits}, {"--engine", "cycle", "--check"}),
       {": all equal", "inferences/s", "utilization   ", "bound         DRAM read", "slowest layers"},
       {"micro-ops     ", "memory stalls", "component"}},
      {with({"profile", test::kDigits}, {"--repeat", "2"}),
       {"slowest steps", "utilization   ", "what if       ", "speedup"},
       {"the same instructions with", "executed      "}},
      {with({"compare", test::kDigits}, {"--repeat", "2"}), {"inferences/s", "speedup"}, {"bundle ", "arena "}},
      {{"simulate", assembly, "--engine", "cycle"}, {"latency       409 cycles", "stalls        "}, {"SRAM reads"}}};
  for (Row row : rows) {
    const test::Finished summary = test::dovetail(row.command);
    INFO(summary.out << summary.error);
    REQUIRE(summary.exit == 0);
    CHECK(std::ranges::count(summary.out, '\n') <= 30);
    std::istringstream lines(summary.out);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
    for (const char* part : row.said) CHECK_THAT(summary.out, ContainsSubstring(part));
    for (const char* part : row.in_details) CHECK(summary.out.find(part) == std::string::npos);
    row.command.emplace_back("--details");
    const test::Finished details = test::dovetail(row.command);
    REQUIRE(details.exit == 0);
    for (const char* part : row.in_details) CHECK_THAT(details.out, ContainsSubstring(part));
  }
}
