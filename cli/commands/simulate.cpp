#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/npy.h"
#include "base/text_table.h"
#include "cli/commands/all.h"
#include "cli/program/early_stop.h"
#include "cli/program/program_check.h"
#include "cli/program/program_image.h"
#include "cli/program/program_input.h"
#include "cli/report/energy_text.h"
#include "cli/report/latency_text.h"
#include "cli/report/system_text.h"
#include "cli/report/text.h"
#include "cli/report/timing_text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/energy_arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "cli/shell/system_arguments.h"
#include "cli/shell/watched_work.h"
#include "driver/energy.h"
#include "driver/system.h"
#include "driver/tensor_files.h"
#include "driver/timed_program.h"
#include "driver/value_text.h"
#include "isa/codec.h"
#include "isa/spec/memories.h"
#include "isa/verify/findings.h"
#include "runtime/executor.h"
#include "simulator/sram_reader.h"
#include "simulator/work_estimate.h"

namespace dovetail::cli {

namespace {

using SramFiles = std::vector<std::pair<isa::Memory, std::string>>;

Result<SramFiles> sram_files_of(const std::vector<std::string>& texts) {
  DOVETAIL_ASSIGN(const auto assignments, parse_assignments("--sram-out", texts));
  SramFiles files;
  for (const auto& [name, file] : assignments) {
    const auto row = std::find_if(isa::spec::kMemories.begin(), isa::spec::kMemories.end(),
                                  [&](const isa::spec::MemoryInfo& memory) { return memory.name == name; });
    if (row == isa::spec::kMemories.end() || row->id == isa::Memory::acc8)
      return Diagnostic{"bad value of --sram-out", name, fmt::format("there is no memory `{}`", name),
                        "the memories are acc, out, inp, wgt and uop"};
    files.emplace_back(row->id, file);
  }
  return files;
}

Result<void> write_sram(const SramFiles& files, const simulator::SramReader* sram, const isa::HardwareConfig& config) {
  for (const auto& [memory, file] : files)
    DOVETAIL_TRY(write_result_npy(file, sram->read_sram(memory, 0, static_cast<std::size_t>(config.depth(memory)))));
  return {};
}

class Simulate : public Command {
 public:
  void declare(Options& options) override {
    input_.declare(options);
    options.value("--dram-out", "OUT.bin", dram_out_, "the memory image after the run: raw bytes, or a .npy",
                  File::written);
    options.placed_files("--output", "FILE@PLACE[:TYPE]", outputs_,
                         "write a slice of memory after the run, a .npy if the name ends so: @NAME, or\n"
                         "@0x2000:int8[4,16]; repeatable",
                         File::written);
    options.values("--sram-out", "MEM=FILE.npy", sram_out_,
                   "write on-chip memory acc, out, inp, wgt or uop after the run; engines functional and cycle",
                   File::written);
    options.value(
        "--until", "PLACE", until_,
        "stop before an instruction, and write the memories as they are then: #12, :LINE, a label, acc[0..7],\n"
        "a place in memory, \"token load->compute\", like `break` of `dovetail debug`; or at a cycle:\n"
        "@300, 1@300 of the second launch; engines functional and cycle");
    options.flag("--check", check_,
                 "first look for races, as `dovetail check` does, and run the program only if it has none");
    options.value("--engine", "ENGINE", engine_, "functional, cycle, systemc or rtl (`dovetail doctor` lists them)",
                  Need::required);
    system_.declare(options);
    clock_.declare(options);
    energy_.declare(options);
    limit_.declare(options);
    options.value("--report", "R.json", report_, "write counters, and the cycles of an engine with a clock, as JSON",
                  File::written_text);
    options.flag("--details", details_, kDetailsHelp);
    options.json(json_);
    options.footer(
        "The image is written only when every launch has completed, or --until is reached. Addresses are decimal, or "
        "hexadecimal after 0x.\n"
        "Example: dovetail simulate p.bin --hw 1x16x16 --dram in.bin --dram-base 4096 --launch 0:30 --dram-out out.bin "
        "--engine functional\n"
        "         dovetail simulate p.s --place x.npy@x --output y.npy@y --engine cycle");
  }

