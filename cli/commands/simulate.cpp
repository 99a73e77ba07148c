#include <chrono>
#include <span>

#include <fmt/format.h>

#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands/all.h"
#include "cli/energy_report.h"
#include "cli/output.h"
#include "cli/program_file.h"
#include "cli/system.h"
#include "cli/text.h"
#include "cli/timing.h"
#include "cli/watched_work.h"
#include "isa/codec.h"
#include "runtime/executor.h"
#include "simulator/work_estimate.h"

namespace dovetail::cli {

namespace {

class Simulate : public Command {
 public:
  void declare(Options& options) override {
    options.positional("PROGRAM.bin", program_, "raw instructions, 16 bytes each (32 in the wide encoding)",
                       Need::required, File::read);
    options.value("--hw", "CONFIG", hardware_, kHardwareHelp, Need::required, File::read);
    options.value("--dram", "IN.bin", dram_, "the memory image before the run", Need::required, File::read);
    options.value("--dram-base", "ADDR", dram_base_, "physical address of the image's first byte (default 0)");
    options.value("--program-base", "ADDR", program_base_,
                  "physical address of the program, for engines that fetch it");
    options.values("--launch", "BEGIN:COUNT", launches_,
                   "run these instructions to completion; repeatable, in order, over one SRAM and\n"
                   "DRAM state (default: one launch of all)");
    options.value("--dram-out", "OUT.bin", dram_out_, "the memory image after the run, as long as IN.bin",
                  Need::required, File::written);
    options.value("--engine", "ENGINE", engine_, "functional, cycle, systemc or rtl (`dovetail doctor` lists them)",
                  Need::required);
    system_.declare(options);
    clock_.declare(options);
    energy_.declare(options);
    limit_.declare(options);
    options.value("--report", "R.json", report_, "write counters, and the cycles of an engine with a clock, as JSON",
                  File::written);
    options.footer(
        "The image is written only when every launch has completed. Addresses are decimal, or hexadecimal behind 0x.\n"
        "Example: dovetail simulate p.bin --hw 1x16x16 --dram in.bin --dram-base 4096 --launch 0:30 --dram-out out.bin "
        "--engine functional");
  }

  Result<Exit> run() override {
    DOVETAIL_TRY(system_.check_engine(engine_, false));
    DOVETAIL_ASSIGN(const isa::Machine machine, isa::load_machine(hardware_));
    const isa::HardwareConfig& config = machine.hardware;
    DOVETAIL_ASSIGN(const System system, resolve_system(machine.system, hardware_, system_));
    DOVETAIL_ASSIGN(simulator::EngineOptions engine_options, clock_.engine_options(engine_, system));
    DOVETAIL_ASSIGN(const explore::EnergyTable table, energy_.table());
    simulator::Dram dram;
    DOVETAIL_ASSIGN(dram.base, parse_address("--dram-base", dram_base_));
    TimedProgram timed{.name = program_, .config = config, .program = {}, .launches = {}, .traces = {}, .counters = {}};
    DOVETAIL_ASSIGN(timed.program, read_program(program_, config));
    const std::vector<isa::Instruction>& program = timed.program;
    DOVETAIL_ASSIGN(timed.launches, parse_launches(launches_, program.size()));
    const std::vector<isa::Launch>& launches = timed.launches;
    DOVETAIL_ASSIGN(dram.bytes, read_image(dram_, dram.base, config));
    if (program_base_) {
      DOVETAIL_TRY(check_program_base(config, program, dram));
      DOVETAIL_ASSIGN(engine_options.program_base, parse_address("--program-base", *program_base_));
    }
    DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(limit_.limits));
    WatchedWork watched(limit);
    engine_options.work = watched.work();
    DOVETAIL_ASSIGN(const auto make_simulator, runtime::simulator_factory(engine_, engine_options));
    DOVETAIL_ASSIGN(const auto simulator, make_simulator(config));

