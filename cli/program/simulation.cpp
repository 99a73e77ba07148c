#include "cli/program/simulation.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "isa/codec.h"
#include "isa/offset.h"
#include "isa/spec/memories.h"
#include "runtime/executor.h"
#include "simulator/cycle/what_if.h"
#include "simulator/run_launches.h"
#include "simulator/work_estimate.h"

namespace dovetail::cli {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Error: an engine that fetches could not use the place, because it is not aligned, outside the address space, or over
// other bytes of the image.
Result<void> check_program_base(const ProgramInput& input) {
  if (!input.program_base) return {};
  const isa::HardwareConfig& config = input.machine.hardware;
  const std::uint64_t base = *input.program_base;
  DOVETAIL_ASSIGN(const auto bytes, isa::Codec(config).encode_program(input.program));
  const auto bad = [&](std::string why, std::string hint) {
    return Diagnostic{"invalid value for --program-base", fmt::format("{:#x}", base), std::move(why), std::move(hint)};
  };
  const std::uint64_t space = std::uint64_t{1} << config.address_bits;
  const auto unit = static_cast<std::uint64_t>(config.instruction_bytes());
  if (base % unit != 0)
    return bad(fmt::format("the address is not a multiple of an instruction's {} bytes", unit), "align the address");
  if (base > space || bytes.size() > space - base)
    return bad(fmt::format("the program's {} bytes end after the {} address bits", bytes.size(), config.address_bits),
               "use a lower address");
  const simulator::Dram& dram = input.dram;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint64_t address = base + i;
    if (address >= dram.base && address - dram.base < dram.bytes.size() && dram.bytes[address - dram.base] != bytes[i])
      return bad(fmt::format("the image has other bytes at {:#x}", address), "place the program outside the image");
  }
  return {};
}

}  // namespace

Result<isa::Memory> parse_sram(std::string_view option, std::string_view name) {
  const auto row = std::ranges::find(isa::spec::kMemories, name, &isa::spec::MemoryInfo::name);
  if (row == isa::spec::kMemories.end() || row->id == isa::Memory::acc8 || row->id == isa::Memory::wgt4)
    return Diagnostic{fmt::format("invalid value for {}", option), std::string(name),
                      fmt::format("there is no memory `{}`", name), "the memories are acc, out, inp, wgt, uop and tab"};
  return row->id;
}

Simulation::Simulation(const ProgramInput& input, SimulationOptions options)
    : input_(input),
      options_(std::move(options)),
      timed_{.name = input.name,
             .config = input.machine.hardware,
             .program = input.program,
             .launches = input.launches,
             .traces = {},
             .counters = {}} {}

Result<std::unique_ptr<Simulation>> Simulation::make(const ProgramInput& input, SimulationOptions options) {
  if (!input.has_image)
    return Diagnostic{"cannot simulate", input.name, "the program has no data in DRAM",
                      "place arrays in memory (`dovetail simulate --place`), or write .data and .space lines"};
  if (options.until) DOVETAIL_TRY(driver::refuse_several(options.system, "--until"));
  DOVETAIL_TRY(check_program_base(input));
  simulator::EngineOptions& engine = options.engine_options;
  engine.memory = options.system.memory;
  engine.accelerators = options.system.accelerators;
  engine.by_launch = options.system.divides_samples();
  engine.program_base = input.program_base;
  std::unique_ptr<Simulation> simulation(new Simulation(input, std::move(options)));
  const SimulationOptions& own = simulation->options_;
  if (own.until) {
    DOVETAIL_ASSIGN(simulation->stop_, make_early_stop(*own.until, input, own.engine, own.engine_options));
    return simulation;
  }
  DOVETAIL_ASSIGN(const auto make_simulator, runtime::simulator_factory(own.engine, own.engine_options));
  DOVETAIL_ASSIGN(simulation->simulator_, make_simulator(simulation->config()));
  simulation->simulator_->set_offset(input.offset);
  if (own.reads_sram && simulation->sram() == nullptr)
    return Diagnostic{"cannot read on-chip memories", input.name,
                      fmt::format("engine {} does not show its on-chip memories", own.engine),
                      "use --engine functional or cycle"};
  return simulation;
}

const simulator::SramReader* Simulation::sram() const {
  return stop_ ? &stop_->sram() : dynamic_cast<const simulator::SramReader*>(simulator_.get());
}

Result<void> Simulation::run() {
  const Result<void> done = stop_ ? run_until() : run_launches();
  if (!done.ok()) return input_.source.cite(done.errors());
  return {};
}

Result<void> Simulation::run_launches() {
  const std::span instructions(input_.program);
  Work* const work = options_.engine_options.work;
  const auto part = [&](const isa::Launch& launch) { return instructions.subspan(launch.begin, launch.count); };
  if (work != nullptr)
    for (const isa::Launch& launch : input_.launches)
      DOVETAIL_TRY(work->expect(input_.name, simulator::estimate_work(options_.engine, config(), part(launch))));
  dram_ = input_.dram;
  const auto start = Clock::now();
  timed_.launches.clear();
  DOVETAIL_TRY(
      simulator::run_launches(*simulator_, instructions, input_.launches, dram_, [&](const simulator::Ended& ended) {
        timed_.launches.push_back(ended.last);
        timed_.counters += ended.sum();
        of_launches_.push_back(ended.sum());
        if (ended.timing != nullptr) timed_.traces.push_back(*ended.timing);
      }));
  seconds_ = seconds_since(start);
  if (!options_.what_if || timed_.traces.empty()) return {};
  simulator::Dram image = input_.dram;
  const auto moved = isa::at_offset(config(), input_.program, input_.offset);
  DOVETAIL_ASSIGN(timed_.what_if, simulator::what_if(config(), options_.engine_options, moved, input_.launches, image));
  return {};
}

Result<void> Simulation::run_until() {
  const auto start = Clock::now();
  DOVETAIL_ASSIGN(stopped_, stop_->run());
  seconds_ = seconds_since(start);
  timed_.counters = stop_->counters();
  return {};
}

}  // namespace dovetail::cli
