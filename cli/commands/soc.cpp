#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/folder.h"
#include "bundle/bundle.h"
#include "cli/commands/all.h"
#include "cli/commands/build_model.h"
#include "cli/report/soc_text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/progress.h"
#include "cli/shell/session_arguments.h"
#include "cli/shell/watched_work.h"
#include "driver/bundle_file.h"
#include "driver/soc.h"
#include "driver/soc_boot.h"
#include "driver/tensor_files.h"
#include "isa/config.h"
#include "simulator/soc/memory_map.h"

namespace dovetail::cli {

namespace {

class Soc : public Command {
 public:
  void declare(Options& options) override {
    options
        .positional(
            "ACTION", action_,
            "run: a model on the system; boot: a program of yours; build: make the system's Verilated model if it is "
            "missing; map: print its memory map")
        .choices({"run", "boot", "build", "map"});
    options.positional("FILE", session_.model.model,
                       "for run: MODEL.onnx, or shapes alone (docs/howto/shapes.md); for boot: PROGRAM.c or .S, built "
                       "with the kit's start and serial line, or the contents of RAM as .bin",
                       Need::optional, File::read);
    session_.model.source.declare(options);
    options.value("--hw", "CONFIG", session_.model.hardware,
                  fmt::format("{} (default {})", kHardwareHelp, driver::kDefaultHardware), File::read);
    options
        .value("--engine", "NAME", engine_,
               "for run and boot: rtl, the design in Verilator (default); systemc, a loosely timed model, whose "
               "launches have the "
               "same cycles: many times faster")
        .choices({"rtl", "systemc"});
    options.value("--clock", "MHZ", session_.model.system.clock, "clock of the system, which memory models need");
    options.value("--memory", "MODEL", session_.model.system.memory,
                  "the accelerator's DRAM, as for `dovetail run` (docs/reference/memory-models.md)");
    options.value("--memory-bytes", "N", memory_bytes_,
                  "size of that memory (default: as much as the program needs; for boot 1 MiB)");
    options.value(
        "--memory-error", "ADDRESS", broken_,
        "from the first launch on, the memory answers accesses of this address of the accelerator with SLVERR");
    options
        .value("--wait", "HOW", wait_,
               "interrupt: firmware sleeps until a launch ends (default); poll: it reads STATUS")
        .choices({"interrupt", "poll"});
    options.values("--input", "NAME=FILE", inputs_,
                   "a .npy file or ONNX TensorProto .pb; without it seeded random values; repeatable", File::read);
    options.value("--serial-input", "FILE", serial_input_,
                  "for boot: bytes that the program reads from the serial line (soc_read)", File::read);
    options.value("--seed", "N", session_.seed, "seed of the random inputs (default 1)");
    options.values("--shape", "NAME=SHAPE", session_.model.shapes,
                   "extent of a symbolic dimension, or shape of an input: batch=1, x=1x3x224x224; repeatable");
    options.value("-O", "N", session_.model.level, "optimization level, as of `dovetail compile` (default 2)")
        .choices({"0", "1", "2", "3"});
    options.value("--max-cycles", "N", max_cycles_, "end a run that takes more cycles (default 1000000000)");
    options.value("--output-dir", "DIR", output_dir_, "write every output as DIR/NAME.npy; a missing DIR is created",
                  File::folder);
    options.value("--keep", "DIR", keep_, "keep the firmware, with its sources, in this folder", File::folder);
    options.flag("--assertions", assertions_, "check the design's assertions");
    options.value("--waves", "W.fst", waves_, "write the waveform of the whole system", File::written_text);
    options.flag("--no-build", no_build_, "refuse to build a model that is missing");
    options.value("--design", "DIR", design_, "the folder with rtl/, soc/, sva/ and tb/ (default: this kit's design)");
    options.value("--into", "DIR", into_, "for build: folder for the model (default: the cache, where run finds it)",
                  File::folder);
    options.flag("--fast-build", fast_, "for build: make a model that builds faster and runs slower");
    options.value("--format", "FORMAT", format_, "for map: markdown (default), c or sv")
        .choices({"markdown", "c", "sv"});
    limit_.declare(options);
    options.json(json_);
    options.footer(
        "Needs Verilator, PicoRV32 (DOVETAIL_PICORV32, or Python's package pythondata-cpu-picorv32), and GCC and "
        "picolibc\n"
        "for riscv64-unknown-elf. docs/howto/system-on-chip.md describes the system.\n"
        "Example: dovetail soc run examples/digits/digits_int8.onnx --hw tiny\n"
        "         dovetail soc boot program.c --hw tiny --serial-input input.txt");
  }

