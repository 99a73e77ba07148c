#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text_table.h"
#include "cli/commands/kernel/actions.h"
#include "cli/report/text.h"
#include "cli/shell/output.h"
#include "cli/shell/prompt.h"
#include "cli/shell/standard_streams.h"
#include "compiler/schedule/schedule.h"
#include "driver/comparison.h"
#include "driver/kernels/editor.h"
#include "driver/kernels/loop_tree.h"
#include "driver/loop_counts.h"
#include "driver/value_text.h"
#include "loops/print.h"

namespace dovetail::cli {

namespace {

constexpr std::string_view kPrompt = "(kernel) ";

constexpr std::string_view kHelp =
    "  STEP          any step of a schedule, for example `split y.i 16 -> io ii`: applied if it is legal\n"
    "  suggest NAME  the steps that are legal at a loop, a block or a buffer, with what they would change\n"
    "  show [NAME]   the loops, or those below a loop, with the memory that one iteration accesses; `show program`: "
    "the "
    "text\n"
    "  undo, redo    takes the last step back, and applies it again\n"
    "  explain       the steps so far with what each did\n"
    "  time          runs the program on the processor, or with --target on another one\n"
    "  cycles        counts the cycles of the accelerator\n"
    "  save FILE     writes the steps as a schedule for --schedule\n"
    "  help, quit\n";

class KernelEditing {
 public:
  KernelEditing(const KernelArguments& arguments, driver::LoopEditor editor, Work* work)
      : arguments_(arguments), editor_(std::move(editor)), work_(work) {}

  // Error: the line is not understood. A step that is rejected is an answer.
  Result<void> command(const std::string& line) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == line.npos || line[begin] == '#') return {};
    const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    const std::string word = line.substr(begin, end - begin);
    const std::size_t rest_begin = line.find_first_not_of(" \t", end);
    std::string rest = rest_begin == line.npos ? "" : line.substr(rest_begin);
    rest.erase(rest.find_last_not_of(" \t\r") + 1);
    struct Row {
      std::string_view name;
      Result<void> (KernelEditing::*run)(const std::string& rest);
    };
    constexpr std::array<Row, 10> kRows{{{"suggest", &KernelEditing::suggest},
                                         {"show", &KernelEditing::show},
                                         {"undo", &KernelEditing::undo},
                                         {"redo", &KernelEditing::redo},
                                         {"explain", &KernelEditing::explain},
                                         {"time", &KernelEditing::time},
                                         {"cycles", &KernelEditing::cycles},
                                         {"save", &KernelEditing::save},
                                         {"help", &KernelEditing::help},
                                         {"quit", &KernelEditing::quit}}};
    if (const auto row = std::ranges::find(kRows, word, &Row::name); row != kRows.end()) return (this->*row->run)(rest);
    if (schedule::find_primitive(word) != nullptr) return apply(line);
    return Diagnostic{"unknown command", word, "it is neither a command nor a step",
                      "help lists the commands; a step begins with a primitive, for example split"};
  }

  bool has_quit() const { return has_quit_; }

 private:
  const driver::LoopProgram& program() const { return editor_.program(); }

  Result<void> apply(const std::string& line) {
    const auto effect = editor_.apply(line);
    if (!effect.ok()) {
      for (const Diagnostic& problem : effect.errors()) print("{}\n", to_string(problem, "rejected"));
      if (const auto trace = schedule::parse_trace(line, "step"); trace.ok() && trace->size() == 1)
        print("{}", driver::loop_tree(program().program(),
                                      driver::marks_of(program().program(), trace->front(), effect.errors())));
      return {};
    }
    print("{}\n", effect->step);
    const std::string changes = driver::changes_text(effect->before, effect->after);
    print("  {}\n", changes.empty() ? "the same counts" : changes);
    if (!effect->now_legal.empty()) print("  now legal: {}\n", fmt::format("{}", fmt::join(effect->now_legal, ", ")));
    if (!effect->no_longer_legal.empty())
      print("  no longer legal: {}\n", fmt::format("{}", fmt::join(effect->no_longer_legal, ", ")));
    return {};
  }

  Result<void> suggest(const std::string& name) {
    if (name.empty())
      return Diagnostic{"cannot suggest steps", "suggest", "no loop is named", "write suggest LOOP; show lists them"};
    DOVETAIL_ASSIGN(const auto suggestions, driver::suggest(program(), name));
    const driver::LoopCounts now = driver::count_loops(program().program());
    TextTable table({"step", "would change"});
    for (const driver::Suggestion& each : suggestions) {
      const std::string changes = driver::changes_text(now, each.counts);
      table.add({each.step, changes.empty() ? "the same counts" : changes});
    }
    if (table.empty()) print("no step of the table of primitives is legal at {}\n", name);
    else print("{}", table.to_string());
    return {};
  }

  Result<void> show(const std::string& name) {
    if (name == "program") {
      print("{}", loops::to_string(program().program()));
      return {};
    }
    if (!name.empty()) {
      const driver::Named kind = driver::named(program().program(), name);
      if (kind != driver::Named::loop && kind != driver::Named::block)
        return Diagnostic{"cannot show", name, "the program has no loop or block of this name", "show lists them all"};
    }
    print("  {}\n{}", driver::counts_text(driver::count_loops(program().program())),
          driver::loop_tree(program().program(), {}, name));
    return {};
  }

