#include "bundle/code/program_summary.h"

#include "tests/catch.h"
#include "tests/unit/bundle/sample.h"

using namespace dovetail;

TEST_CASE("a summary counts kinds, tokens and micro-ops") {
  const bundle::ProgramSummary summary = bundle::summarize(test::sample_bundle());
  CHECK(summary.instructions == 5);
  CHECK(summary.tokens == 1);
  CHECK(summary.uops == 1);
  CHECK(summary.kinds == std::map<std::string, std::uint64_t>{
                             {"alu.add", 1}, {"finish", 1}, {"load.acc8", 1}, {"load.uop", 1}, {"store.out", 1}});
}
