// Programs of the accelerator: assembled, disassembled, checked, simulated.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "capi/arguments.h"
#include "capi/bundle.h"
#include "capi/compiler/model.h"
#include "capi/include/dovetail.h"
#include "capi/session.h"
#include "capi/status.h"
#include "capi/tensor.h"
#include "cli/program/emit_region.h"
#include "cli/program/program_check.h"
#include "cli/program/program_image.h"
#include "cli/program/program_input.h"
#include "cli/program/program_map.h"
#include "cli/program/simulation.h"
#include "cli/report/energy_text.h"
#include "cli/report/simulation_report.h"
#include "cli/report/timing_text.h"
#include "cli/shell/arguments.h"
#include "driver/system.h"
#include "explore/energy/table.h"
#include "isa/codec.h"
#include "isa/system.h"
#include "isa/text.h"

namespace dovetail::capi {

namespace {

using Arrays = std::vector<std::pair<std::string, NdArray>>;
using TensorsOwner = std::unique_ptr<dvt_tensors, decltype(&dvt_tensors_free)>;

constexpr std::string_view kSramPlace = "sram:";

// A struct of a program, checked.
struct Program {
  dvt_program given{};
  std::string argument;  // "dvt_program_check: program"
  std::string name;
  std::optional<isa::Machine> machine;  // that of `hardware`