  Result<Exit> run() override {
    if (action_ == "map") return print_map();
    if (action_ == "build") return build();
    if (action_ == "boot") return boot();
    if (action_ == "run") return run_model();
    return Diagnostic{"bad usage of `dovetail soc`", action_, "the actions are run, boot, build and map",
                      "see `dovetail soc --help`"};
  }

 private:
  Result<Exit> print_map() const {
    namespace soc = simulator::soc;
    if (format_ != "markdown" && format_ != "c" && format_ != "sv")
      return Diagnostic{"invalid value for --format", format_, "the format is unknown", "give markdown, c or sv"};
    write_result(format_ == "c" ? soc::map_header() : format_ == "sv" ? soc::map_package() : soc::map_markdown());
    return Exit::success;
  }

  Result<Exit> build() {
    DOVETAIL_ASSIGN(const auto config, isa::load_config(session_.model.hardware.value_or(driver::kDefaultHardware)));
    DOVETAIL_ASSIGN(auto core, simulator::soc::find_core());
    return build_model(config, {.kind = {.waves = waves_.has_value(), .optimize = !fast_, .core = std::move(core)},
                                .design = design_,
                                .into = into_,
                                .report_kind = "soc-build",
                                .json = json_});
  }

  Result<driver::SocOptions> parse() const {
    driver::SocOptions options;
    if (engine_ != "rtl" && engine_ != "systemc")
      return Diagnostic{"invalid value for --engine", engine_, "the system has no such engine",
                        "give --engine rtl or --engine systemc"};
    if (engine_ != "rtl" && (assertions_ || waves_ || no_build_))
      return Diagnostic{fmt::format("bad usage of `dovetail soc {}`", action_), "--engine " + engine_,
                        "--assertions, --waves and --no-build are for the Verilated design",
                        "remove them, or give --engine rtl"};
    options.engine = engine_;
    if (wait_ != "interrupt" && wait_ != "poll")
      return Diagnostic{"invalid value for --wait", wait_, "the word is unknown",
                        "give --wait interrupt or --wait poll"};
    options.wait = wait_ == "poll" ? driver::Wait::poll : driver::Wait::interrupt;
    DOVETAIL_ASSIGN(options.inputs, parse_assignments("--input", inputs_));
    if (memory_bytes_) {
      DOVETAIL_ASSIGN(const std::int64_t bytes,
                      parse_count("--memory-bytes", *memory_bytes_, 0, std::int64_t{1} << 30));
      options.memory_bytes = static_cast<std::uint64_t>(bytes);
    }
    if (broken_) {
      DOVETAIL_ASSIGN(options.broken, parse_address("--memory-error", *broken_));
    }
    DOVETAIL_ASSIGN(const std::int64_t cycles, parse_count("--max-cycles", max_cycles_, 1));
    options.limit_cycles = static_cast<std::uint64_t>(cycles);
    options.assertions = assertions_;
    options.build_missing = !no_build_;
    if (waves_) options.waves = *waves_;
    if (design_) options.design = *design_;
    if (keep_) {
      DOVETAIL_TRY(driver::make_result_folder("--keep", *keep_));
      if (const auto files = entries_of(*keep_);
          !files.empty() &&
          std::ranges::find(files, "dovetail_soc.h", [](const auto& file) { return file.filename(); }) == files.end())
        return Diagnostic{"cannot keep the firmware", *keep_, "the folder has other files, which would be overwritten",
                          "name a new folder"};
      options.keep = *keep_;
    }
    return options;
  }

  // Options of a model, which a program does not have.
  std::optional<std::string_view> option_of_models() const {
    if (!inputs_.empty()) return "--input";
    if (!session_.model.source.layers.empty()) return "--layer";
    if (output_dir_) return "--output-dir";
    if (!session_.model.shapes.empty()) return "--shape";
    if (session_.seed != SessionArguments{}.seed) return "--seed";
    if (session_.model.level != ModelArguments{}.level) return "-O";
    if (wait_ != "interrupt") return "--wait";
    return std::nullopt;
  }

