#include "cli/commands/kernel/arguments.h"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "cli/report/text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/progress.h"
#include "compiler/schedule/schedule.h"
#include "driver/kernels/loop_tree.h"
#include "driver/loop_counts.h"
#include "driver/targets.h"
#include "loops/parse.h"

namespace dovetail::cli {

namespace {

// The targets of loop programs.
constexpr std::array<std::string_view, 5> kKernelTargets{driver::kInterpreterTarget, "cpu", "accel", "host", "cuda"};

}  // namespace

Diagnostic bad_kernel_usage(std::string where, std::string why, std::string hint) {
  return {"bad usage of `dovetail kernel`", std::move(where), std::move(why), std::move(hint)};
}

std::vector<std::string> KernelArguments::all_targets() const {
  std::vector<std::string> all;
  for (const std::string& list : targets)
    for (const auto part : std::views::split(std::string_view(list), ',')) all.emplace_back(part.begin(), part.end());
  return all;
}

Result<std::string> KernelArguments::target(std::string_view absent) const {
  const std::vector<std::string> all = all_targets();
  for (const std::string& each : all)
    if (std::ranges::find(kKernelTargets, each) == kKernelTargets.end())
      return Diagnostic{"unknown target of loop programs", each, "there is no such target",
                        fmt::format("the targets are {}", fmt::join(kKernelTargets, ", "))};
  if (all.size() > 1)
    return bad_kernel_usage("--target", fmt::format("`kernel {}` has one target", action),
                            "give one, or use kernel compare");
  if (all.empty() && absent.empty()) return bad_kernel_usage("--target", "it is missing", "give cpu, accel or host");
  return all.empty() ? std::string(absent) : all.front();
}

Result<driver::LoopProgram> KernelArguments::program() const {
  DOVETAIL_ASSIGN(const auto texts, parse_assignments("--size", sizes));
  loops::Sizes given;
  for (const auto& [size, text] : texts) {
    DOVETAIL_ASSIGN(given[size], parse_count("--size", text, 0, std::int64_t{1} << 40));
  }
  DOVETAIL_ASSIGN(const std::string text, read_text_file(file));
  driver::LoopMachines machines{.hardware = hardware};
  if (cpu) machines.cpu = *cpu;
  return driver::LoopProgram::parse(text, file, machines, given);
}

Result<std::vector<schedule::Step>> KernelArguments::steps(std::string_view target) const {
  std::optional<std::string> own, common;
  for (const std::string& each : schedules) {
    const std::size_t at = each.find('=');
    const std::string_view before = std::string_view(each).substr(0, at == each.npos ? 0 : at);
    const bool named = std::ranges::find(kKernelTargets, before) != kKernelTargets.end();
    if (named && !target.empty() && before != target) {
      if (action == "compare") continue;
      return bad_kernel_usage("--schedule " + each, fmt::format("nothing runs on {}", before),
                              fmt::format("remove it, or add --target {}", before));
    }
    std::optional<std::string>& file_of = named ? own : common;
    if (file_of) return bad_kernel_usage("--schedule", "two files are given for one target", "remove one");
    file_of = named ? each.substr(at + 1) : each;
  }
  if (!own && !common) return std::vector<schedule::Step>();
  const std::string& path = own ? *own : *common;
  DOVETAIL_ASSIGN(const std::string text, read_text_file(path));
  return schedule::parse_trace(text, path);
}

Result<driver::LoopProgram> KernelArguments::scheduled(const driver::LoopProgram& written,
                                                       const std::vector<schedule::Step>& steps) const {
  driver::LoopProgram program = written;
  if (explain && !steps.empty()) print("{}", effect_text(effect_of(nullptr, program), program));
  for (const schedule::Step& step : steps) {
    driver::LoopProgram after = program;
    if (const auto applied = after.apply(schedule::to_string(step)); !applied.ok()) {
      print_message("{}", rejection_text(program, step, applied.errors()));
      return applied.errors();
    }
    if (explain) print("{}", effect_text(effect_of(&program, after), after));
    program = std::move(after);
  }
  return program;
}

Result<driver::LoopProgram> KernelArguments::scheduled(std::string_view target) const {
  DOVETAIL_ASSIGN(const driver::LoopProgram written, program());
  DOVETAIL_ASSIGN(const std::vector<schedule::Step> trace, steps(target));
  return scheduled(written, trace);
}

Result<driver::RunInputs> KernelArguments::run_inputs(const driver::LoopProgram& program) const {
  DOVETAIL_ASSIGN(const auto files, parse_assignments("--input", inputs));
  DOVETAIL_ASSIGN(const std::uint64_t number, parse_address("--seed", seed.value_or("1")));
  return program.inputs(files, number);
}

Result<int> KernelArguments::thread_count(int absent) const {
  if (!threads) return absent;
  DOVETAIL_ASSIGN(const std::int64_t count, parse_count("--threads", *threads, 1, 1024));
  return static_cast<int>(count);
}

Result<std::int64_t> KernelArguments::repeats() const {
  return parse_count("--repeat", repeat.value_or("10"), 1, 100000);
}

Result<driver::RunnerOptions> KernelArguments::runner(Work* work) const {
  driver::RunnerOptions options{.engine = engine.value_or("cycle"), .work = work, .build_missing = print_progress};
  DOVETAIL_ASSIGN(options.threads, thread_count(0));
  return options;
}

Json KernelArguments::report(const driver::LoopProgram& program) const {
  return {{"kind", "kernel"},
          {"action", action},
          {"program", program.to_json()},
          {"counts", to_json(driver::count_loops(program.program()))}};
}

std::string effect_text(const driver::StepEffect& effect, const driver::LoopProgram& program) {
  const bool written = effect.step.empty();
  std::string text = fmt::format("{}\n  {}\n", written ? "as written" : effect.step,
                                 driver::counts_text(effect.after, written ? nullptr : &effect.before));
  if (!effect.now_legal.empty())
    text += fmt::format("  {}: {}\n", written ? "legal" : "now legal", fmt::join(effect.now_legal, ", "));
  return text + driver::loop_tree(program.program()) + "\n";
}

std::string rejection_text(const driver::LoopProgram& program, const schedule::Step& step,
                           const Diagnostics& rejection) {
  return "the loops before the step:\n" +
         driver::loop_tree(program.program(), driver::marks_of(program.program(), step, rejection));
}

std::string program_text(const driver::LoopProgram& program) {
  const Json facts = program.to_json();
  return fmt::format("{}: {} loops, {} blocks, {} steps of a schedule", facts["name"].get<std::string>(),
                     facts["loops"].size(), facts["blocks"].size(), program.schedule().trace().size());
}

}  // namespace dovetail::cli
