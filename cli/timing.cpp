#include "cli/timing.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "base/file.h"
#include "base/text_table.h"
#include "isa/verify/token_machine.h"
#include "simulator/trace/attribution.h"
#include "simulator/trace/perfetto.h"

namespace dovetail::cli {

namespace {

using isa::Queue;

constexpr std::array kUnits{Queue::load, Queue::compute, Queue::store};

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

simulator::Trace trace_of(const std::vector<TimedProgram>& programs) {
  simulator::Trace trace;
  std::map<std::string, std::uint32_t> known{{"", 0}};
  for (const TimedProgram& program : programs) {
    std::vector<std::uint32_t> sources(program.program.size(), 0);
    for (const bundle::InstructionRange& range : program.ranges) {
      const auto [at, is_new] = known.try_emplace(range.name, static_cast<std::uint32_t>(trace.sources.size()));
      if (is_new) trace.sources.push_back(range.name);
      std::fill(sources.begin() + static_cast<std::ptrdiff_t>(range.begin), sources.begin() + static_cast<std::ptrdiff_t>(range.end), at->second);
    }
    for (simulator::LaunchTrace launch : program.traces) {
      for (simulator::TraceEvent& event : launch.events) event.source = sources[event.instruction];
      trace.launches.push_back(std::move(launch));
    }
  }
  return trace;
}

auto classes_of(const TimedProgram& program) {
  std::array<std::array<std::uint64_t, simulator::kUnitClassNames.size()>, 3> sum{};
  for (const simulator::LaunchTrace& launch : program.traces)
    for (std::size_t u = 0; u < sum.size(); ++u)
      for (std::size_t c = 0; c < sum[u].size(); ++c) sum[u][c] += launch.classes[u][c];
  return sum;
}

Json to_json(const simulator::UnitTime& time) {
  Json waiting;
  for (std::size_t c = 0; c < time.waiting.size(); ++c) waiting[std::string(simulator::kStallCauseNames[c])] = time.waiting[c];
  return {{"cycles", time.total()}, {"busy", time.busy}, {"waiting", waiting}};
}

}  // namespace

void ClockArguments::declare(Options& options) {
  options.value("--memory", "MODEL", memory,
                "the DRAM behind an engine with a clock: ideal:latency=64,bytes=8,outstanding=16 (the default, bytes 0: a\n"
                "beat), bank:ddr4-2400|lpddr4|hbm2,clock-ps=2000, perturbed:seed=7 (docs/memory-models.md)");
  options.value("--trace", "T.json", trace, "write every instruction's cycles, for `dovetail trace` and for ui.perfetto.dev");
  options.value("--waves", "W.fst", waves, "of engine rtl: write the waveforms of the design");
}

Result<simulator::EngineOptions> ClockArguments::engine_options(std::string_view engine) const {
  simulator::EngineOptions options;
  for (const runtime::Engine& row : runtime::engines())
    if (row.name == engine && !row.has_clock && (memory || trace))
      return Diagnostic{"bad usage", memory ? "--memory" : "--trace", fmt::format("engine {} has no clock", engine), "add --engine cycle"};
  if (waves && engine != "rtl")
    return Diagnostic{"bad usage", "--waves", fmt::format("engine {} has no waveforms", engine), "add --engine rtl"};
  if (waves) options.waves = *waves;
  if (memory) {
    DOVETAIL_ASSIGN(options.memory, simulator::parse_memory(*memory));
  }
  options.trace = true;
  return options;
}

Result<std::vector<TimedProgram>> timed_programs(const bundle::Bundle& bundle, const runtime::RunResult& result, const simulator::EngineOptions& options,
                                                 bool ask_what_if) {
  std::vector<TimedProgram> programs;
  for (std::size_t s = 0; s < bundle.steps.size(); ++s) {
    const auto* accel = std::get_if<bundle::AccelStep>(&bundle.steps[s]);
    if (accel == nullptr || result.steps[s].launches.empty()) continue;
    TimedProgram program{.name = accel->name, .config = accel->config, .program = accel->program, .launches = accel->launches,
                         .traces = result.steps[s].launches, .counters = result.steps[s].counters, .ranges = accel->ranges};
    if (ask_what_if) {
      simulator::Dram dram{accel->dram_base, std::vector<std::byte>(accel->dram_bytes)};
      for (const bundle::Segment& segment : accel->segments)
        std::copy(segment.bytes.begin(), segment.bytes.end(), dram.bytes.begin() + static_cast<std::ptrdiff_t>(segment.address - accel->dram_base));
      DOVETAIL_ASSIGN(program.what_if, simulator::what_if(accel->config, options, accel->program, accel->launches, dram));
    }
    programs.push_back(std::move(program));
  }
  return programs;
}

std::uint64_t cycles_of(const TimedProgram& program) {
  std::uint64_t cycles = 0;
  for (const simulator::LaunchTrace& launch : program.traces) cycles += launch.cycles;
  return cycles;
}

Result<void> write_trace(const std::string& path, const std::vector<TimedProgram>& programs) {
  std::vector<std::span<const isa::Instruction>> launched;
  for (const TimedProgram& program : programs)
    for (const isa::Launch& launch : program.launches) launched.push_back(program.program.subspan(launch.begin, launch.count));
  return write_text_file(path, simulator::perfetto_text(trace_of(programs), launched));
}

std::string unit_table(const std::array<std::array<std::uint64_t, simulator::kUnitClassNames.size()>, 3>& classes, std::uint64_t cycles) {
  std::vector<std::string> headers{"unit"};
  for (const std::string_view name : simulator::kUnitClassNames) headers.push_back(">" + std::string(name));
  TextTable table(headers);
  for (const Queue unit : kUnits) {
    std::vector<std::string> cells{std::string(isa::name(unit))};
    for (const std::uint64_t part : classes[isa::index(unit)]) cells.push_back(percent(part, cycles));
    table.add(cells);
  }
  return table.to_string();
}

std::string layer_table(const simulator::Trace& trace) {
  const auto times = simulator::attribute(trace);
  if (trace.sources.size() < 3) return {};  // one layer, beside the one without a name
  std::uint64_t cycles = 0;
  for (const simulator::LaunchTrace& launch : trace.launches) cycles += launch.cycles;
  TextTable table({"layer, on compute", ">cycles", ">share", ">busy", ">load token", ">store token", ">drain", ">unit", ">fetch"});
  for (std::size_t s = 0; s < trace.sources.size(); ++s) {
    const simulator::UnitTime& time = times[s][isa::index(Queue::compute)];
    if (time.total() == 0) continue;
    const auto waiting = [&](simulator::StallCause cause) { return percent(time.waiting[static_cast<std::size_t>(cause)], time.total()); };
    using enum simulator::StallCause;
    table.add({trace.sources[s].empty() ? "(none)" : trace.sources[s], with_separators(time.total()), percent(time.total(), cycles), percent(time.busy, time.total()),
               waiting(token_prev), waiting(token_next), waiting(drain), waiting(unit), waiting(fetch)});
  }
  return table.to_string();
}

std::string timing_text(const TimedProgram& program, const simulator::MemorySpec& memory) {
  const std::uint64_t cycles = cycles_of(program);
  const simulator::Bounds bounds = simulator::bounds_of(program.config, memory, program.counters);
  std::string text = fmt::format("cycles        {}, memory {}\n\n{}\n", with_separators(cycles), simulator::to_string(memory), unit_table(classes_of(program), cycles));
  text += fmt::format("bounds        compute {} (GEMM {}, ALU {}), DRAM read {}, DRAM write {}: {} of the tightest, {}\n", with_separators(bounds.compute()),
                      with_separators(bounds.gemm), with_separators(bounds.alu), with_separators(bounds.dram_read), with_separators(bounds.dram_write),
                      percent(bounds.tightest(), cycles), bounds.tightest_name());
  if (const std::string layers = layer_table(trace_of({program})); !layers.empty()) text += fmt::format("\n{}", layers);
  if (!program.what_if.empty()) {
    TextTable table({"the same instructions with", ">cycles", ">speed-up"});
    for (const simulator::WhatIf& answer : program.what_if)
      table.add({answer.change, with_separators(answer.cycles), fmt::format("{:.3f}", static_cast<double>(cycles) / static_cast<double>(std::max<std::uint64_t>(1, answer.cycles)))});
    text += fmt::format("\n{}", table.to_string());
  }
  return text + "\n";
}

Json timing_json(const TimedProgram& program, const simulator::MemorySpec& memory) {
  const simulator::Trace trace = trace_of({program});
  const auto classes = classes_of(program);
  const auto times = simulator::attribute(trace);
  Json launches = Json::array(), units, layers = Json::array();
  for (const simulator::LaunchTrace& launch : program.traces) launches.push_back(launch.cycles);
  for (const Queue unit : kUnits)
    for (std::size_t c = 0; c < simulator::kUnitClassNames.size(); ++c)
      units[std::string(isa::name(unit))][std::string(simulator::kUnitClassNames[c])] = classes[isa::index(unit)][c];
  for (std::size_t s = 0; s < times.size(); ++s) {
    Json row{{"name", s < trace.sources.size() ? trace.sources[s] : "after the last instruction"}};
    std::uint64_t total = 0;
    for (const Queue unit : kUnits) {
      row[std::string(isa::name(unit))] = to_json(times[s][isa::index(unit)]);
      total += times[s][isa::index(unit)].total();
    }
    if (total != 0) layers.push_back(std::move(row));
  }
  const simulator::Bounds bounds = simulator::bounds_of(program.config, memory, program.counters);
  const std::uint64_t cycles = cycles_of(program);
  return {{"cycles", cycles},
          {"memory", simulator::to_string(memory)},
          {"launches", launches},
          {"units", units},
          {"layers", layers},
          {"bounds", simulator::to_json(bounds)},
          {"of_tightest_bound", cycles == 0 ? 0.0 : static_cast<double>(bounds.tightest()) / static_cast<double>(cycles)},
          {"what_if", simulator::to_json(program.what_if)}};
}

}  // namespace dovetail::cli
