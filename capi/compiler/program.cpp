// Simulating a program of the accelerator.
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "capi/arguments.h"
#include "capi/compiler/model.h"
#include "capi/include/dovetail.h"
#include "capi/session.h"
#include "capi/status.h"
#include "capi/tensor.h"
#include "cli/program/program_image.h"
#include "cli/report/energy_text.h"
#include "cli/report/system_text.h"
#include "cli/report/timing_text.h"
#include "cli/shell/arguments.h"
#include "driver/energy.h"
#include "driver/system.h"
#include "driver/timed_program.h"
#include "explore/energy/table.h"
#include "isa/codec.h"
#include "isa/system.h"
#include "isa/text.h"
#include "simulator/work_estimate.h"

namespace dovetail::capi {

namespace {

struct Program {
  std::string name;
  isa::Machine machine;
  std::vector<isa::Instruction> instructions;
  std::vector<isa::Launch> launches;
  std::vector<isa::Symbol> symbols;
  std::vector<isa::ImageItem> items;
};

// The named configuration with this hardware, or the default system around it.
isa::Machine machine_of(const isa::HardwareConfig& config) {
  for (const isa::Machine& machine : isa::named_machines())
    if (machine.hardware == config) return machine;
  return {config, {}};
}

Result<Program> program_of(const dvt_program* given) {
  constexpr std::string_view kArgument = "dvt_simulate: program";
  DOVETAIL_TRY(require(given, kArgument));
  DOVETAIL_ASSIGN(const dvt_program options, options_of(given, kArgument));
  if ((options.text == nullptr) == (options.instructions == nullptr))
    return bad_argument(kArgument, "both or none of text and instructions are set", "set one of them");
  DOVETAIL_TRY(check_texts(options.launches, "dvt_simulate: program, launches"));
  Program program;
  program.name = text_or(options.name, "program");
  std::optional<isa::HardwareConfig> expected;
  if (options.hardware != nullptr) {
    DOVETAIL_ASSIGN(program.machine, isa::load_machine(options.hardware));
    expected = program.machine.hardware;
  }
  if (options.text != nullptr) {
    DOVETAIL_ASSIGN(isa::Assembly assembly, isa::parse_assembly(options.text, program.name, expected));
    if (!expected) program.machine = machine_of(assembly.config);
    program.instructions = std::move(assembly.program);
    program.launches = std::move(assembly.launches);
    program.symbols = std::move(assembly.symbols);
    program.items = std::move(assembly.image);
  } else {
    if (!expected)
      return bad_argument("dvt_simulate: program, hardware", "raw instructions do not name their configuration",
                          "set hardware");
    const std::span bytes(static_cast<const std::byte*>(options.instructions), options.size);
    DOVETAIL_ASSIGN(program.instructions, isa::Codec(*expected).decode_program(bytes, program.name));
  }
  if (program.instructions.empty())
    return Diagnostic{"cannot simulate", program.name, "it has no instruction", "give a program"};
  if (options.launches.count > 0 || program.launches.empty()) {
    DOVETAIL_ASSIGN(program.launches, cli::parse_launches(texts_of(options.launches), program.instructions.size()));
  }
  return program;
}

// The image from the text's items, the inputs, and room for the places that are read.
Result<simulator::Dram> image_of(const Program& program, const Inputs& inputs,
                                 const std::vector<cli::ImageSlice>& places) {
  std::vector<cli::ImagePart> items, placements;
  for (const isa::ImageItem& item : program.items)
    items.push_back({fmt::format("{}:{}", program.name, item.line), item.address, item.size_bytes, item.bytes});
  for (const auto& [place, array] : inputs) {
    DOVETAIL_ASSIGN(const cli::ImageSlice slice, cli::parse_slice("inputs", place, program.symbols, false));
    if (!slice.shape.empty() && array.bytes().size() > slice.size_bytes)
      return Diagnostic{"cannot place tensor", place,
                        fmt::format("it has {} bytes, and the place has {}", array.bytes().size(), slice.size_bytes),
                        "reserve more room, or place a smaller tensor"};
    placements.push_back({place, slice.address, array.bytes().size(), array.bytes()});
  }
  for (const cli::ImageSlice& slice : places) placements.push_back({slice.name, slice.address, slice.size_bytes, {}});
  if (items.empty() && placements.empty())
    return Diagnostic{"cannot simulate", program.name, "the program has no memory to work on",
                      "give inputs or places, or .data and .space lines"};
  return cli::compose_image(program.machine.hardware, {}, items, placements);
}

Result<void> simulate(const dvt_program* given, const dvt_session_options* options, Inputs inputs,
                      const std::vector<std::string>& texts, dvt_tensors** outputs, char** json) {
  DOVETAIL_ASSIGN(const Program program, program_of(given));
  DOVETAIL_ASSIGN(const SessionSettings settings, settings_of(options, "dvt_simulate: options"));
  const isa::HardwareConfig& config = program.machine.hardware;
  std::vector<cli::ImageSlice> places;
  for (const std::string& text : texts) {
    DOVETAIL_ASSIGN(cli::ImageSlice slice, cli::parse_slice("places", text, program.symbols, true));
    slice.name = text;
    places.push_back(std::move(slice));
  }
  DOVETAIL_ASSIGN(simulator::Dram dram, image_of(program, inputs, places));
  DOVETAIL_ASSIGN(const driver::System system,
                  driver::resolve_system(program.machine.system, config.name, settings.system));
  DOVETAIL_ASSIGN(const explore::EnergyTable table, explore::default_energy_table());
  Work work;
  simulator::EngineOptions engine;
  engine.memory = system.memory;
  engine.accelerators = system.accelerators;
  engine.work = &work;
  DOVETAIL_ASSIGN(const auto make, runtime::simulator_factory(settings.engine, engine));
  DOVETAIL_ASSIGN(const auto simulator, make(config));
  driver::TimedProgram timed{.name = program.name,
                             .config = config,
                             .program = program.instructions,
                             .launches = program.launches,
                             .traces = {},
                             .counters = {}};
  const std::span instructions(program.instructions);
  for (const isa::Launch& launch : program.launches)
    DOVETAIL_TRY(work.expect(program.name, simulator::estimate_work(settings.engine, config,
                                                                    instructions.subspan(launch.begin, launch.count))));
  const auto start = std::chrono::steady_clock::now();
  Json launches = Json::array();
  {
    const Watched watched(settings.callbacks, &work, program.name);
    for (const isa::Launch& launch : program.launches) {
      const auto counters = simulator->launch(instructions.subspan(launch.begin, launch.count), dram, launch.begin);
      if (!counters.ok()) return failed_work(counters.errors());
      timed.counters += *counters;
      launches.push_back({{"begin", launch.begin}, {"count", launch.count}, {"counters", to_json(*counters)}});
      if (const simulator::LaunchTrace* timing = simulator->timing()) timed.traces.push_back(*timing);
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (outputs != nullptr) {
    std::vector<std::pair<std::string, NdArray>> arrays;
    for (const cli::ImageSlice& slice : places)
      arrays.emplace_back(
          slice.name,
          NdArray(slice.dtype, slice.shape,
                  std::span<const std::byte>(dram.bytes).subspan(slice.address - dram.base, slice.size_bytes)));
    DOVETAIL_ASSIGN(*outputs, tensors_of(std::move(arrays), settings.callbacks));
  }
  if (json == nullptr) return {};
  std::optional<explore::RunTime> time;
  if (!timed.traces.empty()) time = {driver::cycles_of(timed), system.clock_mhz * 1e6, system.accelerators};
  Json report{{"kind", "simulate"},
              {"program", program.name},
              {"engine", settings.engine},
              {"hardware", isa::config_to_json(config)},
              {"launches", launches},
              {"counters", to_json(timed.counters)},
              {"seconds", seconds.count()},
              {"compared_with", nullptr},
              {"energy", cli::energy_json(driver::energy_facts(timed.counters, config, system.memory, time, table))}};
  if (!timed.traces.empty()) {
    report["system"] = cli::system_json(system);
    report["timing"] = cli::timing_json(timed, system);
  }
  *json = owned_json(report);
  return {};
}

}  // namespace

}  // namespace dovetail::capi

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

extern "C" {

dvt_status* dvt_simulate(const dvt_program* program, const dvt_session_options* options, const dvt_named_tensor* inputs,
                         size_t count, dvt_texts places, dvt_tensors** outputs, char** json) {
  if (json != nullptr) *json = nullptr;
  if (outputs != nullptr) *outputs = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_ASSIGN(Inputs arrays, arrays_of(inputs, count, "dvt_simulate: inputs"));
    DOVETAIL_TRY(check_texts(places, "dvt_simulate: places"));
    return simulate(program, options, std::move(arrays), texts_of(places), outputs, json);
  });
}

}  // extern "C"
