#include <algorithm>
#include <array>
#include <memory>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands/all.h"
#include "cli/commands/kernel/actions.h"
#include "cli/shell/arguments.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/tune/search.h"
#include "driver/kernels/runner.h"

namespace dovetail::cli {

namespace {

class Kernel : public Command {
 public:
  void declare(Options& options) override {
    options.positional("ACTION", a_.action, actions_text()).choices(action_names());
    options.positional("FILE", a_.file,
                       "a loop program (docs/reference/loop-programs.md), or a function of MLIR (docs/howto/mlir.md)",
                       Need::required, File::read);
    options.values("--size", "NAME=N", a_.sizes, "the value of a size that the file declares; repeatable");
    options.values("--schedule", "[TARGET=]FILE", a_.schedules,
                   "the steps of its schedule (docs/reference/schedules.md); repeatable, for a target each",
                   File::read);
    options.flag("--explain", a_.explain,
                 "print after each step the loops, how much they do, and which steps became legal");
    options
        .values("--target", "NAME", a_.targets,
                "interpreter, which defines the values (default of run and check); cpu (default of tune, profile and "
                "compare, there with interpreter); accel; cuda; host: the interpreter in a bundle. compare: several, "
                "repeatable or with commas")
        .list({std::string(driver::kInterpreterTarget), "cpu", "accel", "host", "cuda"});
    options.value("--hw", "CONFIG", a_.hardware, kHardwareHelp, File::read);
    options.value("--cpu", "NAME", a_.cpu, "the processor of --target cpu (default native)").choices(cpu::cpu_names());
    options.value("--engine", "ENGINE", a_.engine, "runs programs of the accelerator (default cycle)");
    options.values("--input", "NAME=FILE", a_.inputs,
                   "a .npy file or ONNX TensorProto .pb; without it seeded random values; repeatable", File::read);
    options.value("--seed", "N", a_.seed, "seed of the random inputs (default 1)");
    options.value("--threads", "N", a_.threads,
                  "threads of --target cpu (default: one per processor; tune and bench: 1). "
                  "bench: also those of a baseline");
    options.value("--repeat", "N", a_.repeat, "profile, compare: timed runs, after one run to warm up (default 10)");
    options.value("--output-dir", "DIR", a_.output_dir, "run: write every output as DIR/NAME.npy", File::folder);
    options.flag("--check", a_.check,
                 "run: compare with the interpreter of the program without its schedule; floats within 0.0001 of a\n"
                 "tensor's largest");
    options.value("--trials", "N", a_.trials, "tune: candidates that are measured (default 64)");
    options.value("--search", "SEARCH", a_.search, "tune: how they are chosen, as of `dovetail tune` (default guided)")
        .choices(search_names());
    options.value("--html", "PAGE.html", a_.html,
                  "profile: write the run of the accelerator as a page for a browser, with its timeline",
                  File::written_text);
    options.value("-x", "FILE", a_.script, "edit: read the commands from a file instead of stdin", File::read);
    options.value("--baseline", "LIB.so:FUNCTION", a_.baseline,
                  "bench: a C function with one pointer for each parameter, in the order of the program");
    options.value("--name", "NAME", a_.name, "export: begins all external names and file names (default kernel)");
    options.value("--format", "FORMAT", a_.format, "export: c (default), or object, machine code for --cpu")
        .choices({"c", "object"});
    options.value(
        "-o", "OUT", a_.output,
        "compile: the bundle, OUT.dvt; tune: the best schedule, a file; export: a folder, which is new, empty "
        "or of an earlier export; mlir: the module (default: stdout)",
        File::written);
    options
        .value("--mlir-dialects", "NAMES", a_.mlir_dialects,
               "mlir: affine (default): affine, scf, memref, arith, math, vector, cf and func; scf: these without "
               "affine and vector")
        .choices({"affine", "scf"});
    a_.limit.declare(options);
    options.json(a_.json);
    options.footer(
        "Example: dovetail kernel run examples/kernels/matmul.loops --size m=512 --target cpu --check\n"
        "Example: dovetail kernel print examples/kernels/matmul.loops --schedule examples/kernels/matmul_cpu.schedule "
        "--explain");
  }

  Result<Exit> run() override {
    const auto action = std::ranges::find(kKernelActions, a_.action, &KernelAction::name);
    if (action == kKernelActions.end())
      return bad_kernel_usage(a_.action, "it is not an action",
                              fmt::format("the actions are {}", fmt::join(action_names(), ", ")));
    DOVETAIL_TRY(check_options(*action));
    return action->run(a_);
  }

 private:
  static std::vector<std::string> action_names() {
    std::vector<std::string> names;
    for (const KernelAction& action : kKernelActions) names.emplace_back(action.name);
    return names;
  }
  static std::string actions_text() {
    std::string text;
    for (const KernelAction& action : kKernelActions)
      text += fmt::format("{}{}: {}", text.empty() ? "" : ";\n", action.name, action.summary);
    return text;
  }
  static std::vector<std::string> search_names() {
    std::vector<std::string> names;
    for (const tune::SearchRow& row : tune::searches()) names.emplace_back(row.name);
    return names;
  }

  // An option that the action does not use is an error.
  Result<void> check_options(const KernelAction& action) const {
    const std::array<std::pair<std::string_view, bool>, 18> given{{{"--target", !a_.targets.empty()},
                                                                   {"--engine", a_.engine.has_value()},
                                                                   {"--input", !a_.inputs.empty()},
                                                                   {"--seed", a_.seed.has_value()},
                                                                   {"--threads", a_.threads.has_value()},
                                                                   {"--repeat", a_.repeat.has_value()},
                                                                   {"--output-dir", a_.output_dir.has_value()},
                                                                   {"--check", a_.check},
                                                                   {"--trials", a_.trials.has_value()},
                                                                   {"--search", a_.search.has_value()},
                                                                   {"-x", a_.script.has_value()},
                                                                   {"--html", a_.html.has_value()},
                                                                   {"--baseline", a_.baseline.has_value()},
                                                                   {"--name", a_.name.has_value()},
                                                                   {"--format", a_.format.has_value()},
                                                                   {"--mlir-dialects", a_.mlir_dialects.has_value()},
                                                                   {"-o", a_.output.has_value()},
                                                                   {"--limit", !a_.limit.limits.empty()}}};
    for (const auto& [option, is_given] : given) {
      if (!is_given || takes(action, option)) continue;
      std::vector<std::string> others;
      for (const KernelAction& other : kKernelActions)
        if (takes(other, option)) others.push_back(fmt::format("kernel {}", other.name));
      return bad_kernel_usage(std::string(option), fmt::format("`kernel {}` does not use it", action.name),
                              fmt::format("remove it, or use {}", fmt::join(others, ", ")));
    }
    return {};
  }
  static bool takes(const KernelAction& action, std::string_view option) {
    for (const auto word : std::views::split(action.options, ' '))
      if (std::string_view(word.begin(), word.end()) == option) return true;
    return false;
  }

  KernelArguments a_;
};

}  // namespace

std::unique_ptr<Command> make_kernel() { return std::make_unique<Kernel>(); }

}  // namespace dovetail::cli
