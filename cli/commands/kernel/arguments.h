// What the actions of `dovetail kernel` have in common: the words of the command line, the program with its schedule,
// and the reports about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/shell/command.h"
#include "cli/shell/watched_work.h"
#include "compiler/schedule/step.h"
#include "driver/kernels/legal_steps.h"
#include "driver/kernels/runner.h"
#include "driver/loop_program.h"

namespace dovetail::cli {

// As typed; absent options have no value.
struct KernelArguments {
  std::string action, file;
  std::vector<std::string> sizes, schedules, targets, inputs;
  std::optional<std::string> hardware, cpu, engine, seed, threads, repeat, output_dir, output, trials, search, name,
      format, baseline, script, html, mlir_dialects;
  LimitArguments limit;
  bool explain = false, check = false, json = false;

  // Error: none of several targets, or several where the action takes one. `absent`: without --target; empty: it is
  // required.
  Result<std::string> target(std::string_view absent) const;
  std::vector<std::string> all_targets() const;  // of --target A,B and repeated ones

  Result<driver::LoopProgram> program() const;  // without its schedule
  // The steps for a target: of `--schedule TARGET=FILE`, else of `--schedule FILE`; none without either.
  Result<std::vector<schedule::Step>> steps(std::string_view target) const;
  // The program after these steps. With --explain, prints each of them with what it did. For a step that is rejected
  // prints the loops with the place.
  Result<driver::LoopProgram> scheduled(const driver::LoopProgram& written,
                                        const std::vector<schedule::Step>& steps) const;
  // Both: the program after the schedule of its target.
  Result<driver::LoopProgram> scheduled(std::string_view target) const;

  Result<driver::RunInputs> run_inputs(const driver::LoopProgram& program) const;
  Result<driver::RunnerOptions> runner(Work* work) const;
  Result<std::int64_t> repeats() const;
  Result<int> thread_count(int absent) const;

  // {"kind", "action", "program", "counts"}, to which actions add.
  Json report(const driver::LoopProgram& program) const;
};

Diagnostic bad_kernel_usage(std::string where, std::string why, std::string hint);

// A step, what the program does after it, what became legal, and its loops.
std::string effect_text(const driver::StepEffect& effect, const driver::LoopProgram& program);
// The loops of the program that rejected the step, with the places that it and the diagnostics name.
std::string rejection_text(const driver::LoopProgram& program, const schedule::Step& step,
                           const Diagnostics& rejection);
// "matmul: 2 loops, 1 blocks, 7 steps of a schedule"
std::string program_text(const driver::LoopProgram& program);

}  // namespace dovetail::cli
