#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text_table.h"
#include "cli/commands/all.h"
#include "cli/commands/hw_pnr.h"
#include "cli/program/program_file.h"
#include "cli/report/text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/progress.h"
#include "driver/compile_model.h"
#include "driver/design_clock.h"
#include "driver/hardware_area.h"
#include "driver/hardware_pnr.h"
#include "driver/system.h"
#include "driver/value_text.h"
#include "explore/area/area_model.h"
#include "explore/technology/tables.h"
#include "isa/config.h"
#include "isa/hardware_file.h"
#include "isa/spec/memories.h"
#include "simulator/cycle/bounds.h"

namespace dovetail::cli {

namespace {

const char* encoding_text(const isa::HardwareConfig& config) {
  return config.encoding() == isa::Encoding::wide ? "wide" : "compact";
}

class Hw : public Command {
 public:
  void declare(Options& options) override {
    options
        .positional(
            "ACTION", action_,
            "list: the named configurations; show: a configuration by name or file, with its derived facts; area: "
            "its chip area; pnr: place and route for an FPGA, with a bitstream")
        .choices({"list", "show", "area", "pnr"});
    options.positional("CONFIG", config_,
                       fmt::format("for show, area and pnr: {} (default {})", kHardwareHelp, driver::kDefaultHardware),
                       Need::optional, File::read);
    options
        .value("--flow", "FLOW", flow_,
               "for area: generic (gates), xc7 (Xilinx 7 series), xcup (UltraScale+) or ecp5 (Lattice ECP5); default "
               "xcup, with --estimate generic; for pnr: ecp5")
        .choices({"generic", "xc7", "xcup", "ecp5"});
    options.flag("--run", run_, "for area and pnr --core: run the tools, even if the kit keeps a result");
    options.flag("--core", pnr_.core, "for pnr: the accelerator alone, without a board and its pins");
    options.values("--seed", "N", pnr_.seeds,
                   "for pnr: a seed of the placer (default 1); repeatable: the best is kept");
    options.value("--freq", "MHZ", pnr_.freq,
                  "for pnr: the clock of the board, which a PLL makes (default 40); with --core, that the placer aims "
                  "for (default 60)");
    options.value("--constraints", "FILE.lpf", pnr_.constraints,
                  "for pnr: the pins of another board (default: ULX3S, hw/board/ulx3s.lpf)", File::read);
    options.value("--ram", "KIB", pnr_.ram, "for pnr: the board's RAM, a power of two (default 128)");
    options.value("--out", "DIR", pnr_.out,
                  "for pnr: the folder of bitstream and reports (default: CONFIG-BOARD; with --core, none)",
                  File::folder);
    options.flag("--estimate", estimate_,
                 "for area: estimate with the models fitted to runs of Yosys (docs/howto/exploring.md)");
    options.value(
        "--technology", "NAME|FILE.json", technology_,
        "for --estimate: constants of another technology (default: cmos45, the kit's): cmos28, cmos7 or a file\n"
        "(docs/howto/own-memory-and-technology.md)",
        File::read);
    options.flag("--all", all_, "for area and pnr: list every block, not only the larger ones");
    options.json(json_, "print JSON; for show: in the form that --hw reads");
    options.footer(
        "Your own configuration: dovetail hw show 1x16x16 --json > mine.json, change a number, give --hw "
        "mine.json;\n"
        "or --hw 1x16x16,inp_buffer_bytes=65536,clock_mhz=200.\n"
        "The area of a named configuration comes from the results that the kit keeps, that of any other from Yosys.\n"
        "Example: dovetail hw show 1x16x16-ext\n"
        "Example: dovetail hw area 1x16x16 --flow xc7\n"
        "Example: dovetail hw pnr tiny --core");
  }

  Result<Exit> run() override {
    if (action_ == "show") return show();
    if (action_ == "list" && config_.empty()) return list();
    if (action_ == "area") return area();
    if (action_ == "pnr") return pnr();
    return Diagnostic{"bad usage of `dovetail hw`", action_ + (config_.empty() ? "" : " " + config_),
                      "the actions are list, show CONFIG, area CONFIG and pnr CONFIG", "see `dovetail hw --help`"};
  }

 private:
  static std::string together(std::int64_t accelerators) {
    return accelerators == 1 ? "" : fmt::format(", {} accelerators together", accelerators);
  }

