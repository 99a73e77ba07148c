#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/commands/all.h"
#include "cli/report/latency_text.h"
#include "cli/report/page.h"
#include "cli/report/text.h"
#include "cli/report/timing_text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "driver/latency.h"
#include "driver/timed_program.h"
#include "isa/verify/token_use.h"
#include "simulator/trace/diff.h"
#include "simulator/trace/page.h"
#include "simulator/trace/trace.h"
#include "simulator/trace/traced_program.h"

namespace dovetail::cli {

namespace {

// One side of a comparison. `programs`: nullopt if the file does not hold them.
struct Side {
  std::string path;
  simulator::Trace trace;
  std::optional<std::vector<simulator::TracedProgram>> programs;
};

Result<Side> read_side(const std::string& path) {
  DOVETAIL_ASSIGN(const Json json, read_json_file(path));
  DOVETAIL_ASSIGN(simulator::Trace trace, simulator::trace_from_json(json, path));
  Side side{path, std::move(trace), std::nullopt};
  if (json.contains("programs")) {
    DOVETAIL_ASSIGN(side.programs, simulator::traced_programs_from_json(json["programs"], side.trace, path));
  }
  return side;
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
        return Diagnostic{"bad usage of `dovetail trace diff`", "", "it compares two traces",
                          "write dovetail trace diff A.json B.json"};
      if (html_)
        return Diagnostic{"bad usage of `dovetail trace diff`", "--html", "a page shows one trace",
                          "write dovetail trace T.json --html PAGE.html"};
      return diff();
    }
    if (!second_.empty())
      return Diagnostic{"bad usage of `dovetail trace`", second_, "a summary has one trace",
                        "write dovetail trace diff A.json B.json to compare two"};
    return sum_up();
  }

 private:
  Result<Exit> sum_up() {
    DOVETAIL_ASSIGN(const Json json, read_json_file(first_));
    DOVETAIL_ASSIGN(const simulator::Trace trace, simulator::trace_from_json(json, first_));
    if (html_) {
      DOVETAIL_ASSIGN(const std::string page, trace_page(json, trace, first_));
      DOVETAIL_TRY(write_result_text(*html_, page));
    }
    std::uint64_t cycles = 0, instructions = 0;
    std::array<std::array<std::uint64_t, simulator::kUnitClassNames.size()>, 3> classes{};
    std::array<simulator::MemorySplit, 3> waits;
    simulator::FetchTime fetch;
    simulator::Counters counters;
    bool knows_waits = true, knows_counters = true;
    for (const simulator::LaunchTrace& launch : trace.launches) {
      cycles += launch.cycles;
      instructions += launch.events.size();
      for (std::size_t u = 0; u < classes.size(); ++u)
        for (std::size_t c = 0; c < classes[u].size(); ++c) classes[u][c] += launch.classes[u][c];
      knows_counters &= launch.counters.has_value();
      if (launch.counters) counters += *launch.counters;
      knows_waits &= launch.waits.has_value();
      if (!launch.waits) continue;
      for (std::size_t u = 0; u < waits.size(); ++u) waits[u] += launch.waits->units[u];
      fetch += launch.waits->fetch;
    }
    DOVETAIL_ASSIGN(const simulator::RunTime time, run_time(json));
    print("trace         {}: {} launch{}, {} instructions, {}\n{}\n{}", first_, trace.launches.size(),
          trace.launches.size() == 1 ? "" : "es", with_separators(instructions),
          time.clock_mhz ? cycles_text(cycles, *time.clock_mhz) : with_separators(cycles) + " cycles",
          latency_line(cycles, time), unit_table(classes, cycles));
    if (knows_waits) print("\n{}", wait_table(waits, fetch, cycles));
    if (knows_counters) print("\n{}", counters_text(counters));
    if (const std::string layers = layer_table(trace); !layers.empty()) print("\n{}", layers);
    if (!json_) return Exit::success;
    Json units, of_waits;
    for (const isa::Queue unit : {isa::Queue::load, isa::Queue::compute, isa::Queue::store}) {
      const std::string name(isa::name(unit));
      for (std::size_t c = 0; c < simulator::kUnitClassNames.size(); ++c)
        units[name][std::string(simulator::kUnitClassNames[c])] = classes[isa::index(unit)][c];
      if (knows_waits) of_waits[name] = simulator::to_json(waits[isa::index(unit)]);
    }
    if (knows_waits) of_waits["fetch"] = simulator::to_json(fetch);
    print_json({{"kind", "trace"},
                {"file", first_},
                {"launches", trace.launches.size()},
                {"instructions", instructions},
                {"cycles", cycles},
                {"clock_mhz", time.clock_mhz ? Json(*time.clock_mhz) : Json(nullptr)},
                {"units", units},
                {"waits", of_waits},
                {"counters", knows_counters ? to_json(counters) : Json(nullptr)}});
    return Exit::success;
  }