  Result<Exit> run() override {
    DOVETAIL_TRY(system_.check_engine(engine_, false));
    DOVETAIL_ASSIGN(const auto sram_files, sram_files_of(sram_out_));
    DOVETAIL_ASSIGN(ProgramInput input, read_program_input(input_, "simulate", outputs_));
    const isa::HardwareConfig& config = input.machine.hardware;
    DOVETAIL_ASSIGN(const driver::SystemChanges changes, system_.parse());
    DOVETAIL_ASSIGN(const driver::System system,
                    driver::resolve_system(input.machine.system, input_.hardware.value_or(config.name), changes));
    DOVETAIL_ASSIGN(simulator::EngineOptions engine_options, clock_.engine_options(engine_));
    engine_options.memory = system.memory;
    engine_options.accelerators = system.accelerators;
    DOVETAIL_ASSIGN(const explore::EnergyTable table, energy_.table());
    if (!input.has_image)
      return Diagnostic{"bad usage of `dovetail simulate`", "", "the program has no memory to work on",
                        "add --dram IN.bin, --place FILE@ADDRESS, or .data and .space lines"};
    if (until_) DOVETAIL_TRY(refuse_several(system, "--until"));
    simulator::Dram& dram = input.dram;
    driver::TimedProgram timed{.name = input_.program,
                               .config = config,
                               .program = input.program,
                               .launches = input.launches,
                               .traces = {},
                               .counters = {}};
    const std::vector<isa::Instruction>& program = timed.program;
    const std::vector<isa::Launch>& launches = timed.launches;
    if (input_.program_base) {
      DOVETAIL_TRY(check_program_base(config, program, dram));
      DOVETAIL_ASSIGN(engine_options.program_base, parse_address("--program-base", *input_.program_base));
    }
    DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(limit_.limits));
    WatchedWork watched(limit);
    engine_options.work = watched.work();
    if (until_) return run_until(input, engine_options, sram_files, table, watched);
    DOVETAIL_ASSIGN(const auto make_simulator, runtime::simulator_factory(engine_, engine_options));
    DOVETAIL_ASSIGN(const auto simulator, make_simulator(config));
    const auto* sram = dynamic_cast<const simulator::SramReader*>(simulator.get());
    if (sram == nullptr && !sram_files.empty())
      return Diagnostic{"bad usage of `dovetail simulate`", "--sram-out",
                        fmt::format("engine {} does not show its on-chip memories", engine_),
                        "use --engine functional or cycle"};

    DOVETAIL_ASSIGN(const bool may_run, check(input));
    if (!may_run) return Exit::failed;
    watched.begin();
    for (const isa::Launch& launch : launches) {
      const auto estimate =
          simulator::estimate_work(engine_, config, std::span(program).subspan(launch.begin, launch.count));
      if (const auto fits = watched.work()->expect(input_.program, estimate); !fits.ok())
        return fail(Exit::failed, fits.errors());
    }
    const auto start = std::chrono::steady_clock::now();
    std::vector<simulator::Counters> counters;
    const bool ask_what_if = report_ || json_ || clock_.html;
    const simulator::Dram before = ask_what_if ? dram : simulator::Dram{};
    for (const isa::Launch& launch : launches) {
      const auto outcome =
          simulator->launch(std::span(program).subspan(launch.begin, launch.count), dram, launch.begin);
      if (!outcome.ok()) return fail(Exit::failed, input.source.cite(outcome.errors()));
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
    DOVETAIL_TRY(write_outputs(input, dram));
    DOVETAIL_TRY(write_sram(sram_files, sram, config));
    std::optional<explore::RunTime> time;
    if (has_clock) time = {cycles_of(timed), system.clock_mhz * 1e6, system.accelerators};
    const driver::EnergyFacts energy = driver::energy_facts(total, config, system.memory, time, table);
    DOVETAIL_TRY(write_traces(clock_, input_.program, std::span(&timed, 1), system, std::nullopt, energy_json(energy)));
    print("simulated     {}, {} launch{}, engine {}, {}\n", input_.program, launches.size(),
          launches.size() == 1 ? "" : "es", engine_, driver::seconds_text(seconds));
    if (details_) print("{}{}", counters_text(total), energy_text(energy));
    print_written();
    print("{}", clock_.written(1));
    if (details_ && has_clock) print("{}{}", system_text(system), timing_text(timed, system));
    if (!details_) print("{}", summary(timed, system, energy));
    if (input_.program_base && !has_clock)
      print("note          engine {} does not fetch: --program-base was checked, and has no other effect\n", engine_);
    const Json json = report_ || json_ ? report(timed, counters, system, seconds, energy) : Json();
    if (report_) DOVETAIL_TRY(write_result_text(*report_, driver::json_text(json)));
    if (json_) print_json(json);
    return Exit::success;
  }