  // The parts of the design in which a model extrapolates.
  static void print_extrapolated(const explore::LogicModel& logic, const isa::Machine& machine) {
    if (const auto beyond = explore::all_extrapolated(machine, logic); !beyond.empty())
      print("extrapolated  beyond the runs, so that its error is not known: {}\n",
            fmt::format("{}", fmt::join(beyond, ", ")));
  }

  Result<Exit> estimate_fpga(const isa::Machine& machine, const explore::FpgaFamily& family) const {
    DOVETAIL_ASSIGN(const explore::FpgaModel model, explore::FpgaModel::of_kit(family));
    const std::int64_t accelerators = machine.system.accelerators;
    if (json_) {
      print_json(model.report(machine));
      return Exit::success;
    }
    const explore::FpgaEstimate used = model.estimate(machine);
    print("estimated     {}, {}{}\n", isa::name_of(machine), family.title, together(accelerators));
    print("LUT           {:.0f}, those that hold memories included\n", used.lut);
    print("flip-flops    {:.0f}\n", used.flip_flops);
    print("DSP           {:.0f}\n", used.dsp);
    print("block RAM     {:g} of 36 Kbit\n", used.bram);
    print("logic         {:.0f} levels between registers\n", used.logic_levels);
    print("error         {}\n", model.error_text());
    print_extrapolated(model.logic(), machine);
    return Exit::success;
  }

  Result<Exit> estimate(const isa::Machine& machine) const {
    if (run_)
      return Diagnostic{"bad usage of `dovetail hw area`", "--estimate", "--run requests Yosys, --estimate the model",
                        "remove one of the two options"};
    for (const explore::FpgaFamily& family : explore::kFpgaFamilies)
      if (flow_ == family.flow) {
        if (technology_)
          return Diagnostic{"bad usage of `dovetail hw area`", "--technology", "an FPGA has its own technology",
                            "leave out --flow"};
        return estimate_fpga(machine, family);
      }
    DOVETAIL_ASSIGN(const explore::AreaModel model, explore::choose_area(technology_));
    const std::int64_t accelerators = machine.system.accelerators;
    if (json_) {
      print_json(model.report(machine));
      return Exit::success;
    }
    const explore::AreaEstimate area = model.estimate(machine);
    print("estimated     {}, {}{}\n", isa::name_of(machine), model.technology().name, together(accelerators));
    print("logic         {:.0f} gates of two inputs, {:.0f} flip-flops: {:.3f} mm²\n", area.gates, area.flip_flops,
          area.logic_mm2);
    print("memories      {:.0f} bits: {:.3f} mm²\n", area.memory_bits, area.sram_mm2);
    print("area          {:.3f} mm²\n", area.mm2());
    print("logic         {:.0f} levels between registers: about {:.0f} MHz before placement\n", area.logic_levels,
          area.clock_mhz);
    print("error         {}\n", model.error_text());
    print_extrapolated(model.gates(), machine);
    return Exit::success;
  }

  Result<Exit> pnr() const {
    if (estimate_ || technology_)
      return Diagnostic{"bad usage of `dovetail hw pnr`", estimate_ ? "--estimate" : "--technology",
                        "the option belongs to area", "remove it"};
    PnrArguments arguments = pnr_;
    arguments.config = config_;
    arguments.flow = flow_;
    arguments.run = run_;
    arguments.json = json_;
    arguments.all = all_;
    return place_and_route(arguments);
  }

  // The option of pnr that was given.
  std::optional<std::string_view> option_of_pnr() const {
    if (pnr_.core) return "--core";
    if (!pnr_.seeds.empty()) return "--seed";
    if (pnr_.freq) return "--freq";
    if (pnr_.ram) return "--ram";
    if (pnr_.constraints) return "--constraints";
    if (pnr_.out) return "--out";
    return std::nullopt;
  }