  Result<simulator::RunTime> run_time(const Json& json) const {
    return simulator::run_time_from_json(json.contains("time") ? json["time"] : Json(nullptr), first_);
  }

  // The latency of a model's run, including the steps that ran on other targets.
  static std::string latency_line(std::uint64_t cycles, const simulator::RunTime& time) {
    if (!time.clock_mhz || !time.other_ms) return {};
    const double seconds = static_cast<double>(cycles) / (*time.clock_mhz * 1e6) + *time.other_ms * 1e-3;
    return fmt::format("latency       {}, {} inferences a second, {} of it in other steps\n",
                       milliseconds_text(seconds), rate_text(seconds), milliseconds_text(*time.other_ms * 1e-3));
  }

  Result<Exit> diff() {
    DOVETAIL_ASSIGN(const Side one, read_side(second_));
    DOVETAIL_ASSIGN(const Side other, read_side(third_));
    const simulator::Trace &a = one.trace, &b = other.trace;
    DOVETAIL_ASSIGN(const std::int64_t around, parse_count("--around", around_, 0, 1000));
    Json json{{"kind", "trace-diff"}, {"a", second_}, {"b", third_}, {"equal", false}};
    const bool same_instructions = compare_instructions(one, other, json);
    const auto difference = simulator::first_difference(a, b);
    json["cycles"] = difference_json(difference, a);
    json["equal"] = same_instructions && !difference;
    if (json_) print_json(json);
    if (!difference) {
      std::size_t events = 0;
      for (const simulator::LaunchTrace& launch : a.launches) events += launch.events.size();
      print("equal         {} instructions in {} launch{}, to the cycle\n", with_separators(events), a.launches.size(),
            a.launches.size() == 1 ? "" : "es");
      return same_instructions ? Exit::success : Exit::failed;
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

  static Json difference_json(const std::optional<simulator::TraceDifference>& difference, const simulator::Trace& a) {
    if (!difference) return nullptr;
    Json json{{"launch", difference->launch}, {"instruction", nullptr}, {"what", difference->what}};
    if (difference->event) json["instruction"] = a.launches[difference->launch].events[*difference->event].instruction;
    return json;
  }

  // Compares instructions, since equal times do not imply equal addresses. False: the instructions differ.
  static bool compare_instructions(const Side& a, const Side& b, Json& json) {
    json["instructions_compared"] = a.programs && b.programs;
    json["instructions"] = nullptr;
    for (const Side* side : {&a, &b})
      if (!side->programs) {
        print("instructions  not compared, addresses and sizes included: {} does not hold its program\n", side->path);
        return true;
      }
    const auto difference = simulator::first_other_instruction(a.trace, *a.programs, b.trace, *b.programs);
    json["instructions"] = difference_json(difference, a.trace);
    if (!difference) {
      print("instructions  equal in all fields, addresses included\n");
      return true;
    }
    print("instructions  launch {}, instruction {}: {}\n", difference->launch,
          a.trace.launches[difference->launch].events[*difference->event].instruction, difference->what);
    return false;
  }

  std::string first_, second_, third_, around_ = "3";
  std::optional<std::string> html_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_trace() { return std::make_unique<Trace>(); }

}  // namespace dovetail::cli
