// The report of `dovetail run`, for people and for machines.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/energy_report.h"
#include "cli/expectation.h"
#include "cli/latency.h"
#include "cli/model.h"
#include "cli/reference_check.h"
#include "cli/timing.h"
#include "runtime/executor.h"

namespace dovetail::cli {

struct RunFacts {
  std::string path, engine;
  const bundle::Bundle* bundle = nullptr;
  const CompiledModel* model = nullptr;  // null: a bundle was run
  const runtime::RunResult* run = nullptr;
  std::optional<ReferenceCheck> check;
  std::vector<std::string> inputs;  // announcements
  std::optional<Expectation> expectation = {};
  std::int64_t runs = 1, samples = 1;           // steps and cycles are those of the first run
  std::map<std::string, NdArray> outputs = {};  // of all runs
  bool all_tensors = false;                     // were to leave their kernels
  System system = {};
  std::vector<TimedProgram> timed = {};    // of an engine with a clock: the accelerator steps
  std::optional<EnergyFacts> energy = {};  // of the accelerator steps, if there are any
  // Of --repeat: seconds of each run from input to output; all else is of the last. Empty where they are not known.
  std::vector<double> latencies = {};
};

std::string run_text(const RunFacts& facts);
Json run_json(const RunFacts& facts);  // "kind": "run"

}  // namespace dovetail::cli