 private:
  // Error: an engine that fetches could not use the place, because it is not aligned, outside the address space, or
  // over other bytes of the image.
  Result<void> check_program_base(const isa::HardwareConfig& config, std::span<const isa::Instruction> program,
                                  const simulator::Dram& dram) const {
    DOVETAIL_ASSIGN(const std::uint64_t base, parse_address("--program-base", *input_.program_base));
    DOVETAIL_ASSIGN(const auto bytes, isa::Codec(config).encode_program(program));
    const auto bad = [&](std::string why, std::string hint) {
      return Diagnostic{"bad value of --program-base", *input_.program_base, std::move(why), std::move(hint)};
    };
    const std::uint64_t space = std::uint64_t{1} << config.address_bits;
    const auto unit = static_cast<std::uint64_t>(config.instruction_bytes());
    if (base % unit != 0)
      return bad(fmt::format("it is not a multiple of an instruction's {} bytes", unit), "align it");
    if (base > space || bytes.size() > space - base)
      return bad(fmt::format("{} bytes of program end after the {} address bits", bytes.size(), config.address_bits),
                 "lower it");
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::uint64_t address = base + i;
      if (address >= dram.base && address - dram.base < dram.bytes.size() &&
          dram.bytes[address - dram.base] != bytes[i])
        return bad(fmt::format("the image holds other bytes at {:#x}", address), "place the program outside the image");
    }
    return {};
  }

  // False: --check was given and has findings, which are printed.
  Result<bool> check(const ProgramInput& input) const {
    if (!check_) return true;
    DOVETAIL_ASSIGN(const isa::VerifyReport report, verify_input(input_, input));
    if (report.clean()) return true;
    print("{}", findings_text(report, input.source, input.program.size()));
    fail(Exit::failed, input.source.cite({report.findings.front().diagnostic}));
    return false;
  }

  // Runs up to --until and writes the state at that place. Reports no time, since the launch has not ended.
  Result<Exit> run_until(const ProgramInput& input, const simulator::EngineOptions& options,
                         const SramFiles& sram_files, const explore::EnergyTable& table, WatchedWork& watched) {
    if (clock_.trace || clock_.html || clock_.waves)
      return Diagnostic{"bad usage of `dovetail simulate`",
                        clock_.trace  ? "--trace"
                        : clock_.html ? "--html"
                                      : "--waves",
                        "with --until it would have launches that do not end",
                        "leave --until out: everything before the place is the same"};
    DOVETAIL_ASSIGN(const auto stop, make_early_stop(*until_, input, engine_, options));
    DOVETAIL_ASSIGN(const bool may_run, check(input));
    if (!may_run) return Exit::failed;
    watched.begin();
    const auto start = std::chrono::steady_clock::now();
    const auto point = stop->run();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    watched.finish();
    if (!point.ok()) return fail(Exit::failed, input.source.cite(point.errors()));
    DOVETAIL_TRY(write_outputs(input, stop->dram()));
    DOVETAIL_TRY(write_sram(sram_files, &stop->sram(), input.machine.hardware));
    print("simulated     {}, engine {}, up to {}\n", input_.program, engine_, *until_);
    print("stopped       {}{}launch {}\n",
          point->next ? fmt::format("before {} in ", input.source.cite(isa::cite(input.program, *point->next)))
                      : "all instructions have started, in ",
          point->cycle ? fmt::format("cycle {} of ", *point->cycle) : "", point->launch);
    print("{}", counters_text(stop->counters()));
    print_written();
    if (!report_ && !json_) return Exit::success;
    const simulator::Counters& counters = stop->counters();
    Json json{
        {"kind", "simulate"},
        {"program", input_.program},
        {"engine", engine_},
        {"hardware", isa::config_to_json(input.machine.hardware)},
        {"launches", Json::array()},
        {"until", {{"place", *until_}, {"launch", point->launch}}},
        {"counters", to_json(counters)},
        {"seconds", seconds},
        {"compared_with", nullptr},
        {"energy", energy_json(driver::energy_facts(counters, input.machine.hardware, options.memory, {}, table))}};
    if (point->next) json["until"]["instruction"] = *point->next;
    if (point->cycle) json["until"]["cycle"] = *point->cycle;
    if (report_) DOVETAIL_TRY(write_result_text(*report_, driver::json_text(json)));
    if (json_) print_json(json);
    return Exit::success;
  }