  std::optional<isa::HardwareConfig> expected() const {
    return machine ? std::optional(machine->hardware) : std::nullopt;
  }
  std::string member(std::string_view name_of) const { return fmt::format("{}, {}", argument, name_of); }
};

Result<Program> program_of(const dvt_program* given, std::string_view function) {
  Program program{.argument = fmt::format("{}: program", function), .name = {}, .machine = {}};
  DOVETAIL_TRY(require(given, program.argument));
  DOVETAIL_ASSIGN(program.given, options_of(given, program.argument, offsetof(dvt_program, map)));
  const dvt_program& options = program.given;
  if ((options.text == nullptr) == (options.instructions == nullptr))
    return bad_argument(program.argument, "both or none of text and instructions are set", "set one of them");
  if (options.text != nullptr && (options.map != nullptr || options.image != nullptr))
    return bad_argument(program.member("map"), "assembly text has its own names and memory",
                        "leave out map and image, or give instructions");
  if (options.image != nullptr && options.map == nullptr)
    return bad_argument(program.member("image"), "its address is unknown", "set map");
  DOVETAIL_TRY(check_texts(options.launches, program.member("launches")));
  program.name = text_or(options.name, "program");
  if (options.hardware != nullptr) {
    DOVETAIL_ASSIGN(program.machine, isa::load_uniform_machine(options.hardware, "a program of instructions"));
  }
  return program;
}

// A program to check or to simulate.
struct Loaded {
  cli::ProgramInput input;
  std::optional<cli::ProgramMap> map;  // of raw instructions
  std::vector<cli::ImagePart> base;    // the memory that comes with them
};

Result<Loaded> load(const Program& program) {
  const dvt_program& given = program.given;
  Loaded loaded;
  cli::ProgramInput& input = loaded.input;
  if (given.text != nullptr) {
    DOVETAIL_ASSIGN(isa::Assembly assembly, isa::parse_assembly(given.text, program.name, program.expected()));
    DOVETAIL_ASSIGN(input, cli::program_of(std::move(assembly), program.name, program.machine));
  } else {
    std::optional<cli::ProgramMap>& map = loaded.map;
    std::optional<isa::Machine> machine = program.machine;
    if (given.map != nullptr) {
      DOVETAIL_ASSIGN(const Json json, parse_json(given.map, program.member("map")));
      DOVETAIL_ASSIGN(map, cli::program_map_from_json(json, program.member("map")));
      DOVETAIL_ASSIGN(machine, cli::machine_of(*map, machine, program.member("map")));
    }
    if (!machine)
      return bad_argument(program.member("hardware"), "raw instructions do not name their configuration",
                          "set hardware or map");
    const std::span bytes(static_cast<const std::byte*>(given.instructions), given.size);
    DOVETAIL_ASSIGN(auto instructions, isa::Codec(machine->hardware).decode_program(bytes, program.name));
    if (instructions.empty())
      return Diagnostic{"cannot read program", program.name, "the program has no instruction",
                        "give a program with instructions"};
    DOVETAIL_ASSIGN(input, cli::program_of(std::move(instructions), program.name, *machine, map));
    if (given.image != nullptr)
      loaded.base.push_back({program.member("image"),
                             map->image_base,
                             given.image_size,
                             {static_cast<const std::byte*>(given.image), given.image_size}});
  }
  DOVETAIL_TRY(cli::set_launches(input, texts_of(given.launches)));
  return loaded;
}

Result<cli::ProgramInput> input_of(const Program& program, const Inputs& inputs,
                                   const std::vector<std::string>& places) {
  DOVETAIL_ASSIGN(Loaded loaded, load(program));
  cli::ProgramInput& input = loaded.input;
  std::vector<cli::Placement> placements;
  for (const auto& [place, array] : inputs) placements.push_back({place, place, array});
  std::vector<cli::ImageSlice> slices;
  for (const std::string& place : places) {
    if (place.starts_with(kSramPlace)) continue;
    DOVETAIL_ASSIGN(cli::ImageSlice slice, cli::parse_slice("places", place, input.symbols, true));
    slice.name = place;
    slices.push_back(std::move(slice));
  }
  DOVETAIL_TRY(cli::fill_image(input, loaded.base, "inputs", placements, slices));
  return std::move(loaded.input);
}

NdArray bytes_of(std::span<const std::byte> bytes) {
  return NdArray(DType::uint8, {static_cast<std::int64_t>(bytes.size())}, bytes);
}

NdArray rows_of(std::span<const std::byte> bytes, std::int64_t width) {
  return NdArray(DType::uint8, {static_cast<std::int64_t>(bytes.size()) / width, width}, bytes);
}

// A program in bytes.
struct Encoded {
  cli::ProgramMap map;
  std::vector<std::byte> instructions, uops, image;
};

Result<Encoded> assembled(const Program& program) {
  DOVETAIL_ASSIGN(const isa::Assembly assembly,
                  isa::parse_assembly(program.given.text, program.name, program.expected()));
  const isa::Codec codec(assembly.config);
  Encoded encoded;
  DOVETAIL_ASSIGN(encoded.instructions, codec.encode_program(assembly.program));
  for (const isa::Uop& uop : assembly.uops) DOVETAIL_TRY(codec.encode(uop, encoded.uops));
  DOVETAIL_ASSIGN(simulator::Dram image, cli::image_of(assembly, program.name));
  encoded.map = cli::map_of(assembly, program.name, image);
  encoded.image = std::move(image.bytes);
  return encoded;
}

// Raw instructions, which are bytes already.
Result<Encoded> encoded(const Program& program) {
  DOVETAIL_ASSIGN(const Loaded loaded, load(program));
  const cli::ProgramInput& input = loaded.input;
  Encoded encoded;
  if (loaded.map) encoded.map = *loaded.map;
  encoded.map.hardware = input.machine.hardware;
  encoded.map.instructions = input.program.size();
  DOVETAIL_ASSIGN(encoded.instructions, isa::Codec(input.machine.hardware).encode_program(input.program));
  for (const cli::ImagePart& part : loaded.base) encoded.image.assign(part.bytes.begin(), part.bytes.end());
  return encoded;
}

Result<void> assemble(const Program& program, dvt_tensors** outputs, char** json) {
  DOVETAIL_ASSIGN(Encoded encoded, program.given.text != nullptr ? assembled(program) : capi::encoded(program));
  if (program.given.launches.count > 0) {
    DOVETAIL_ASSIGN(encoded.map.launches,
                    cli::parse_launches(texts_of(program.given.launches), encoded.map.instructions));
  }
  if (outputs != nullptr) {
    const isa::HardwareConfig& config = encoded.map.hardware;
    Arrays arrays;
    arrays.emplace_back("instructions", rows_of(encoded.instructions, config.instruction_bytes()));
    arrays.emplace_back("uops", rows_of(encoded.uops, config.uop_bytes()));
    arrays.emplace_back("image", bytes_of(encoded.image));
    DOVETAIL_ASSIGN(*outputs, tensors_of(std::move(arrays), {}));
  }
  give_json(json, cli::to_json(encoded.map));
  return {};
}

Result<Arrays> read_places(const cli::Simulation& simulation, const std::vector<std::string>& places) {
  const simulator::Dram& dram = simulation.dram();
  Arrays arrays;
  for (const std::string& place : places) {
    if (place.starts_with(kSramPlace)) {
      DOVETAIL_ASSIGN(const isa::Memory memory,
                      cli::parse_sram("places", std::string_view(place).substr(kSramPlace.size())));
      const auto depth = static_cast<std::size_t>(simulation.config().depth(memory));
      arrays.emplace_back(place, simulation.sram()->read_sram(memory, 0, depth));
      continue;
    }
    DOVETAIL_ASSIGN(const cli::ImageSlice slice, cli::parse_slice("places", place, simulation.input().symbols, true));
    const std::span<const std::byte> bytes(dram.bytes);
    arrays.emplace_back(place,
                        NdArray(slice.dtype, slice.shape, bytes.subspan(slice.address - dram.base, slice.size_bytes)));
  }
  return arrays;
}

struct Receivers {
  dvt_tensors** outputs = nullptr;
  char** json = nullptr;
  char** trace = nullptr;
};

Result<void> simulate(const Program& program, const dvt_simulate_options& given, const Inputs& inputs,
                      const Receivers& to) {
  DOVETAIL_TRY(check_texts(given.places, "dvt_program_simulate: options, places"));
  const std::vector<std::string> places = texts_of(given.places);
  cli::SimulationOptions options;
  for (const std::string& place : places) {
    if (!place.starts_with(kSramPlace)) continue;
    DOVETAIL_TRY(cli::parse_sram("places", std::string_view(place).substr(kSramPlace.size())));
    options.reads_sram = true;
  }
  DOVETAIL_ASSIGN(const SessionSettings settings, settings_of(given.session, "dvt_program_simulate: options, session"));
  DOVETAIL_ASSIGN(cli::ProgramInput input, input_of(program, inputs, places));
  DOVETAIL_TRY(cli::set_offset(input, given.offset));
  if (given.until != nullptr) cli::settle_offset(input);
  options.engine = settings.engine;
  DOVETAIL_ASSIGN(options.system,
                  driver::resolve_system(input.machine.system, input.machine.hardware.name, settings.system));
  options.until = text_if(given.until);
  options.what_if = given.what_if != 0;
  options.engine_options.trace = to.trace != nullptr;
  if (to.trace != nullptr && options.until)
    return bad_argument("dvt_program_simulate: trace", "until is set, and the trace would have a launch without an end",
                        "leave one of them out");
  if (to.trace != nullptr && !runtime::has_timeline(settings.engine))
    return bad_argument("dvt_program_simulate: trace", runtime::no_timeline(settings.engine),
                        "use engine cycle, or no trace");
  DOVETAIL_ASSIGN(const explore::EnergyTable table, explore::default_energy_table());
  Work work;
  options.engine_options.work = &work;
  DOVETAIL_ASSIGN(const auto simulation, cli::Simulation::make(input, std::move(options)));
  {
    const Watched watched(settings.callbacks, &work, program.name);
    if (const auto ran = simulation->run(); !ran.ok()) return failed_work(ran.errors());
  }
  const driver::EnergyFacts energy = cli::energy_of(*simulation, table);
  TensorsOwner outputs(nullptr, dvt_tensors_free);
  if (to.outputs != nullptr) {
    DOVETAIL_ASSIGN(Arrays arrays, read_places(*simulation, places));
    DOVETAIL_ASSIGN(dvt_tensors* const made, tensors_of(std::move(arrays), settings.callbacks));
    outputs.reset(made);
  }
  if (to.trace != nullptr) {
    DOVETAIL_ASSIGN(const std::string text,
                    cli::trace_file_text(program.name, std::span(&simulation->timed(), 1), simulation->options().system,
                                         std::nullopt, cli::energy_json(energy)));
    *to.trace = owned_text(text);
  }
  give_json(to.json, cli::simulation_json(*simulation, energy));
  if (to.outputs != nullptr) *to.outputs = outputs.release();
  return {};
}

Result<void> programs_of(const bundle::Bundle& bundle, dvt_tensors** outputs, char** json) {
  DOVETAIL_ASSIGN(const std::vector<cli::RegionProgram> programs, cli::region_programs(bundle));
  Json rows = Json::array();
  Arrays arrays;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const cli::RegionProgram& program = programs[i];
    rows.push_back({{"name", program.name}, {"text", program.text}, {"map", cli::to_json(program.map)}});
    const std::int64_t width = program.map.hardware.instruction_bytes();
    arrays.emplace_back(fmt::format("instructions {}", i), rows_of(program.instructions, width));
    arrays.emplace_back(fmt::format("image {}", i), bytes_of(program.image));
  }
  if (outputs != nullptr) {
    DOVETAIL_ASSIGN(*outputs, tensors_of(std::move(arrays), {}));
  }
  give_json(json, {{"programs", rows}});
  return {};
}

}  // namespace

}  // namespace dovetail::capi

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