  Result<Exit> area() const {
    if (const auto option = option_of_pnr())
      return Diagnostic{"bad usage of `dovetail hw area`", std::string(*option), "the option belongs to pnr",
                        "remove it"};
    DOVETAIL_ASSIGN(const isa::Machine machine,
                    isa::load_machine(config_.empty() ? driver::kDefaultHardware : config_));
    const isa::HardwareConfig& config = machine.hardware;
    if (!flow_.empty() &&
        std::ranges::find(driver::kAreaFlows, flow_, &driver::AreaFlow::name) == std::end(driver::kAreaFlows))
      return Diagnostic{"bad usage of `dovetail hw area`", flow_, "the flows are generic, xc7, xcup and ecp5",
                        "see `dovetail hw --help`"};
    if (estimate_ && flow_ == driver::kPnrFlow)
      return Diagnostic{"bad usage of `dovetail hw area`", "--estimate", "the kit has no model of flow ecp5",
                        "leave out --estimate, or choose xc7 or xcup"};
    if (estimate_) return estimate(machine);
    DOVETAIL_TRY(isa::check_uniform(machine, "a run of Yosys"));
    if (technology_)
      return Diagnostic{"bad usage of `dovetail hw area`", "--technology",
                        "the flows of Yosys have cells of their technology", "add --estimate"};
    const std::string flow = flow_.empty() ? "xcup" : flow_;
    std::optional<driver::CommittedArea> known;
    if (!run_) {
      DOVETAIL_ASSIGN(known, driver::committed_area(config, flow));
    }
    if (!known) {
      RunningStep step;
      step.begin(fmt::format("{}: running Yosys, flow {}; large arrays need minutes", config.name, flow));
      DOVETAIL_ASSIGN(driver::Area made, driver::run_area(config, flow));
      known = driver::CommittedArea{std::move(made), true};
    }
    const std::string fresh =
        fmt::format("made by {}{}", known->area.tool,
                    known->fresh ? "" : "; STALE: the design or the flow has changed since; --run measures again");
    if (json_) {
      if (!known->fresh) print_message("{}: {}\n", config.name, fresh);
      Json json = driver::area_to_json(known->area);
      if (machine.system.accelerators > 1) json["accelerators"] = machine.system.accelerators;
      print_json(json);
    } else {
      print("{}\n{}, flow {}, {}\n", area_text(known->area, machine.system.accelerators), config.name, flow, fresh);
    }
    return Exit::success;
  }

  std::string area_text(const driver::Area& area, std::int64_t accelerators) const {
    const std::vector<driver::AreaResource> resources = driver::area_resources(area.flow);
    std::vector<std::string> headers = {"block", ">instances"};
    for (const driver::AreaResource& resource : resources) headers.push_back(fmt::format(">{}", resource.title));
    TextTable table(std::move(headers));
    for (const driver::AreaRow& row : area.rows) {
      const auto depth = row.path.empty() ? 0 : 1 + std::ranges::count(row.path, '/');
      if (!all_ && depth > 2) continue;
      const std::string name = row.path.empty() ? "dovetail_top" : row.path.substr(row.path.rfind('/') + 1);
      std::vector<std::string> cells = {std::string(2 * static_cast<std::size_t>(depth), ' ') + name,
                                        with_separators(static_cast<std::uint64_t>(row.instances))};
      for (const std::int64_t used : row.used)
        cells.push_back(used == 0 ? "-" : with_separators(static_cast<std::uint64_t>(used)));
      table.add(std::move(cells));
    }
    if (accelerators > 1) {
      std::vector<std::string> cells = {"all accelerators", fmt::format("{}", accelerators)};
      for (const std::int64_t used : area.rows.front().used)
        cells.push_back(with_separators(static_cast<std::uint64_t>(used * accelerators)));
      table.add(std::move(cells));
    }
    const std::string_view note = driver::area_note(area.flow);
    return fmt::format("{}{}\nlongest path through logic: {} levels, from {} to {}\n", table.to_string(0),
                       note.empty() ? "" : fmt::format("\n{}\n", note), area.logic_levels, area.longest_from,
                       area.longest_to);
  }