  Result<void> undo(const std::string& rest) {
    if (!rest.empty()) return Diagnostic{"cannot undo", rest, "undo takes one step back", "repeat undo"};
    if (!editor_.undo()) print("no step is left to take back\n");
    else print("{} steps\n", program().schedule().trace().size());
    return {};
  }
  Result<void> redo(const std::string& rest) {
    if (!rest.empty()) return Diagnostic{"cannot redo", rest, "redo applies one step again", "repeat redo"};
    if (!editor_.redo()) print("no step is left to apply again\n");
    else print("{}\n", schedule::to_string(program().schedule().trace().back()));
    return {};
  }

  Result<void> explain(const std::string& /*rest*/) {
    const auto effects = editor_.effects();
    for (const driver::StepEffect& effect : effects)
      print("{}\n  {}\n", effect.step, driver::counts_text(effect.after, &effect.before));
    if (effects.empty()) print("no steps yet\n");
    return {};
  }

  // The median of a few runs.
  Result<void> time(const std::string& /*rest*/) {
    DOVETAIL_ASSIGN(const std::string target, arguments_.target("cpu"));
    return measure(target);
  }
  Result<void> cycles(const std::string& /*rest*/) { return measure("accel"); }

  Result<void> measure(const std::string& target) {
    constexpr int kRuns = 5;
    if (const auto measured = try_measure(target, kRuns); !measured.ok())
      for (const Diagnostic& problem : measured.errors()) print("{}\n", to_string(problem, "rejected"));
    return {};
  }
  Result<void> try_measure(const std::string& target, int runs) {
    DOVETAIL_ASSIGN(const driver::RunInputs inputs, arguments_.run_inputs(program()));
    DOVETAIL_ASSIGN(const driver::RunnerOptions options, arguments_.runner(work_));
    DOVETAIL_ASSIGN(driver::LoopRunner runner, driver::LoopRunner::make(program(), target, options));
    DOVETAIL_ASSIGN(driver::LoopRunner::Ran ran, runner.run(inputs.tensors));
    const double operations = driver::known_operations(program().written());
    if (ran.cycles) {
      print("{} cycles with engine {}: {:.1f} operations a cycle\n", with_separators(*ran.cycles), options.engine,
            operations / static_cast<double>(*ran.cycles));
      return {};
    }
    std::vector<double> seconds{ran.seconds};
    for (int i = 0; target == "cpu" && i < runs; ++i) {
      DOVETAIL_ASSIGN(ran, runner.run(inputs.tensors));
      if (i == 0) seconds.clear();  // the first run warmed up
      seconds.push_back(ran.seconds);
    }
    const double median = driver::spread_of(seconds).median;
    print("{}{} on {}\n", driver::seconds_text(median), driver::rate_text(operations, median), target);
    return {};
  }

  Result<void> save(const std::string& path) {
    if (path.empty()) return Diagnostic{"cannot save", "save", "no file is named", "write save FILE"};
    DOVETAIL_TRY(write_result_text(path, schedule::to_string(program().schedule().trace())));
    print("{}: {} steps\n", path, program().schedule().trace().size());
    return {};
  }

  Result<void> help(const std::string& /*rest*/) {
    print("{}", kHelp);
    return {};
  }
  Result<void> quit(const std::string& /*rest*/) {
    has_quit_ = true;
    return {};
  }

  const KernelArguments& arguments_;
  driver::LoopEditor editor_;
  Work* work_;
  bool has_quit_ = false;
};

}  // namespace

Result<Exit> kernel_edit(const KernelArguments& arguments) {
  if (arguments.json)
    return bad_kernel_usage("--json", "the answers of a prompt are text", "use kernel print --json for the program");
  DOVETAIL_ASSIGN(const std::string target, arguments.target("cpu"));
  DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(arguments.limit.limits));
  DOVETAIL_ASSIGN(const driver::LoopProgram program, arguments.scheduled(target));
  WatchedWork watched(limit);
  DOVETAIL_ASSIGN(Prompt prompt, Prompt::open(arguments.script, kPrompt));
  KernelEditing editing(arguments, driver::LoopEditor(program), watched.work());
  bool understood = true;
  if (prompt.is_terminal()) print("{}\n`help` lists the commands\n", program_text(program));
  while (!editing.has_quit()) {
    const auto line = prompt.next();
    if (!line) break;
    if (!prompt.is_terminal()) print("{}{}\n", kPrompt, *line);
    if (const auto done = editing.command(*line); !done.ok()) {
      Diagnostics errors = done.errors();
      if (!prompt.is_terminal())
        for (Diagnostic& error : errors) error.where = fmt::format("{}: {}", prompt.place(), error.where);
      fail(Exit::bad_input, errors);
      understood = false;
    }
  }
  return understood || prompt.is_terminal() ? Exit::success : Exit::bad_input;
}

}  // namespace dovetail::cli