extern "C" {

dvt_status* dvt_program_assemble(const dvt_program* program, dvt_tensors** outputs, char** json) {
  if (json != nullptr) *json = nullptr;
  if (outputs != nullptr) *outputs = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_ASSIGN(const capi::Program own, capi::program_of(program, "dvt_program_assemble"));
    return assemble(own, outputs, json);
  });
}

dvt_status* dvt_program_disassemble(const dvt_program* program, char** text) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(text, "dvt_program_disassemble: text"));
    *text = nullptr;
    DOVETAIL_ASSIGN(const capi::Program own, capi::program_of(program, "dvt_program_disassemble"));
    DOVETAIL_ASSIGN(const Loaded loaded, load(own));
    *text = owned_text(isa::format_assembly(loaded.input.machine.hardware, loaded.input.program));
    return {};
  });
}

dvt_status* dvt_program_check(const dvt_program* program, const dvt_named_tensor* inputs, size_t count, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_program_check: json"));
    *json = nullptr;
    DOVETAIL_ASSIGN(const Inputs arrays, arrays_of(inputs, count, "dvt_program_check: inputs"));
    DOVETAIL_ASSIGN(const capi::Program own, capi::program_of(program, "dvt_program_check"));
    DOVETAIL_ASSIGN(const cli::ProgramInput input, input_of(own, arrays, {}));
    *json = owned_json(cli::findings_json(cli::verify_input(input), input.source));
    return {};
  });
}