  Result<Exit> boot() {
    const std::string& program = session_.model.model;
    if (program.empty())
      return Diagnostic{"bad usage of `dovetail soc boot`", "PROGRAM", "it is missing", "give a .c, .S or .bin file"};
    if (const auto option = option_of_models())
      return Diagnostic{"bad usage of `dovetail soc boot`", std::string(*option),
                        "the option is for `dovetail soc run`", "remove it"};
    DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(limit_.limits));
    DOVETAIL_ASSIGN(driver::SocOptions options, parse());
    DOVETAIL_ASSIGN(const driver::ModelOptions named, session_.model.parse());
    DOVETAIL_ASSIGN(const isa::Machine machine, driver::machine_of(named));
    DOVETAIL_ASSIGN(const driver::System system, driver::system_of(named));
    driver::SocProgram what{.source = program};
    if (serial_input_) {
      DOVETAIL_ASSIGN(what.serial_input, read_text_file(*serial_input_));
    }
    WatchedWork watched(limit);
    options.work = watched.work();
    watched.begin();
    RunningStep step;
    options.report = [&](std::string_view name) { step.begin(name); };
    const auto booted = driver::boot_soc(machine.hardware, system.memory, what, options);
    step.end();
    watched.finish();
    if (!booted.ok()) return booted.errors();
    const SocBootFacts facts{*booted, program, machine.hardware.name, engine_, simulator::to_string(system.memory)};
    if (json_) print_json(soc_boot_json(facts));
    else print("{}", soc_boot_text(facts));
    if (booted->status == 0) return Exit::success;
    return fail(Exit::failed, {{"the program ended with an error", program,
                                fmt::format("its status is {}, and not 0", booted->status),
                                "docs/howto/system-on-chip.md lists what ends a run", Cause::work}});
  }

  Result<Exit> run_model() {
    if (serial_input_)
      return Diagnostic{"bad usage of `dovetail soc run`", "--serial-input", "the firmware of a model does not read",
                        "remove the option"};
    if (!session_.model.given())
      return Diagnostic{"bad usage of `dovetail soc run`", "MODEL.onnx", "it is missing",
                        "give a model, or layers with --layer"};
    DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(limit_.limits));
    DOVETAIL_ASSIGN(driver::SocOptions options, parse());
    WatchedWork watched(limit);
    ModelArguments model = session_.model;
    model.targets = "accel,cpu";
    SessionArguments arguments = session_;
    arguments.model = std::move(model);
    arguments.engine = "cycle";
    DOVETAIL_ASSIGN(driver::SessionOptions opened, arguments.parse());
    if (opened.model.shapes.size() > 1)
      return Diagnostic{"invalid value for --shape", session_.model.title(),
                        "the option gives several shapes for one name", "give one shape for each name"};
    DOVETAIL_ASSIGN(const bool is_bundle,
                    opened.model.path.empty() ? Result<bool>(false) : driver::is_bundle_file(opened.model.path));
    if (is_bundle)
      return Diagnostic{"bad usage of `dovetail soc run`", opened.model.path, "the file is a bundle",
                        "give the model that it was made from"};
    opened.model = driver::portable_model(std::move(opened.model));
    opened.work = options.work = watched.work();
    DOVETAIL_ASSIGN(driver::Session session, driver::Session::open(std::move(opened)));
    DOVETAIL_TRY(compile_shown(session));
    std::vector<std::string> names;
    for (const bundle::TensorIndex index : session.bundle().outputs)
      names.push_back(session.bundle().tensors[static_cast<std::size_t>(index)].name);
    if (output_dir_) DOVETAIL_TRY(driver::output_files(*output_dir_, names));
    watched.begin();
    RunningStep step;
    options.report = [&](std::string_view what) { step.begin(what); };
    const auto ran = driver::run_soc(session, options);
    step.end();
    watched.finish();
    if (!ran.ok()) return ran.errors();
    const SocFacts facts{*ran, session_.model.title(), engine_, wait_};
    if (json_) print_json(soc_json(facts));
    else print("{}", soc_text(facts));
    if (output_dir_) DOVETAIL_TRY(write_outputs(*ran));
    const Diagnostics problems = ran->problems(session_.model.title());
    return problems.empty() ? Exit::success : fail(Exit::failed, problems);
  }

  Result<void> write_outputs(const driver::SocRun& run) const {
    std::map<std::string, NdArray> outputs;
    for (const driver::SocOutput& output : run.outputs) outputs.insert_or_assign(output.name, output.found);
    DOVETAIL_ASSIGN(const auto paths, driver::write_outputs(*output_dir_, outputs));
    for (const std::string& path : paths) print("written       {}\n", path);
    return {};
  }

  std::string action_, engine_ = "rtl", wait_ = "interrupt", max_cycles_ = "1000000000", format_ = "markdown";
  SessionArguments session_;
  LimitArguments limit_;
  std::optional<std::string> memory_bytes_, broken_, output_dir_, keep_, waves_, design_, into_, serial_input_;
  std::vector<std::string> inputs_;
  bool assertions_ = false, no_build_ = false, fast_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_soc() { return std::make_unique<Soc>(); }

}  // namespace dovetail::cli
