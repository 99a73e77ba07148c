#include "cli/report/run_report.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "base/text_table.h"
#include "bundle/code/program_summary.h"
#include "bundle/code/target_facts.h"
#include "cli/report/compile_report.h"
#include "cli/report/divided_text.h"
#include "cli/report/energy_text.h"
#include "cli/report/expectation_text.h"
#include "cli/report/latency_text.h"
#include "cli/report/system_text.h"
#include "cli/report/text.h"
#include "cli/report/timing_text.h"
#include "cli/report/work_shares_text.h"
#include "driver/compile_model.h"
#include "driver/latency.h"
#include "driver/value_text.h"
#include "driver/work_shares.h"

namespace dovetail::cli {

namespace {

std::uint64_t total(const auto& array) { return std::accumulate(array.begin(), array.end(), std::uint64_t{0}); }

// Statistics of the latencies of several runs, in seconds.
struct Repeated {
  double least = 0, median = 0, most = 0;
};
Repeated repeated_of(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const std::size_t n = seconds.size();
  return {seconds.front(), (seconds[(n - 1) / 2] + seconds[n / 2]) / 2, seconds.back()};
}
std::string repeated_text(const std::vector<double>& seconds) {
  if (seconds.size() < 2) return {};
  const Repeated repeated = repeated_of(seconds);
  return fmt::format("repeated      {} runs: latency at least {}, median {}, at most {}\n", seconds.size(),
                     milliseconds_text(repeated.least), milliseconds_text(repeated.median),
                     milliseconds_text(repeated.most));
}
Json repeated_json(const std::vector<double>& seconds) {
  if (seconds.size() < 2) return nullptr;
  const Repeated repeated = repeated_of(seconds);
  return {{"runs", seconds.size()},
          {"least_ms", repeated.least * 1e3},
          {"median_ms", repeated.median * 1e3},
          {"most_ms", repeated.most * 1e3}};
}

std::optional<driver::LeftAccelerator> left_of(const driver::CompiledModel& model) {
  return driver::left_accelerator(model.compiled.placement, model.compiled.summary, model.targets);
}

std::string check_text(const explore::ReferenceCheck& check, Amount amount) {
  std::string verdict = fmt::format("{} differ", check.different);
  if (check.different == 0) verdict = "all equal";
  if (check.different == 0 && check.float_tolerance > 0)
    verdict += fmt::format(" (floats to {:g} of a tensor's largest{}{})", check.float_tolerance,
                           check.half_tolerance > 0 ? fmt::format(", halves to {:g}", check.half_tolerance) : "",
                           check.stepped > 0
                               ? fmt::format("; {} elements, rounded from such floats, differ by one quantization step",
                                             with_separators(static_cast<std::uint64_t>(check.stepped)))
                               : "");
  const std::string tensors = fmt::format("{} of {} tensors", check.compared, check.graph_tensors),
                    elements = with_separators(check.elements);
  if (amount == Amount::summary) return entry("check", fmt::format("{}, {} elements: {}", tensors, elements, verdict));
  const std::string rest = check.compared < check.graph_tensors ? " (the others stay inside kernels)" : "";
  return fmt::format(
      "check         {} of the integer graph{}, {} elements, compared with its evaluation node by node: {}\n", tensors,
      rest, elements, verdict);
}

// The first of many lines.
std::string first_lines(std::string_view name, const std::vector<std::string>& texts) {
  constexpr std::size_t kMost = 3;
  std::string lines;
  for (std::size_t i = 0; i < texts.size() && (i < kMost || texts.size() == kMost + 1); ++i)
    lines += entry(name, texts[i]);
  if (texts.size() > kMost + 1) lines += entry("", fmt::format("and {} more", texts.size() - kMost));
  return lines;
}

// Options that show more about the run.
std::string next_text(const RunFacts& facts, const driver::Latency& latency) {
  std::string next = "--details has steps, counters and stalls";
  if (!facts.check && !facts.session.is_bundle()) next = "--check compares with the reference; " + next;
  if (!latency.complete) next = "--engine cycle counts cycles; " + next;
  else if (!facts.timed.empty()) next += "; `dovetail profile` compares other hardware";
  return entry("next", next);
}

std::string run_summary(const RunFacts& facts) {
  const driver::SessionOptions& options = facts.session.options();
  const driver::System& system = facts.session.system();
  const std::vector<driver::StepTime> times = step_times(facts.run, system);
  const driver::Latency latency = latency_of(times);
  std::string text = entry("ran", fmt::format("{} with engine {}", options.model.title(), options.engine));
  text += first_lines("input", facts.inputs);
  if (facts.runs > 1)
    text += entry("samples", fmt::format("{} in {} runs; times are those of the first",
                                         with_separators(static_cast<std::uint64_t>(facts.samples)),
                                         with_separators(static_cast<std::uint64_t>(facts.runs))));
  if (facts.check) text += check_text(*facts.check, Amount::summary);
  if (facts.expectation) text += expectation_text(*facts.expectation, Amount::summary);
  std::vector<std::string> outputs;
  for (const auto& [name, array] : facts.outputs)
    outputs.push_back(fmt::format("{}: {}: {}", name, driver::type_text(array.dtype(), array.shape()), preview(array)));
  text += first_lines("output", outputs);
  text += latency_text(latency, system, facts.latencies.size() > 1 ? "in the last run" : "measured once");
  text += repeated_text(facts.latencies);
  if (const driver::CompiledModel* const model = facts.session.model())
    text += work_summary(*model, time_shares(times));
  text += timing_summary(facts.timed, system);
  if (facts.energy) text += energy_summary(*facts.energy);
  return text + next_text(facts, latency);
}

std::string run_details(const RunFacts& facts) {
  std::string text = fmt::format("ran           {} with engine {}\n", facts.session.options().model.title(),
                                 facts.session.options().engine);
  for (const std::string& input : facts.inputs) text += fmt::format("input         {}\n", input);
  if (facts.runs > 1)
    text += fmt::format("samples       {} in {} runs; steps and times below are those of the first\n",
                        with_separators(static_cast<std::uint64_t>(facts.samples)),
                        with_separators(static_cast<std::uint64_t>(facts.runs)));
  const std::vector<driver::StepTime> times = step_times(facts.run, facts.session.system());
  const driver::Latency latency = latency_of(times);
  if (latency.regions > 0 && latency.complete) text += system_text(facts.session.system());
  if (facts.session.model() != nullptr)
    text += host_text(facts.session.model()->compiled.placement, facts.session.model()->compiled.summary,
                      time_shares(times)) +
            macs_text(facts.session.model()->compiled.summary) + left_text(left_of(*facts.session.model()));
  text += time_shares_text(times);
  TextTable table(
      {"step", "target", ">cycles", ">time", ">simulated in", ">instructions", ">loaded", ">stored", ">MACs"});
  const auto inner = driver::inner_steps(facts.run.steps);
  for (std::size_t s = 0; s < times.size(); ++s) {
    const driver::StepTime& time = times[s];
    const std::size_t outer = facts.run.steps.size();
    const simulator::Counters& counters = (s < outer ? facts.run.steps[s] : *inner[s - outer]).counters;
    const bool accel = time.simulating.has_value();
    const auto cell = [&](std::string filled) { return accel ? filled : std::string("-"); };
    table.add({time.name, time.target, time.cycles ? with_separators(*time.cycles) : "-",
               accel && !time.cycles ? "-" : driver::seconds_text(time.seconds),
               cell(driver::seconds_text(time.simulating.value_or(0))),
               cell(with_separators(total(counters.instructions))),
               cell(driver::bytes_text(total(counters.bytes_loaded))), cell(driver::bytes_text(counters.bytes_stored)),
               cell(with_separators(counters.macs))});
  }
  text += fmt::format("\n{}\n", table.to_string());
  text +=
      latency_text(latency, facts.session.system(),
                   facts.latencies.size() > 1 ? fmt::format("measured in the last of {} runs", facts.latencies.size())
                                              : "measured once");
  text += repeated_text(facts.latencies);
  if (facts.all_tensors && latency.complete && latency.regions > 0)
    text +=
        "note          operations are not fused, so that every tensor is stored: the latency is higher than without "
        "that\n";
  if (const auto summary = bundle::summarize(facts.session.program()); summary.instructions > 0)
    text += program_text(summary) + counters_text(facts.run.counters) + divided_text(facts.session.program());
  if (facts.energy) text += energy_text(*facts.energy);
  for (const driver::TimedProgram& program : facts.timed) {
    if (facts.timed.size() > 1) text += fmt::format("\nstep          {}\n", program.name);
    text += timing_text(program, facts.session.system());
  }
  if (facts.check) text += check_text(*facts.check, Amount::details);
  if (facts.expectation) text += expectation_text(*facts.expectation, Amount::details);
  for (const auto& [name, array] : facts.outputs)
    text += fmt::format("output        {}: {}: {}\n", name, driver::type_text(array.dtype(), array.shape()),
                        preview(array));
  return text;
}

}  // namespace

std::string run_text(const RunFacts& facts, Amount amount) {
  return amount == Amount::summary ? run_summary(facts) : run_details(facts);
}

Json run_json(const RunFacts& facts) {
  const std::vector<driver::StepTime> times = step_times(facts.run, facts.session.system());
  Json steps = Json::array(), outputs = Json::array();
  const auto add_step = [&](const runtime::StepProfile& step) {
    Json row{{"name", step.name}, {"target", step.target}, {"seconds", step.seconds}};
    add_time(row, times[steps.size()]);
    if (bundle::has_clock(step.target)) row["counters"] = to_json(step.counters);
    steps.push_back(std::move(row));
  };
  for (const runtime::StepProfile& step : facts.run.steps) add_step(step);
  for (const runtime::StepProfile* step : driver::inner_steps(facts.run.steps)) {
    add_step(*step);
    steps.back()["runs"] = step->runs;
  }
  for (const auto& [name, array] : facts.outputs)
    outputs.push_back({{"name", name}, {"dtype", dovetail::name(array.dtype())}, {"shape", array.shape()}});
  Json json{{"kind", "run"},
            {"file", facts.session.options().model.title()},
            {"engine", facts.session.options().engine},
            {"inputs", facts.inputs},
            {"system", system_json(facts.session.system())},
            {"latency", latency_json(latency_of(times), facts.session.system())},
            {"repeated", repeated_json(facts.latencies)},
            {"time_shares", time_shares(times)},
            {"mac_shares", facts.session.model() != nullptr
                               ? Json(driver::mac_shares(facts.session.model()->compiled.summary))
                               : Json(nullptr)},
            {"on_host", facts.session.model() != nullptr ? host_json(facts.session.model()->compiled.placement,
                                                                     facts.session.model()->compiled.summary)
                                                         : Json(nullptr)},
            {"samples", facts.samples},
            {"runs", facts.runs},
            {"expected", facts.expectation ? expectation_json(*facts.expectation) : Json(nullptr)},
            {"steps", steps},
            {"launched", facts.run.launched},
            {"program", bundle::to_json(bundle::summarize(facts.session.program()))},
            {"divided", divided_json(facts.session.program())},
            {"counters", to_json(facts.run.counters)},
            {"energy", energy_json(facts.energy)},
            {"outputs", outputs}};
  if (!facts.timed.empty()) {
    std::uint64_t cycles = 0;
    for (const driver::TimedProgram& program : facts.timed) {
      cycles += cycles_of(program);
      for (Json& step : json["steps"])
        if (step["name"] == program.name) step["timing"] = timing_json(program, facts.session.system());
    }
    json["cycles"] = cycles;
  }
  if (facts.check)
    json["check"] = {{"compared_with", "the integer graph node by node on naive loop programs"},
                     {"tensors", facts.check->compared},
                     {"graph_tensors", facts.check->graph_tensors},
                     {"elements", facts.check->elements},
                     {"different", facts.check->different},
                     {"stepped", facts.check->stepped},
                     {"first", facts.check->first.empty() ? "" : to_string(facts.check->first.front(), "difference")}};
  else json["check"] = nullptr;  // not compared with anything
  if (facts.session.model() != nullptr)
    json["compile"] = report_json(*facts.session.model(), facts.session.options().model.title());
  return json;
}

}  // namespace dovetail::cli
