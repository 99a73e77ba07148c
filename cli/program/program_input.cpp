#include "cli/program/program_input.h"

#include <filesystem>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "cli/program/program_file.h"
#include "cli/shell/arguments.h"
#include "cli/shell/standard_streams.h"
#include "isa/offset.h"

namespace dovetail::cli {

namespace {

// The machine: `config` with the system of the named configuration that it equals, or with the default system.
isa::Machine machine_of(const isa::HardwareConfig& config) {
  for (const isa::Machine& machine : isa::named_machines())
    if (machine.hardware == config) return machine;
  return {config, {}};
}

Result<ProgramInput> load_assembly(const ProgramArguments& arguments) {
  std::optional<isa::Machine> machine;
  std::optional<isa::HardwareConfig> expected;
  if (arguments.hardware) {
    DOVETAIL_ASSIGN(machine, isa::load_uniform_machine(*arguments.hardware, "a program of instructions"));
    expected = machine->hardware;
  }
  if (arguments.map)
    return Diagnostic{"bad usage", *arguments.map, "assembly text has its own names and needs no --map",
                      "remove --map"};
  DOVETAIL_ASSIGN(isa::Assembly assembly, read_assembly(arguments.program, expected));
  return program_of(std::move(assembly), arguments.program, machine);
}

Result<ProgramInput> load_binary(const ProgramArguments& arguments, std::string_view command,
                                 const std::optional<ProgramMap>& map) {
  if (!map && !arguments.hardware)
    return Diagnostic{fmt::format("bad usage of `dovetail {}`", command), "",
                      "--hw is required, since raw instructions do not name their configuration",
                      fmt::format("add --hw CONFIG or --map MAP.json; see `dovetail {} --help`", command)};
  std::optional<isa::Machine> machine;
  if (arguments.hardware) {
    DOVETAIL_ASSIGN(machine, isa::load_uniform_machine(*arguments.hardware, "a program of instructions"));
  }
  if (map) {
    DOVETAIL_ASSIGN(machine, machine_of(*map, machine, *arguments.map));
  }
  DOVETAIL_ASSIGN(std::vector<isa::Instruction> program, read_program(arguments.program, machine->hardware));
  return program_of(std::move(program), arguments.program, *machine, map);
}

}  // namespace

void ProgramArguments::declare(Options& options) {
  options.positional("PROGRAM.s|.bin", program,
                     "assembly text, or raw instructions, 16 bytes each (32 in the wide encoding)", Need::required,
                     File::read);
  options.value("--hw", "CONFIG", hardware, fmt::format("{}; assembly text names it itself (.config)", kHardwareHelp),
                File::read);
  options.value("--map", "MAP.json", map, "for raw instructions: the map that `dovetail asm --map` wrote", File::read);
  options.value("--dram", "IN.bin", dram, "the memory image: raw bytes, or the elements of a .npy", File::read);
  options.value("--dram-base", "ADDR", dram_base,
                "physical address of the image's first byte (default 0, or the map's)");
  options.placed_files("--place", "FILE@PLACE", placements,
                       "put a .npy's elements, or a file's bytes, at an address, NAME or NAME+BYTES; repeatable",
                       File::read);
  options.value("--program-base", "ADDR", program_base,
                "physical address of the program: for engines that fetch it, and\n"
                "to find a STORE that reaches it");
  options.value("--offset", "BYTES", offset,
                "the register OFFSET, which LOADs and STOREs with `offset` add to their address (default 0)");
  options.values("--launch", "BEGIN:COUNT", launches,
                 "run these instructions to completion; repeatable, in order, over one SRAM and\n"
                 "DRAM state (default: the text's .launch, or one launch of all)");
}

bool is_assembly(const std::string& path) { return path.ends_with(".s") || path.ends_with(".asm"); }

isa::ReadData read_data_files_near(const std::string& path) {
  // Text from stdin reads its files from the current folder.
  return [folder = is_stdin_file(path) ? std::filesystem::path() : std::filesystem::path(path).parent_path()](
             const std::string& file) { return read_array_or_bytes(folder / file); };
}

Result<isa::Assembly> read_assembly(const std::string& path, const std::optional<isa::HardwareConfig>& expected) {
  DOVETAIL_ASSIGN(const std::string text, read_text_file(path));
  return isa::parse_assembly(text, path, expected, read_data_files_near(path));
}

ProgramMap map_of(const isa::Assembly& assembly, const std::string& path, const simulator::Dram& image) {
  return {assembly.config,   image.base,       image.bytes.size(),    assembly.program.size(),
          assembly.launches, assembly.symbols, {path, assembly.lines}};
}

namespace {

std::vector<ImagePart> parts_of(const std::vector<isa::ImageItem>& items, const std::string& path) {
  std::vector<ImagePart> parts;
  for (const isa::ImageItem& item : items)
    parts.push_back({fmt::format("{}:{}", path, item.line), item.address, item.size_bytes, item.bytes});
  return parts;
}

}  // namespace

Result<simulator::Dram> image_of(const isa::Assembly& assembly, const std::string& path) {
  return compose_image(assembly.config, {}, parts_of(assembly.image, path), {});
}

Result<isa::Machine> machine_of(const ProgramMap& map, const std::optional<isa::Machine>& given,
                                const std::string& where) {
  if (!given) return machine_of(map.hardware);
  isa::HardwareConfig named = map.hardware;
  named.name = given->hardware.name;
  if (named == given->hardware) return *given;
  return Diagnostic{"cannot use program map", where,
                    fmt::format("the map is for configuration {}, but {} is given", map.hardware.name, named.name),
                    "remove the configuration, or assemble the program for it"};
}

Result<ProgramInput> program_of(isa::Assembly assembly, const std::string& name,
                                const std::optional<isa::Machine>& machine) {
  if (assembly.program.empty())
    return Diagnostic{"cannot read program", name, "the file has no instruction", "check that it is the right file"};
  return ProgramInput{.name = name,
                      .machine = machine ? *machine : machine_of(assembly.config),
                      .program = std::move(assembly.program),
                      .launches = std::move(assembly.launches),
                      .dram = {},
                      .symbols = std::move(assembly.symbols),
                      .source = {name, std::move(assembly.lines)},
                      .items = std::move(assembly.image)};
}

Result<ProgramInput> program_of(std::vector<isa::Instruction> program, const std::string& name,
                                const isa::Machine& machine, const std::optional<ProgramMap>& map) {
  ProgramInput input{.name = name, .machine = machine, .program = std::move(program)};
  if (!map) return input;
  if (map->instructions != input.program.size())
    return Diagnostic{
        "cannot use program map", name,
        fmt::format("the map is for {} instructions, but the program has {}", map->instructions, input.program.size()),
        "use the map that was written with the program"};
  input.launches = map->launches;
  input.symbols = map->symbols;
  input.source = map->source;
  return input;
}

Result<void> set_offset(ProgramInput& input, std::uint64_t offset) {
  DOVETAIL_TRY(isa::check_offset(input.machine.hardware, offset));
  input.offset = offset;
  return {};
}

void settle_offset(ProgramInput& input) {
  input.program = isa::at_offset(input.machine.hardware, input.program, input.offset);
  input.offset = 0;
}

Result<void> set_launches(ProgramInput& input, const std::vector<std::string>& texts) {
  if (texts.empty() && !input.launches.empty()) return {};
  DOVETAIL_ASSIGN(input.launches, parse_launches(texts, input.program.size()));
  return {};
}

Result<void> fill_image(ProgramInput& input, const std::vector<ImagePart>& base, std::string_view option,
                        const std::vector<Placement>& placements, const std::vector<ImageSlice>& reserved) {
  std::vector<ImagePart> parts;
  for (const Placement& placement : placements) {
    DOVETAIL_ASSIGN(const ImageSlice slice, parse_slice(option, placement.place, input.symbols, false));
    const std::span<const std::byte> bytes = placement.array.bytes();
    if (!slice.shape.empty() && bytes.size() > slice.size_bytes)
      return Diagnostic{
          "cannot place array", placement.text,
          fmt::format("the array has {} bytes, but `{}` has {}", bytes.size(), placement.place, slice.size_bytes),
          "reserve more bytes, or place a smaller array"};
    parts.push_back({placement.text, slice.address, bytes.size(), bytes});
  }
  for (const ImageSlice& slice : reserved) parts.push_back({slice.name, slice.address, slice.size_bytes, {}});
  const std::vector<ImagePart> items = parts_of(input.items, input.name);
  input.has_image = !base.empty() || !items.empty() || !parts.empty();
  DOVETAIL_ASSIGN(input.dram, compose_image(input.machine.hardware, base, items, parts));
  return {};
}

Result<ProgramInput> read_program_input(const ProgramArguments& arguments, std::string_view command,
                                        const std::vector<std::string>& outputs) {
  std::optional<ProgramMap> map;
  if (arguments.map && !is_assembly(arguments.program)) {
    DOVETAIL_ASSIGN(map, read_program_map(*arguments.map));
  }
  DOVETAIL_ASSIGN(ProgramInput input,
                  is_assembly(arguments.program) ? load_assembly(arguments) : load_binary(arguments, command, map));
  DOVETAIL_TRY(set_launches(input, arguments.launches));
  if (arguments.program_base) {
    DOVETAIL_ASSIGN(input.program_base, parse_address("--program-base", *arguments.program_base));
  }
  if (arguments.offset) {
    DOVETAIL_ASSIGN(const std::uint64_t offset, parse_address("--offset", *arguments.offset));
    DOVETAIL_TRY(set_offset(input, offset));
  }
  if (arguments.dram_base && !arguments.dram)
    return Diagnostic{fmt::format("bad usage of `dovetail {}`", command), "--dram-base", "the option needs --dram",
                      "add --dram IN.bin"};

  std::vector<ImagePart> base;
  std::vector<std::byte> raw;
  if (arguments.dram) {
    std::uint64_t address = map ? map->image_base : 0;
    if (arguments.dram_base) {
      DOVETAIL_ASSIGN(address, parse_address("--dram-base", *arguments.dram_base));
    }
    DOVETAIL_ASSIGN(raw, read_image(*arguments.dram, address, input.machine.hardware));
    base.push_back({*arguments.dram, address, raw.size(), raw});
  }
  std::vector<Placement> placements;
  for (const std::string& text : arguments.placements) {
    DOVETAIL_ASSIGN(const FileAt file, parse_file_at("--place", text));
    DOVETAIL_ASSIGN(NdArray array, read_array_or_bytes(file.file));
    placements.push_back({text, file.place, std::move(array)});
  }
  std::vector<ImageSlice> reserved;
  for (const std::string& text : outputs) {
    DOVETAIL_ASSIGN(const FileAt file, parse_file_at("--output", text));
    DOVETAIL_ASSIGN(ImageSlice slice, parse_slice("--output", file.place, input.symbols, true));
    slice.name = text;
    reserved.push_back(std::move(slice));
  }
  DOVETAIL_TRY(fill_image(input, base, "--place", placements, reserved));
  return input;
}

}  // namespace dovetail::cli
