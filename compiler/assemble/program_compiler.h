// Turns loop programs on the host's memory into steps of a bundle: copies between layouts, and the kernels of targets
// that run on the host. Such a target provides one (Target::program_compiler).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/report_progress.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "loops/ir.h"

namespace dovetail {

struct HostProgram {
  std::string name;                  // name of the step
  std::vector<std::string> origins;  // imported nodes that it represents; empty for copies
  loops::Program program;
  std::vector<bundle::TensorIndex> arguments, results;
  // The program whose operations are counted, if `program` is a scheduled form of it; null: operations are not counted.
  const loops::Program* operation_source = nullptr;
};

// A distinct kernel in machine code, for the report.
struct KernelReport {
  std::string symbol;
  int uses = 0;  // steps that call it
  std::int64_t code_bytes = 0;
  double seconds = 0;  // compile time
  std::vector<std::string> notes;
};

// One object per bundle under construction.
class ProgramCompiler {
 public:
  virtual ~ProgramCompiler() = default;
  // The step that runs the program; nothing if this target has no code for it, and `program` is then unchanged.
  virtual std::optional<bundle::Step> step(HostProgram& program) = 0;
  // Called once, after all steps were added: compiles and links, and completes the steps that it created.
  virtual Result<void> finish(bundle::Bundle&, const ReportProgress& /*null: no progress reports*/) { return {}; }
  virtual std::vector<KernelReport> report() const { return {}; }
};

}  // namespace dovetail