dvt_status* dvt_program_simulate(const dvt_program* program, const dvt_simulate_options* options,
                                 const dvt_named_tensor* inputs, size_t count, dvt_tensors** outputs, char** json,
                                 char** trace) {
  for (char** out : {json, trace})
    if (out != nullptr) *out = nullptr;
  if (outputs != nullptr) *outputs = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_ASSIGN(const Inputs arrays, arrays_of(inputs, count, "dvt_program_simulate: inputs"));
    DOVETAIL_ASSIGN(const dvt_simulate_options given,
                    options_of(options, "dvt_program_simulate: options", offsetof(dvt_simulate_options, offset)));
    DOVETAIL_ASSIGN(const capi::Program own, capi::program_of(program, "dvt_program_simulate"));
    return simulate(own, given, arrays, {outputs, json, trace});
  });
}

dvt_status* dvt_simulate(const dvt_program* program, const dvt_session_options* options, const dvt_named_tensor* inputs,
                         size_t count, dvt_texts places, dvt_tensors** outputs, char** json) {
  dvt_simulate_options all{};
  all.struct_size = sizeof all;
  all.session = options;
  all.places = places;
  return dvt_program_simulate(program, &all, inputs, count, outputs, json, nullptr);
}

dvt_status* dvt_bundle_programs(const dvt_bundle* bundle, dvt_tensors** outputs, char** json) {
  if (json != nullptr) *json = nullptr;
  if (outputs != nullptr) *outputs = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(bundle, "dvt_bundle_programs: bundle"));
    return programs_of(bundle->loaded->bundle, outputs, json);
  });
}

}  // extern "C"