  static std::string summary(const driver::TimedProgram& timed, const driver::System& system,
                             const driver::EnergyFacts& energy) {
    const simulator::Counters& counters = timed.counters;
    const auto sum = [](const auto& array) { return std::accumulate(array.begin(), array.end(), std::uint64_t{0}); };
    std::string text =
        entry("executed",
              fmt::format("{} instructions, {} MACs; {} loaded, {} stored", with_separators(sum(counters.instructions)),
                          with_separators(counters.macs), driver::bytes_text(sum(counters.bytes_loaded)),
                          driver::bytes_text(counters.bytes_stored)));
    if (!timed.traces.empty()) {
      text += entry("latency", cycles_text(cycles_of(timed), system.clock_mhz));
      text += timing_summary(std::span(&timed, 1), system);
    }
    text += energy_summary(energy);
    return text + entry("next", timed.traces.empty()
                                    ? "--engine cycle counts cycles; --details has counters and energy by component"
                                    : "--details has counters, stalls of each unit and energy by component");
  }

  void print_written() const {
    print("races         {}\n", check_ ? "none: every order that the tokens leave open gives these values"
                                       : "not checked: other orders may give other values; `--check` decides");
    print("{}", written_);
  }

  Result<void> write_outputs(const ProgramInput& input, const simulator::Dram& dram) {
    if (dram_out_) {
      DOVETAIL_TRY(write_image(*dram_out_, dram));
      written_ += fmt::format("written       {}, {} bytes from {:#x}\n", *dram_out_, dram.bytes.size(), dram.base);
    }
    for (const std::string& text : outputs_) {
      DOVETAIL_ASSIGN(const FileAt file, parse_file_at("--output", text));
      DOVETAIL_ASSIGN(const ImageSlice slice, parse_slice("--output", file.place, input.symbols, true));
      DOVETAIL_TRY(write_slice(file.file, dram, slice));
      written_ += fmt::format("written       {}, {} at {:#x}\n", file.file, driver::type_text(slice.dtype, slice.shape),
                              slice.address);
    }
    return {};
  }

  Json report(const driver::TimedProgram& timed, const std::vector<simulator::Counters>& counters,
              const driver::System& system, double seconds, const driver::EnergyFacts& energy) const {
    Json list = Json::array();
    for (std::size_t i = 0; i < timed.launches.size(); ++i)
      list.push_back(
          {{"begin", timed.launches[i].begin}, {"count", timed.launches[i].count}, {"counters", to_json(counters[i])}});
    Json json{{"kind", "simulate"},
              {"program", input_.program},
              {"engine", engine_},
              {"hardware", isa::config_to_json(timed.config)},
              {"launches", list},
              {"counters", to_json(timed.counters)},
              {"seconds", seconds},
              {"compared_with", nullptr},
              {"energy", energy_json(energy)}};
    if (!timed.traces.empty()) {
      json["system"] = system_json(system);
      json["timing"] = timing_json(timed, system);
    }
    return json;
  }

  ProgramArguments input_;
  std::string engine_;
  SystemArguments system_;
  ClockArguments clock_;
  EnergyArguments energy_;
  LimitArguments limit_;
  std::optional<std::string> dram_out_, report_, until_;
  std::vector<std::string> outputs_, sram_out_;
  bool check_ = false, details_ = false, json_ = false;
  std::string written_;  // lines about written files, for the end of the report
};

}  // namespace

std::unique_ptr<Command> make_simulate() { return std::make_unique<Simulate>(); }

}  // namespace dovetail::cli
