#include "cli/report/timing_text.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text_table.h"
#include "cli/report/latency_text.h"
#include "cli/report/text.h"
#include "cli/shell/standard_streams.h"
#include "driver/design_clock.h"
#include "isa/verify/token_machine.h"
#include "simulator/trace/attribution.h"
#include "simulator/trace/page.h"
#include "simulator/trace/perfetto.h"

namespace dovetail::cli {

namespace {

using isa::Queue;

constexpr std::array kUnits{Queue::load, Queue::compute, Queue::store};

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// The model's multiplications per cycle, and their share of the hardware's peak.
std::string useful_rate(const simulator::ProfilePart& part) {
  return part.useful_macs ? fmt::format("{:.1f}", part.useful_macs_per_cycle()) : "-";
}
std::string efficiency(const simulator::ProfilePart& part, double peak) {
  return part.useful_macs ? fmt::format("{:.1f} %", 100 * part.useful_macs_per_cycle() / peak) : "-";
}

double speedup_of(const simulator::WhatIf& answer, std::uint64_t cycles) {
  return static_cast<double>(cycles) / static_cast<double>(std::max<std::uint64_t>(1, answer.cycles));
}

// Shares of a program's cycles without multiplications of the model: cycles that multiply padding, borders and tails of
// tiles, or add by multiplying with 1; resets and ALU steps; cycles without a step.
struct Losses {
  double padding, other_steps, no_step;
};
Losses losses_of(const simulator::ProfilePart& whole, double peak) {
  const auto cycles = static_cast<double>(std::max<std::uint64_t>(1, whole.cycles));
  const double executed = static_cast<double>(whole.counters.macs) / peak;
  const double useful = static_cast<double>(whole.useful_macs.value_or(0)) / peak;
  const auto steps = static_cast<double>(whole.bounds.compute());
  return {std::max(0.0, executed - useful) / cycles, (steps - executed) / cycles, (cycles - steps) / cycles};
}

simulator::RunTime run_time_of(const driver::System& system, const std::optional<driver::Latency>& latency) {
  simulator::RunTime time{.clock_mhz = system.clock_mhz};
  if (latency) time.other_ms = latency->other_seconds * 1e3;
  return time;
}

}  // namespace

Result<std::string> trace_file_text(std::string_view title, std::span<const driver::TimedProgram> programs,
                                    const driver::System& system, const std::optional<driver::Latency>& latency,
                                    const Json& energy) {
  std::vector<simulator::TracedProgram> traced_programs;
  std::vector<std::span<const isa::Instruction>> launched;
  for (const driver::TimedProgram& program : programs) {
    traced_programs.push_back(traced(program));
    for (const isa::Launch& launch : program.launches)
      launched.push_back(std::span(program.program).subspan(launch.begin, launch.count));
  }
  DOVETAIL_ASSIGN(const Json list, simulator::to_json(traced_programs));
  const Json more{{"title", title},
                  {"memory", simulator::to_string(system.memory)},
                  {"time", simulator::to_json(run_time_of(system, latency))},
                  {"energy", energy},
                  {"programs", list}};
  return simulator::perfetto_text(trace_of(programs), launched, more);
}

Result<void> write_traces(const ClockArguments& arguments, std::string_view title,
                          std::span<const driver::TimedProgram> programs, const driver::System& system,
                          const std::optional<driver::Latency>& latency, const Json& energy) {
  if (arguments.html && programs.empty())
    return Diagnostic{"cannot write a page of the run", *arguments.html,
                      "the page shows the accelerator's cycles, but nothing ran on the accelerator",
                      "put accel first in --target, or remove --html"};
  if (arguments.trace) {
    DOVETAIL_ASSIGN(const std::string text, trace_file_text(title, programs, system, latency, energy));
    DOVETAIL_TRY(write_result_text(*arguments.trace, text));
  }
  if (arguments.html) {
    std::vector<simulator::TracedProgram> traced_programs;
    for (const driver::TimedProgram& program : programs) traced_programs.push_back(traced(program));
    DOVETAIL_TRY(
        write_result_text(*arguments.html, simulator::page_text(title, trace_of(programs), traced_programs,
                                                                system.memory, run_time_of(system, latency), energy)));
  }
  return {};
}

std::string unit_table(const std::array<std::array<std::uint64_t, simulator::kUnitClassNames.size()>, 3>& classes,
                       std::uint64_t cycles) {
  std::vector<std::string> headers{"unit"};
  for (const std::string_view name : simulator::kUnitClassNames) headers.push_back(fmt::format(">{}", name));
  TextTable table(headers);
  for (const Queue unit : kUnits) {
    std::vector<std::string> cells{std::string(isa::name(unit))};
    for (const std::uint64_t part : classes[isa::index(unit)]) cells.push_back(percent(part, cycles));
    table.add(cells);
  }
  return table.to_string();
}

std::string wait_table(const std::array<simulator::MemorySplit, 3>& units, const simulator::FetchTime& fetch,
                       std::uint64_t cycles) {
  std::vector<std::string> headers{"memory stalls"};
  for (const std::string_view name : simulator::kMemoryCauseNames) headers.push_back(fmt::format(">{}", name));
  TextTable table(headers);
  const auto add = [&](std::string_view name, const simulator::MemorySplit& split) {
    std::vector<std::string> cells{std::string(name)};
    for (const std::uint64_t part : split.cycles) cells.push_back(percent(part, cycles));
    table.add(cells);
  };
  for (const Queue unit : kUnits) add(isa::name(unit), units[isa::index(unit)]);
  add("fetch", fetch.memory);
  std::string text = table.to_string();
  text += fmt::format(
      "  fetch issues in {} of the cycles, finds the queue full of load in {}, of compute in {}, of store in {}, and "
      "is done in {}\n",
      percent(fetch.issue, cycles), percent(fetch.queue_full[0], cycles), percent(fetch.queue_full[1], cycles),
      percent(fetch.queue_full[2], cycles), percent(fetch.done, cycles));
  return text;
}

// The kinds of work of the compute unit, and the waits of each. Kinds that did not occur are omitted.
std::string compute_table(const simulator::Profile& profile) {
  TextTable table({"on compute", ">instructions", ">cycles", ">share", ">busy", ">load token", ">store token", ">drain",
                   ">unit", ">fetch"});
  for (std::size_t k = 0; k < profile.compute_kinds.size(); ++k) {
    const simulator::KindTime& kind = profile.compute_kinds[k];
    if (kind.instructions == 0) continue;
    const std::uint64_t cycles = kind.time.total();
    const auto waiting = [&](simulator::StallCause cause) {
      return percent(kind.time.waiting[static_cast<std::size_t>(cause)], cycles);
    };
    using enum simulator::StallCause;
    table.add({std::string(simulator::kComputeKindNames[k]), with_separators(kind.instructions),
               with_separators(cycles), percent(cycles, profile.whole.cycles), percent(kind.time.busy, cycles),
               waiting(token_prev), waiting(token_next), waiting(drain), waiting(unit), waiting(fetch)});
  }
  return table.to_string();
}

std::string layer_table(const simulator::Profile& profile) {
  if (profile.layers.size() < 2) return {};
  TextTable table({"layer, on compute", ">cycles", ">share", ">busy", ">of it memory", ">load token", ">store token",
                   ">drain", ">unit", ">fetch", "bound", ">of it", ">MACs/cycle", ">useful", ">utilization"});
  for (const simulator::ProfilePart& part : profile.layers) {
    const simulator::UnitTime& time = part.units[isa::index(Queue::compute)];
    const auto waiting = [&](simulator::StallCause cause) {
      return percent(time.waiting[static_cast<std::size_t>(cause)], time.total());
    };
    using enum simulator::StallCause;
    table.add({part.name.empty() ? "(none)" : part.name, with_separators(part.cycles),
               percent(part.cycles, profile.whole.cycles), percent(time.busy, time.total()),
               profile.knows_waits ? percent(part.waits[isa::index(Queue::compute)].total(), time.total()) : "?",
               waiting(token_prev), waiting(token_next), waiting(drain), waiting(unit), waiting(fetch),
               std::string(part.bounds.tightest_name()), percent(part.bounds.tightest(), part.cycles),
               fmt::format("{:.1f}", part.macs_per_cycle()), useful_rate(part),
               efficiency(part, profile.layer_peak_macs_per_cycle)});
  }
  return table.to_string();
}

std::string layer_table(const simulator::Trace& trace) {
  const auto times = simulator::attribute(trace);
  if (trace.sources.size() < 3) return {};  // one layer, in addition to the nameless one
  std::uint64_t cycles = 0;
  for (const simulator::LaunchTrace& launch : trace.launches) cycles += launch.cycles;
  TextTable table(
      {"layer, on compute", ">cycles", ">share", ">busy", ">load token", ">store token", ">drain", ">unit", ">fetch"});
  for (std::size_t s = 0; s < trace.sources.size(); ++s) {
    const simulator::UnitTime& time = times[s][isa::index(Queue::compute)];
    if (time.total() == 0) continue;
    const auto waiting = [&](simulator::StallCause cause) {
      return percent(time.waiting[static_cast<std::size_t>(cause)], time.total());
    };
    using enum simulator::StallCause;
    table.add({trace.sources[s].empty() ? "(none)" : trace.sources[s], with_separators(time.total()),
               percent(time.total(), cycles), percent(time.busy, time.total()), waiting(token_prev),
               waiting(token_next), waiting(drain), waiting(unit), waiting(fetch)});
  }
  return table.to_string();
}

namespace {

std::string clock_text(const driver::TimedProgram& program, const driver::System& system) {
  std::string beyond = driver::beyond_design(program.config, system.clock_mhz, system.level_ps);
  for (const isa::HardwareConfig& other : program.others)
    if (beyond.empty()) beyond = driver::beyond_design(other, system.clock_mhz, system.level_ps);
  return beyond.empty() ? "" : entry("clock", beyond);
}

}  // namespace

std::string timing_text(const driver::TimedProgram& program, const driver::System& system) {
  const std::uint64_t cycles = cycles_of(program);
  const simulator::Profile profile = profile_of(program, trace_of(std::span(&program, 1)), system.memory);
  const simulator::Bounds& bounds = profile.whole.bounds;
  std::string text = fmt::format("time          {}\n{}\n{}\n", cycles_text(cycles, system.clock_mhz),
                                 clock_text(program, system), unit_table(profile.classes, cycles));
  if (profile.knows_waits) text += wait_table(profile.waits, profile.fetch, cycles) + "\n";
  text += compute_table(profile) + "\n";
  if (profile.whole.useful_macs) {
    const Losses losses = losses_of(profile.whole, profile.peak_macs_per_cycle);
    text += fmt::format(
        "efficiency    {} of the peak: {} multiplications of the model, {:.1f} a cycle of {:.0f}; {} are executed\n"
        "lost          {:.1f} % to other products (padding, borders, tails of tiles, sums), {:.1f} % to resets and the "
        "ALU, {:.1f} % in cycles without a step\n",
        efficiency(profile.whole, profile.peak_macs_per_cycle), with_separators(*profile.whole.useful_macs),
        profile.whole.useful_macs_per_cycle(), profile.peak_macs_per_cycle,
        with_separators(profile.whole.counters.macs), 100 * losses.padding, 100 * losses.other_steps,
        100 * losses.no_step);
  }
  text += fmt::format(
      "roofline      {:.2f} multiplications per byte, {:.1f} a cycle; the hardware has {:.0f} a cycle, and {}\n",
      profile.whole.intensity(), profile.whole.macs_per_cycle(), profile.peak_macs_per_cycle,
      simulator::to_string(profile.peak_rate, 1, "bytes"));
  text += fmt::format(
      "bounds        compute {} (GEMM {}, ALU {}), DRAM read {}, DRAM write {}{}: {} of the tightest bound, {}\n",
      with_separators(bounds.compute()), with_separators(bounds.gemm), with_separators(bounds.alu),
      with_separators(bounds.dram_read), with_separators(bounds.dram_write),
      bounds.dram > std::max(bounds.dram_read, bounds.dram_write)
          ? fmt::format(", together {}", with_separators(bounds.dram))
          : "",
      percent(bounds.tightest(), cycles), bounds.tightest_name());
  if (const std::string layers = layer_table(profile); !layers.empty()) text += fmt::format("\n{}", layers);
  if (!program.what_if.empty()) {
    TextTable table({"the same instructions with", ">cycles", ">speedup"});
    for (const simulator::WhatIf& answer : program.what_if)
      table.add({answer.change, with_separators(answer.cycles), fmt::format("{:.3f}", speedup_of(answer, cycles))});
    text += fmt::format("\n{}", table.to_string());
  }
  return text + "\n";
}

namespace {

// The most frequent reasons for which the compute unit does not work.
std::string stalls_text(const simulator::Profile& profile, std::uint64_t cycles) {
  const auto& classes = profile.classes[isa::index(Queue::compute)];
  std::vector<std::pair<std::uint64_t, std::string_view>> stalls;
  for (std::size_t c = 1; c < classes.size(); ++c) stalls.emplace_back(classes[c], simulator::kUnitClassNames[c]);
  std::ranges::sort(stalls, std::greater{});
  constexpr std::size_t kMost = 2;
  std::string text = fmt::format("compute works in {} of the cycles; stalled most by", percent(classes[0], cycles));
  for (std::size_t i = 0; i < kMost; ++i)
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", stalls[i].second, percent(stalls[i].first, cycles));
  return text;
}

std::string slowest_layers(const simulator::Profile& profile) {
  constexpr std::size_t kMost = 3;
  if (profile.layers.size() < 2) return {};
  std::vector<const simulator::ProfilePart*> parts;
  for (const simulator::ProfilePart& part : profile.layers) parts.push_back(&part);
  std::ranges::stable_sort(parts, std::greater{}, &simulator::ProfilePart::cycles);
  TextTable table({"slowest layers", ">cycles", ">share", ">MACs/cycle", ">utilization", "bound"});
  for (const simulator::ProfilePart* part : std::span(parts).first(std::min(kMost, parts.size())))
    table.add({part->name.empty() ? "(none)" : shortened(part->name), with_separators(part->cycles),
               percent(part->cycles, profile.whole.cycles), fmt::format("{:.1f}", part->macs_per_cycle()),
               efficiency(*part, profile.layer_peak_macs_per_cycle), std::string(part->bounds.tightest_name())});
  return fmt::format("\n{}\n", table.to_string());
}

// The steps of a model on the accelerator, in their order.
std::string steps_table(std::span<const driver::TimedProgram> programs, const driver::System& system) {
  constexpr std::size_t kMost = 100;
  TextTable table({"steps on the accelerator", ">cycles", ">MACs/cycle", ">utilization", "bound", ">of it"});
  for (const driver::TimedProgram& program : programs.first(std::min(kMost, programs.size()))) {
    const simulator::Profile profile = profile_of(program, trace_of(std::span(&program, 1)), system.memory);
    const simulator::ProfilePart& whole = profile.whole;
    table.add({shortened(program.name), with_separators(whole.cycles), useful_rate(whole),
               efficiency(whole, profile.peak_macs_per_cycle), std::string(whole.bounds.tightest_name()),
               percent(whole.bounds.tightest(), whole.cycles)});
  }
  if (programs.size() > kMost) table.add({fmt::format("and {} others", programs.size() - kMost), "", "", "", "", ""});
  return fmt::format("\n{}\n", table.to_string());
}

}  // namespace

std::string timing_summary(std::span<const driver::TimedProgram> programs, const driver::System& system) {
  if (programs.empty()) return {};
  const driver::TimedProgram& program = *std::ranges::max_element(programs, {}, driver::cycles_of);
  const std::uint64_t cycles = cycles_of(program);
  const simulator::Profile profile = profile_of(program, trace_of(std::span(&program, 1)), system.memory);
  std::string text;
  if (programs.size() > 1)
    text += steps_table(programs, system) +
            entry("region", fmt::format("{}, the longest of {}: {} cycles", shortened(program.name), programs.size(),
                                        with_separators(cycles)));
  text += clock_text(program, system);
  const double rate =
      profile.whole.useful_macs ? profile.whole.useful_macs_per_cycle() : profile.whole.macs_per_cycle();
  text +=
      entry("utilization", fmt::format("{:.1f} % of the peak: {:.1f} multiplications a cycle of {:.0f}",
                                       100 * rate / profile.peak_macs_per_cycle, rate, profile.peak_macs_per_cycle));
  text += entry("bound", fmt::format("{}, which alone needs {} of the cycles", profile.whole.bounds.tightest_name(),
                                     percent(profile.whole.bounds.tightest(), cycles)));
  text += entry("stalls", stalls_text(profile, cycles));
  text += slowest_layers(profile);
  if (const auto best =
          std::ranges::max_element(program.what_if, {}, [&](const auto& answer) { return speedup_of(answer, cycles); });
      best != program.what_if.end() && best->cycles < cycles)
    text += entry("what if", fmt::format("{}: speedup {:.2f}", best->change, speedup_of(*best, cycles)));
  return text;
}

Json timing_json(const driver::TimedProgram& program, const driver::System& system) {
  const simulator::Trace trace = trace_of(std::span(&program, 1));
  const simulator::Profile profile = profile_of(program, trace, system.memory);
  Json launches = Json::array(), launch_counters = Json::array(), units, waits, layers = Json::array();
  for (const simulator::LaunchTrace& launch : program.traces) {
    launches.push_back(launch.cycles);
    if (launch.counters) launch_counters.push_back(to_json(*launch.counters));
  }
  for (const Queue unit : kUnits)
    for (std::size_t c = 0; c < simulator::kUnitClassNames.size(); ++c)
      units[std::string(isa::name(unit))][std::string(simulator::kUnitClassNames[c])] =
          profile.classes[isa::index(unit)][c];
  // The JSON of a part has its units, and the sums over all of them.
  const auto row = [&](const simulator::ProfilePart& part) {
    Json json{{"name", part.name}};
    json.update(simulator::to_json(part, profile.knows_waits));
    const Json of_units = json["units"];
    json.erase("units");
    json.update(of_units);
    return json;
  };
  Json efficiency, lost;
  if (profile.whole.useful_macs) {
    const Losses losses = losses_of(profile.whole, profile.peak_macs_per_cycle);
    efficiency = profile.whole.useful_macs_per_cycle() / profile.peak_macs_per_cycle;
    lost = {{"padding", losses.padding}, {"other_steps", losses.other_steps}, {"no_step", losses.no_step}};
  }
  const simulator::ProfilePart& after = profile.after;
  for (const simulator::ProfilePart& part : profile.layers) layers.push_back(row(part));
  if (!program.layer_joules.empty() || std::any_of(after.units.begin(), after.units.end(),
                                                   [](const simulator::UnitTime& time) { return time.total() != 0; }))
    layers.push_back(row(after));
  for (std::size_t l = 0; l < program.layer_joules.size(); ++l) layers[l]["joules"] = program.layer_joules[l];
  if (profile.knows_waits) {
    for (const Queue unit : kUnits)
      waits[std::string(isa::name(unit))] = simulator::to_json(profile.waits[isa::index(unit)]);
    waits["fetch"] = simulator::to_json(profile.fetch);
  }
  const double seconds = system.seconds(cycles_of(program));
  const auto design = driver::design_clock(program.config, system.level_ps);
  return {{"cycles", cycles_of(program)},
          {"clock_mhz", system.clock_mhz},
          {"design_clock_mhz", design ? Json(design->mhz) : Json()},
          {"ms", seconds * 1e3},
          {"per_second", seconds > 0 ? Json(1 / seconds) : Json(nullptr)},
          {"memory", simulator::to_string(system.memory)},
          {"launches", launches},
          {"launch_counters", launch_counters},
          {"units", units},
          {"waits", waits},  // null: the engine does not record them
          {"program", row(profile.whole)},
          {"layers", layers},
          {"bounds", simulator::to_json(profile.whole.bounds)},
          {"of_tightest_bound", profile.whole.of_bound()},
          {"efficiency", efficiency},  // null: the program is not part of a model
          {"lost", lost},
          {"compute_kinds", simulator::to_json(profile.compute_kinds)},
          {"roofline",
           {{"macs_per_byte", profile.whole.intensity()},
            {"macs_per_cycle", profile.whole.macs_per_cycle()},
            {"peak_macs_per_cycle", profile.peak_macs_per_cycle},
            {"peak_bytes_per_cycle", profile.peak_rate.each_way},
            {"peak_bytes_per_cycle_both_ways", profile.peak_rate.both_ways}}},
          {"what_if", simulator::to_json(program.what_if)}};
}

}  // namespace dovetail::cli
