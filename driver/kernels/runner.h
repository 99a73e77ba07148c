// Runs a loop program on a target, repeatedly.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "base/work.h"
#include "driver/loop_program.h"
#include "driver/timed_program.h"
#include "runtime/executor.h"
#include "simulator/engine_options.h"

namespace dovetail::driver {

using Tensors = std::map<std::string, NdArray>;  // by name

// The target of the reference: loop programs are interpreted in this process, without a bundle.
inline constexpr std::string_view kInterpreterTarget = "interpreter";

struct RunnerOptions {
  std::string engine = "cycle";  // of the accelerator's programs
  int threads = 0;               // of the processor; 0: one per processor that this process may use
  enum class Detail : unsigned char { total, timed_programs };
  Detail detail = Detail::total;  // what runs report of the accelerator
  Work* work = nullptr;           // watches runs and may stop them; outlives the runner
  std::function<void(std::string_view step)> build_missing = nullptr;  // EngineOptions
};

// The inputs and constants of a program, in the order of its parameters. Error: one is missing, or of another type or
// shape than in the text.
Result<std::vector<NdArray>> arguments_of(const LoopProgram& program, const Tensors& inputs);

// Where values differ from those of the interpreter, as text; empty: they agree. Integers agree if they are equal,
// floats within kMachineCodeTolerance of a tensor's largest, since schedules reassociate sums.
std::string find_wrong_value(const Tensors& expected, const Tensors& actual);

class LoopRunner {
 public:
  // `target`: kInterpreterTarget, or one that LoopProgram::compile takes. Errors: those of compile; an unknown engine.
  static Result<LoopRunner> make(const LoopProgram& program, const std::string& target, const RunnerOptions& options);

  struct Ran {
    Tensors outputs;
    double seconds = 0;          // of the program on this machine; of the accelerator, the simulator's
    double packing_seconds = 0;  // of copies of tensors into the layouts of the schedule and back, not in `seconds`
    std::optional<std::uint64_t> cycles = {};  // of the accelerator, by an engine with a clock
    std::vector<TimedProgram> timed = {};      // the same in detail, if the options ask for it
  };
  // Errors: tensors that do not fit the program; what the program or the engine diagnoses; the work was stopped.
  Result<Ran> run(const Tensors& inputs);

  int threads() const;  // of the processor; 1 for other targets

 private:
  std::string target_;
  RunnerOptions options_;
  std::optional<LoopProgram> interpreted_;
  std::optional<runtime::Executor> executor_;
  simulator::EngineOptions engine_;
};

}  // namespace dovetail::driver