    watched.begin();
    for (const isa::Launch& launch : launches) {
      const auto estimate =
          simulator::estimate_work(engine_, config, std::span(program).subspan(launch.begin, launch.count));
      if (const auto fits = watched.work()->expect(program_, estimate); !fits.ok())
        return fail(Exit::failed, fits.errors());
    }
    const auto start = std::chrono::steady_clock::now();
    std::vector<simulator::Counters> counters;
    const bool ask_what_if = report_ || clock_.html;
    const simulator::Dram before = ask_what_if ? dram : simulator::Dram{};
    for (const isa::Launch& launch : launches) {
      const auto outcome =
          simulator->launch(std::span(program).subspan(launch.begin, launch.count), dram, launch.begin);
      if (!outcome.ok()) return fail(Exit::failed, outcome.errors());
      counters.push_back(*outcome);
      if (const simulator::LaunchTrace* timing = simulator->timing()) timed.traces.push_back(*timing);
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    simulator::Counters total;
    for (const simulator::Counters& launch : counters) total += launch;
    timed.counters = total;
    const bool has_clock = !timed.traces.empty();
    if (has_clock && ask_what_if) {
      simulator::Dram image = before;
      auto what_if = simulator::what_if(config, engine_options, program, launches, image);
      if (!what_if.ok()) return fail(Exit::failed, what_if.errors());
      timed.what_if = *std::move(what_if);
    }
    watched.finish();
    DOVETAIL_TRY(write_file(dram_out_, dram.bytes));
    std::optional<explore::RunTime> time;
    if (has_clock) time = {cycles_of(timed), system.clock_mhz * 1e6};
    const EnergyFacts energy = energy_facts(total, config, system.memory, time, table);
    DOVETAIL_TRY(write_traces(clock_, program_, std::span(&timed, 1), system, std::nullopt, energy_json(energy)));
    print("simulated     {}, {} launch{}, engine {}, {}\n{}", program_, launches.size(),
          launches.size() == 1 ? "" : "es", engine_, seconds_text(seconds), counters_text(total) + energy_text(energy));
    print("written       {}, {} bytes from {:#x}\n", dram_out_, dram.bytes.size(), dram.base);
    print("{}", clock_.written(1));
    if (has_clock) print("{}{}", system_text(system), timing_text(timed, system));
    if (program_base_ && !has_clock)
      print("note          engine {} does not fetch: --program-base was checked, and has no other effect\n", engine_);
    if (report_) DOVETAIL_TRY(write_text_file(*report_, json_text(report(timed, counters, system, seconds, energy))));
    return Exit::success;
  }

 private:
  // The place must be one that an engine which fetches could use: aligned, in the address space, and not over other
  // bytes of the image.
  Result<void> check_program_base(const isa::HardwareConfig& config, std::span<const isa::Instruction> program,
                                  const simulator::Dram& dram) const {
    DOVETAIL_ASSIGN(const std::uint64_t base, parse_address("--program-base", *program_base_));
    DOVETAIL_ASSIGN(const auto bytes, isa::Codec(config).encode_program(program));
    const auto bad = [&](std::string why, std::string hint) {
      return Diagnostic{"bad value of --program-base", *program_base_, std::move(why), std::move(hint)};
    };
    const std::uint64_t space = std::uint64_t{1} << config.address_bits;
    const auto unit = static_cast<std::uint64_t>(config.instruction_bytes());
    if (base % unit != 0) return bad(fmt::format("it is no multiple of an instruction's {} bytes", unit), "align it");
    if (base > space || bytes.size() > space - base)
      return bad(fmt::format("{} bytes of program end behind the {} address bits", bytes.size(), config.address_bits),
                 "lower it");
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::uint64_t address = base + i;
      if (address >= dram.base && address - dram.base < dram.bytes.size() &&
          dram.bytes[address - dram.base] != bytes[i])
        return bad(fmt::format("the image holds other bytes at {:#x}", address), "place the program outside the image");
    }
    return {};
  }

  Json report(const TimedProgram& timed, const std::vector<simulator::Counters>& counters, const System& system,
              double seconds, const EnergyFacts& energy) const {
    Json list = Json::array();
    for (std::size_t i = 0; i < timed.launches.size(); ++i)
      list.push_back(
          {{"begin", timed.launches[i].begin}, {"count", timed.launches[i].count}, {"counters", to_json(counters[i])}});
    Json json{{"kind", "simulate"},
              {"program", program_},
              {"engine", engine_},
              {"hardware", isa::config_to_json(timed.config)},
              {"launches", list},
              {"counters", to_json(timed.counters)},
              {"seconds", seconds},
              {"compared_with", nullptr},
              {"energy", energy_json(energy)}};
    if (!timed.traces.empty()) {
      json["system"] = to_json(system);
      json["timing"] = timing_json(timed, system);
    }
    return json;
  }

  std::string program_, hardware_, dram_, dram_base_ = "0", dram_out_, engine_;
  SystemArguments system_;
  ClockArguments clock_;
  EnergyArguments energy_;
  LimitArguments limit_;
  std::optional<std::string> program_base_, report_;
  std::vector<std::string> launches_;
};

}  // namespace

std::unique_ptr<Command> make_simulate() { return std::make_unique<Simulate>(); }

}  // namespace dovetail::cli
