#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/npy.h"
#include "base/text_table.h"
#include "cli/commands/all.h"
#include "cli/program/program_check.h"
#include "cli/program/program_image.h"
#include "cli/program/program_input.h"
#include "cli/program/simulation.h"
#include "cli/report/energy_text.h"
#include "cli/report/latency_text.h"
#include "cli/report/simulation_report.h"
#include "cli/report/system_text.h"
#include "cli/report/text.h"
#include "cli/report/timing_text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/energy_arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "cli/shell/system_arguments.h"
#include "cli/shell/watched_work.h"
#include "driver/design_clock.h"
#include "driver/energy.h"
#include "driver/system.h"
#include "driver/tensor_files.h"
#include "driver/timed_program.h"
#include "driver/value_text.h"
#include "isa/verify/findings.h"

namespace dovetail::cli {

namespace {

using SramFiles = std::vector<std::pair<isa::Memory, std::string>>;

Result<SramFiles> sram_files_of(const std::vector<std::string>& texts) {
  DOVETAIL_ASSIGN(const auto assignments, parse_assignments("--sram-out", texts));
  SramFiles files;
  for (const auto& [name, file] : assignments) {
    DOVETAIL_ASSIGN(const isa::Memory memory, parse_sram("--sram-out", name));
    files.emplace_back(memory, file);
  }
  return files;
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
    options.value("--engine", "ENGINE", engine_,
                  "functional, cycle, systemc, rtl or axi (`dovetail doctor` lists them)", Need::required);
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
    if (until_) settle_offset(input);
    DOVETAIL_ASSIGN(driver::SystemChanges changes, system_.parse());
    DOVETAIL_ASSIGN(changes, driver::with_clock_model(input.machine, std::move(changes)));
    DOVETAIL_ASSIGN(
        const driver::System system,
        driver::resolve_system(input.machine.system, input_.hardware.value_or(input.machine.hardware.name), changes));
    SimulationOptions options{.engine = engine_, .system = system, .until = until_, .reads_sram = !sram_files.empty()};
    DOVETAIL_ASSIGN(options.engine_options, clock_.engine_options(engine_));
    DOVETAIL_ASSIGN(const explore::EnergyTable table, energy_.table(system_.technology));
    if (until_) DOVETAIL_TRY(refuse_events());
    options.what_if = report_ || json_ || clock_.html;
    DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(limit_.limits));
    WatchedWork watched(limit);
    options.engine_options.work = watched.work();
    DOVETAIL_ASSIGN(const auto simulation, Simulation::make(input, std::move(options)));
    DOVETAIL_ASSIGN(const bool may_run, check(input));
    if (!may_run) return Exit::failed;
    watched.begin();
    if (const auto ran = simulation->run(); !ran.ok()) return fail(Exit::failed, ran.errors());
    watched.finish();
    DOVETAIL_TRY(write_outputs(input, simulation->dram()));
    for (const auto& [memory, file] : sram_files) {
      const auto depth = static_cast<std::size_t>(simulation->config().depth(memory));
      DOVETAIL_TRY(write_result_npy(file, simulation->sram()->read_sram(memory, 0, depth)));
    }
    const driver::EnergyFacts energy = energy_of(*simulation, table);
    if (until_) print_stopped(*simulation);
    else DOVETAIL_TRY(print_ended(*simulation, energy));
    if (!report_ && !json_) return Exit::success;
    const Json json = simulation_json(*simulation, energy);
    if (report_) DOVETAIL_TRY(write_result_text(*report_, driver::json_text(json)));
    if (json_) print_json(json);
    return Exit::success;
  }

 private:
  // Runs the verifier if --check is given. False: there are findings, which are printed.
  Result<bool> check(const ProgramInput& input) const {
    if (!check_) return true;
    const isa::VerifyReport report = verify_input(input);
    if (report.clean()) return true;
    print("{}", findings_text(report, input.source, input.program.size()));
    fail(Exit::failed, input.source.cite({report.findings.front().diagnostic}));
    return false;
  }

  Result<void> refuse_events() const {
    if (!clock_.trace && !clock_.html && !clock_.waves) return {};
    return Diagnostic{"bad usage of `dovetail simulate`",
                      clock_.trace  ? "--trace"
                      : clock_.html ? "--html"
                                    : "--waves",
                      "with --until the file would contain launches that do not end",
                      "remove --until: everything before that place is the same"};
  }

  // Reports no time, since the launch has not ended.
  void print_stopped(const Simulation& simulation) const {
    const StopPoint& point = *simulation.stopped();
    const ProgramInput& input = simulation.input();
    print("simulated     {}, engine {}, up to {}\n", input_.program, engine_, *until_);
    print("stopped       {}{}launch {}\n",
          point.next ? fmt::format("before {} in ", input.source.cite(isa::cite(input.program, *point.next)))
                     : "all instructions have started, in ",
          point.cycle ? fmt::format("cycle {} of ", *point.cycle) : "", point.launch);
    print("{}", counters_text(simulation.counters()));
    print_written();
  }

  Result<void> print_ended(const Simulation& simulation, const driver::EnergyFacts& energy) const {
    const driver::TimedProgram& timed = simulation.timed();
    const driver::System& system = simulation.options().system;
    const bool has_clock = !timed.traces.empty();
    const bool knows_units = has_clock && timed.traces.front().knows_units();
    DOVETAIL_TRY(write_traces(clock_, input_.program, std::span(&timed, 1), system, std::nullopt, energy_json(energy)));
    print("simulated     {}, {} launch{}, engine {}, {}\n", input_.program, timed.launches.size(),
          timed.launches.size() == 1 ? "" : "es", engine_, driver::seconds_text(simulation.seconds()));
    if (details_) print("{}{}", counters_text(timed.counters), energy_text(energy));
    print_written();
    print("{}", clock_.written(1));
    if (details_ && knows_units) print("{}{}", system_text(system), timing_text(timed, system));
    if (!details_) print("{}", summary(timed, system, energy));
    if (input_.program_base && !has_clock)
      print("note          engine {} does not fetch: --program-base was checked, and has no other effect\n", engine_);
    return {};
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
      if (timed.traces.front().knows_units()) text += timing_summary(std::span(&timed, 1), system);
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
