// Loop programs that a user writes as text, schedules by primitives, interprets and compiles
// (docs/howto/schedule-by-hand.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/ndarray.h"
#include "base/report_progress.h"
#include "base/result.h"
#include "base/work.h"
#include "bundle/bundle.h"
#include "compiler/schedule/parameter_layouts.h"
#include "compiler/schedule/schedule.h"
#include "driver/system.h"
#include "driver/tensor_files.h"
#include "isa/system.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"
#include "loops/parse.h"
#include "mlir/write.h"

namespace dovetail::driver {

struct LoopMachines {
  std::optional<std::string> hardware = {};  // the accelerator, as isa::load_machine takes it; absent: kDefaultHardware
  std::string cpu = "native";                // a processor class, or kInterpreter
};

// A program with the steps of its schedule so far. Callers pass and get tensors in the shapes of the text, whatever
// layouts the steps give to parameters. Copies share immutable data.
class LoopProgram {
 public:
  // Steps and calls may use the intrinsics of both machines. Errors: syntax; a program that does not verify; a loop
  // whose kind requires a property that it lacks; unknown machines. The text may also be a function of MLIR
  // (mlir/read.h).
  // `sizes`: of those that the text declares.
  static Result<LoopProgram> parse(std::string_view text, std::string_view where, const LoopMachines& machines,
                                   const loops::Sizes& sizes = {});

  // Applies steps, given as a trace (docs/reference/schedules.md). Error: a step is rejected; then none is applied.
  Result<void> apply(std::string_view steps);

  const loops::Program& program() const { return schedule_.program(); }
  const loops::Program& written() const { return *written_; }       // before its schedule
  const schedule::Schedule& schedule() const { return schedule_; }  // lives as long as this program
  // Index maps of parameters whose layout the steps transform.
  const schedule::ParameterLayouts& layouts() const { return layouts_; }
  const std::shared_ptr<const loops::IntrinsicTable>& intrinsics() const { return intrinsics_; }
  const isa::HardwareConfig& hardware() const { return machine_.hardware; }
  const LoopMachines& machines() const { return named_; }
  // The program without its steps.
  LoopProgram unscheduled() const { return {*written_, intrinsics_, machine_, named_}; }
  // The memory and clock of the accelerator. Error: an invalid system.
  Result<System> system() const;
  // The program as a module of MLIR, with the layouts of its parameters in place of those in `options`. Error: it calls
  // an intrinsic whose meaning calls another one.
  Result<std::string> to_mlir(mlir::Options options) const;
  // {"name", "text", "trace", "hardware", "cpu", "parameters", "buffers", "loops", "blocks", "decisions",
  // "intrinsics"}.
  Json to_json() const;

  // Interprets the program. `inputs`: inputs and constants by name. Returns the outputs in their order. Errors: tensors
  // that are missing, unknown, or of another type or shape; what the interpreter diagnoses. `work` may be null.
  Result<std::vector<std::pair<std::string, NdArray>>> run(const std::map<std::string, NdArray>& inputs,
                                                           Work* work) const;

  // Inputs and constants from files, and pseudo-random ones from the seed (gather_inputs).
  Result<RunInputs> inputs(const std::map<std::string, std::string>& files, std::uint64_t seed) const;

  struct Compiled {
    bundle::Bundle bundle;
    Json report;  // {"kind": "loops", "target", "dumps": text by stage, "kernels"}
  };
  // A bundle that runs the program on a target: "accel"; "cpu" or "host". Errors: the program has no form on the
  // target, for example because a loop or a buffer is of a kind that the target does not have. `progress` may be null.
  Result<Compiled> compile(const std::string& target, bool check_bounds, const ReportProgress& progress) const;

 private:
  LoopProgram(loops::Program program, std::shared_ptr<const loops::IntrinsicTable> intrinsics, isa::Machine machine,
              LoopMachines named);

  std::shared_ptr<const loops::Program> written_;  // as parsed
  std::shared_ptr<const loops::IntrinsicTable> intrinsics_;
  isa::Machine machine_;
  LoopMachines named_;
  schedule::Schedule schedule_;
  schedule::ParameterLayouts layouts_;
};

}  // namespace dovetail::driver