  Exit list() const {
    if (json_) {
      Json configs = Json::array();
      for (const isa::Machine& machine : isa::named_machines()) configs.push_back(isa::machine_to_json(machine));
      print_json(configs);
      return Exit::success;
    }
    TextTable table(
        {"name", ">batch", ">in", ">out", ">UOP", ">INP", ">WGT", ">ACC", ">MACs/uop", "encoding", "extensions"});
    for (const isa::HardwareConfig& config : isa::named_configs()) {
      const auto size = [](std::int64_t bytes) { return driver::bytes_text(static_cast<std::uint64_t>(bytes)); };
      table.add({config.name, fmt::format("{}", config.batch), fmt::format("{}", config.block_in),
                 fmt::format("{}", config.block_out), size(config.uop_buffer_bytes), size(config.inp_buffer_bytes),
                 size(config.wgt_buffer_bytes), size(config.acc_buffer_bytes), fmt::format("{}", config.macs_per_uop()),
                 encoding_text(config),
                 driver::extensions_text(config).empty() ? "-" : driver::extensions_text(config)});
    }
    print("{}", table.to_string(0));
    return Exit::success;
  }

  Result<Exit> show() const {
    const std::string name = config_.empty() ? driver::kDefaultHardware : config_;
    DOVETAIL_ASSIGN(const isa::Machine machine, isa::load_machine(name));
    DOVETAIL_ASSIGN(const driver::System system, driver::resolve_system(machine.system, name, {}));
    if (json_) {
      print_json(isa::portable_machine_json(machine));
      return Exit::success;
    }
    const isa::AcceleratorConfigs configs = machine.configs();
    for (std::size_t i = 0; i < configs.size(); ++i)
      if (configs.kind(i) == i) print("{}\n", parameters_text(configs[i]));
    print("{}", times_text(machine, system));
    return Exit::success;
  }

  static std::string parameters_text(const isa::HardwareConfig& config) {
    TextTable table({"parameter", ">value"});
    const Json parameters = isa::config_to_json(config);
    for (const auto& [key, value] : parameters.items())
      table.add({key, value.is_string() ? value.get<std::string>() : value.dump()});
    TextTable memories({"memory", ">element bytes", ">depth"});
    for (const isa::spec::MemoryInfo& memory : isa::spec::kMemories)
      if (isa::spec::is_enabled(memory, config))
        memories.add({std::string(memory.name), fmt::format("{}", config.element_bytes(memory.id)),
                      fmt::format("{}", config.depth(memory.id))});
    return fmt::format("{}\nencoding: {}, {} bytes an instruction, {} a micro-op; {} MACs a GEMM micro-op\n\n{}",
                       table.to_string(0), encoding_text(config), config.instruction_bytes(), config.uop_bytes(),
                       config.macs_per_uop(), memories.to_string(0));
  }

  // Throughput and bandwidth that the hardware has with this system's clock and memory.
  static std::string times_text(const isa::Machine& machine, const driver::System& system) {
    const isa::HardwareConfig& config = machine.hardware;
    std::int64_t macs = config.macs_per_uop();  // of an accelerator, or of all that differ
    for (const isa::HardwareConfig& other : machine.system.others) macs += other.macs_per_uop();
    const double cycles_per_second = system.clock_mhz * 1e6;
    std::string text = fmt::format(
        "system: {:.6g} MHz, memory {}{}; {:.4g} GMAC/s{}, {}\n", system.clock_mhz, simulator::to_string(system.memory),
        system.accelerators == 1
            ? ""
            : fmt::format(", {} accelerators that divide {}", system.accelerators, isa::name(system.split)),
        static_cast<double>(macs) * cycles_per_second * 1e-9,
        system.accelerators == 1 ? ""
        : machine.is_uniform()   ? " each"
                                 : " together",
        simulator::to_string(simulator::peak_rate(system.memory, config.bus_bytes, system.accelerators),
                             cycles_per_second * 1e-9, "GB/s"));
    if (const auto* bank = std::get_if<simulator::BankMemory>(&system.memory))
      text += fmt::format("the memory's clock: {:.6g} MHz\n", 1e6 / static_cast<double>(bank->standard.clock_ps));
    const isa::AcceleratorConfigs configs = machine.configs();
    for (std::size_t i = 0; i < configs.size(); ++i)
      if (const std::string beyond = driver::beyond_design(configs[i], system.clock_mhz, system.level_ps);
          configs.kind(i) == i && !beyond.empty())
        text += fmt::format("clock: {}\n", beyond);
    return text;
  }

  std::string action_, config_, flow_;
  bool json_ = false, run_ = false, all_ = false, estimate_ = false;
  std::optional<std::string> technology_;
  PnrArguments pnr_;
};

}  // namespace

std::unique_ptr<Command> make_hw() { return std::make_unique<Hw>(); }

}  // namespace dovetail::cli
