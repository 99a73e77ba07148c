// Loop programs that work on the host's memory, made into steps of a bundle: copies between layouts, and the kernels of
// targets that run there. A target that can do that offers one (Target::program_compiler).
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
  std::string name;                  // of the step
  std::vector<std::string> origins;  // imported nodes that it represents; empty for copies
  loops::Program program;
  std::vector<bundle::TensorIndex> arguments, results;
  // The program whose arithmetic is counted, where `program` is a scheduled form of it; null: nothing is counted.
  const loops::Program* operation_source = nullptr;
};

// A distinct piece of machine code: for the report.
struct KernelReport {
  std::string symbol;
  int uses = 0;  // steps that call it
  std::int64_t code_bytes = 0;
  double seconds = 0;  // of compiling
  std::vector<std::string> notes;
};

// Lives as long as one bundle is under construction.
class ProgramCompiler {
 public:
  virtual ~ProgramCompiler() = default;
  // The step that runs the program; nothing where this target has no code for it, and `program` is as it was.
  virtual std::optional<bundle::Step> step(HostProgram& program) = 0;
  // Called once, when all steps are there: compiles and links, and completes the steps that it has made.
  virtual Result<void> finish(bundle::Bundle&, const ReportProgress& /*null: nobody watches*/) { return {}; }
  virtual std::vector<KernelReport> report() const { return {}; }
};

}  // namespace dovetail
