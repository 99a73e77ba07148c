#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/commands/all.h"
#include "cli/report/latency_text.h"
#include "cli/report/page.h"
#include "cli/report/text.h"
#include "cli/report/timing_text.h"
#include "cli/report/trace_report.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "simulator/trace/diff.h"
#include "simulator/trace/page.h"

namespace dovetail::cli {

namespace {

Result<TraceFile> read_trace(const std::string& path) {
  DOVETAIL_ASSIGN(const Json json, read_json_file(path));
  return trace_file_of(json, path);
}

class Trace : public Command {
 public:
  void declare(Options& options) override {
    options.positional("T.json|diff", first_, "a trace written with --trace, or the word diff", Need::required,
                       File::read);
    options.positional("A.json", second_, "with diff: the trace that counts as right", Need::optional, File::read);
    options.positional("B.json", third_, "with diff: the trace to compare with it", Need::optional, File::read);
    options.value("--around", "N", around_,
                  "with diff: instructions of each unit to show before and after (default 3)");
    options.value("--html", "PAGE.html", html_, "without diff: write the trace as a page for a browser",
                  File::written_text);
    options.json(json_);
    options.footer(
        "`trace T.json` summarizes what each unit did in its cycles. `trace diff A.json B.json` compares the "
        "programs field by field,\n"
        "addresses included, and names the first instruction that differs in time, with what happened around it in "
        "both;\n"
        "its exit code is 1 if there is a difference. The file opens in ui.perfetto.dev, a "
        "microsecond for a cycle.\n"
        "Example: dovetail trace diff expected.json t.json");
  }

  Result<Exit> run() override {
    if (first_ == "diff") {
      if (second_.empty() || third_.empty())
        return Diagnostic{"bad usage of `dovetail trace diff`", "", "the command compares two traces",
                          "write dovetail trace diff A.json B.json"};
      if (html_)
        return Diagnostic{"bad usage of `dovetail trace diff`", "--html", "a page shows one trace",
                          "write dovetail trace T.json --html PAGE.html"};
      return diff();
    }
    if (!second_.empty())
      return Diagnostic{"bad usage of `dovetail trace`", second_, "a summary is of one trace",
                        "write dovetail trace diff A.json B.json to compare two"};
    return show_summary();
  }

 private:
  Result<Exit> show_summary() {
    DOVETAIL_ASSIGN(const Json json, read_json_file(first_));
    DOVETAIL_ASSIGN(const TraceFile file, trace_file_of(json, first_));
    if (html_) {
      DOVETAIL_ASSIGN(const std::string page, trace_page(json, file.trace, first_));
      DOVETAIL_TRY(write_result_text(*html_, page));
    }
    const TraceSummary sum = sum_up(file.trace);
    const std::size_t launches = file.trace.launches.size();
    print("trace         {}: {} launch{}, {} instructions, {}\n{}\n{}", first_, launches, launches == 1 ? "" : "es",
          with_separators(sum.instructions),
          file.time.clock_mhz ? cycles_text(sum.cycles, *file.time.clock_mhz) : with_separators(sum.cycles) + " cycles",
          latency_line(sum.cycles, file.time), unit_table(sum.classes, sum.cycles));
    if (sum.waits) print("\n{}", wait_table(*sum.waits, sum.fetch, sum.cycles));
    if (sum.counters) print("\n{}", counters_text(*sum.counters));
    if (const std::string layers = layer_table(file.trace); !layers.empty()) print("\n{}", layers);
    if (json_) print_json(trace_json(file, sum));
    return Exit::success;
  }

  // The latency of a model's run, including the steps that ran on other targets.
  static std::string latency_line(std::uint64_t cycles, const simulator::RunTime& time) {
    if (!time.clock_mhz || !time.other_ms) return {};
    const double seconds = static_cast<double>(cycles) / (*time.clock_mhz * 1e6) + *time.other_ms * 1e-3;
    return fmt::format("latency       {}, {} inferences a second, {} of it in other steps\n",
                       milliseconds_text(seconds), rate_text(seconds), milliseconds_text(*time.other_ms * 1e-3));
  }

  Result<Exit> diff() {
    DOVETAIL_ASSIGN(const TraceFile one, read_trace(second_));
    DOVETAIL_ASSIGN(const TraceFile other, read_trace(third_));
    DOVETAIL_ASSIGN(const std::int64_t around, parse_count("--around", around_, 0, 1000));
    const simulator::Trace &a = one.trace, &b = other.trace;
    const TraceComparison found = compare_traces(one, other);
    print_instructions(one, other, found);
    if (json_) print_json(trace_diff_json(one, other, found));
    const auto& difference = found.cycles;
    if (!difference) {
      std::size_t events = 0;
      for (const simulator::LaunchTrace& launch : a.launches) events += launch.events.size();
      print("equal         {} instructions in {} launch{}, to the cycle\n", with_separators(events), a.launches.size(),
            a.launches.size() == 1 ? "" : "es");
      return found.equal() ? Exit::success : Exit::failed;
    }
    if (!difference->event) {
      print("different     launch {}: {}\n", difference->launch, difference->what);
      return Exit::failed;
    }
    const auto& event = a.launches[difference->launch].events[*difference->event];
    print("different     launch {}, instruction {}{}: {}\n\n", difference->launch, event.instruction,
          a.sources[event.source].empty() ? "" : fmt::format(" of {}", a.sources[event.source]), difference->what);
    print("in {}\n{}\nin {}\n{}", second_, simulator::neighborhood(a, *difference, static_cast<std::size_t>(around)),
          third_, simulator::neighborhood(b, *difference, static_cast<std::size_t>(around)));
    return Exit::failed;
  }

  static void print_instructions(const TraceFile& a, const TraceFile& b, const TraceComparison& found) {
    for (const TraceFile* file : {&a, &b})
      if (!file->programs) {
        print("instructions  not compared, addresses and sizes included: {} does not contain its program\n",
              file->name);
        return;
      }
    if (const auto& difference = found.instructions)
      print("instructions  launch {}, instruction {}: {}\n", difference->launch,
            a.trace.launches[difference->launch].events[*difference->event].instruction, difference->what);
    else print("instructions  equal in all fields, addresses included\n");
  }

  std::string first_, second_, third_, around_ = "3";
  std::optional<std::string> html_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_trace() { return std::make_unique<Trace>(); }

}  // namespace dovetail::cli
