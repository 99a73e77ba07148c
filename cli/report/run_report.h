// The report of `dovetail run`, as text and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/report/text.h"
#include "driver/energy.h"
#include "driver/expectation.h"
#include "driver/session.h"
#include "driver/timed_program.h"
#include "explore/check/reference_check.h"

namespace dovetail::cli {

struct RunFacts {
  const driver::Session& session;
  const runtime::RunResult& run;
  std::vector<std::string> inputs;  // announcements
  std::optional<explore::ReferenceCheck> check = {};
  std::optional<driver::Expectation> expectation = {};
  std::int64_t runs = 1, samples = 1;              // steps and cycles are those of the first run
  std::map<std::string, NdArray> outputs = {};     // outputs of all runs
  bool all_tensors = false;                        // all tensors were stored outside of kernels
  std::vector<driver::TimedProgram> timed = {};    // the accelerator steps, for an engine with a clock
  std::optional<driver::EnergyFacts> energy = {};  // energy of the accelerator steps, if there are any
  // With --repeat: seconds of each run from input to output; everything else is about the last run. Empty if unknown.
  std::vector<double> latencies = {};
};

std::string run_text(const RunFacts& facts, Amount amount);
Json run_json(const RunFacts& facts);  // "kind": "run"

}  // namespace dovetail::cli
