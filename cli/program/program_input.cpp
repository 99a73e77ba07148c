#include "cli/program/program_input.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "cli/program/program_file.h"
#include "cli/program/program_image.h"
#include "cli/shell/arguments.h"
#include "cli/shell/standard_streams.h"

namespace dovetail::cli {

namespace {

Result<void> same_hardware(const isa::HardwareConfig& map, const isa::HardwareConfig& given, const std::string& path) {
  isa::HardwareConfig named = map;
  named.name = given.name;
  if (named == given) return {};
  return Diagnostic{"cannot use program map", path,
                    fmt::format("it is for configuration {}, and --hw is {}", map.name, given.name),
                    "leave --hw out, or assemble for that configuration"};
}

// The machine: `config` with the system of the named configuration that it equals, or with the default system.
isa::Machine machine_of(const isa::HardwareConfig& config) {
  for (const isa::Machine& machine : isa::named_machines())
    if (machine.hardware == config) return machine;
  return {config, {}};
}

// A program with its hardware, names and source lines, and the data items of an assembly file.
struct Loaded {
  ProgramInput input;
  std::optional<std::uint64_t> image_base;  // from a map
  std::vector<isa::ImageItem> items;
};

Result<Loaded> load_assembly(const ProgramArguments& arguments) {
  Loaded loaded;
  std::optional<isa::HardwareConfig> expected;
  if (arguments.hardware) {
    DOVETAIL_ASSIGN(loaded.input.machine, isa::load_machine(*arguments.hardware));
    expected = loaded.input.machine.hardware;
  }
  if (arguments.map)
    return Diagnostic{"bad usage", *arguments.map, "assembly text has its own names and needs no --map",
                      "leave --map out"};
  DOVETAIL_ASSIGN(isa::Assembly assembly, read_assembly(arguments.program, expected));
  if (assembly.program.empty())
    return Diagnostic{"cannot read program", arguments.program, "it has no instruction",
                      "check that it is the right file"};
  if (!arguments.hardware) loaded.input.machine = machine_of(assembly.config);
  loaded.input.program = std::move(assembly.program);
  loaded.input.launches = std::move(assembly.launches);
  loaded.input.symbols = std::move(assembly.symbols);
  loaded.input.source = {arguments.program, std::move(assembly.lines)};
  loaded.items = std::move(assembly.image);
  return loaded;
}

Result<Loaded> load_binary(const ProgramArguments& arguments, std::string_view command) {
  Loaded loaded;
  std::optional<ProgramMap> map;
  if (arguments.map) {
    DOVETAIL_ASSIGN(map, read_program_map(*arguments.map));
    loaded.input.machine = machine_of(map->hardware);
    loaded.input.launches = map->launches;
    loaded.input.symbols = map->symbols;
    loaded.input.source = map->source;
    loaded.image_base = map->image_base;
  } else if (!arguments.hardware) {
    return Diagnostic{fmt::format("bad usage of `dovetail {}`", command), "",
                      "--hw is required, since raw instructions do not name their configuration",
                      fmt::format("add --hw CONFIG or --map MAP.json; see `dovetail {} --help`", command)};
  }
  if (arguments.hardware) {
    DOVETAIL_ASSIGN(loaded.input.machine, isa::load_machine(*arguments.hardware));
    if (map) DOVETAIL_TRY(same_hardware(map->hardware, loaded.input.machine.hardware, *arguments.map));
  }
  DOVETAIL_ASSIGN(loaded.input.program, read_program(arguments.program, loaded.input.machine.hardware));
  if (map && map->instructions != loaded.input.program.size())
    return Diagnostic{"cannot use program map", *arguments.map,
                      fmt::format("it is for {} instructions, and {} has {}", map->instructions, arguments.program,
                                  loaded.input.program.size()),
                      "use the map that was written with the program"};
  return loaded;
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

Result<ProgramInput> read_program_input(const ProgramArguments& arguments, std::string_view command,
                                        const std::vector<std::string>& outputs) {
  DOVETAIL_ASSIGN(Loaded loaded,
                  is_assembly(arguments.program) ? load_assembly(arguments) : load_binary(arguments, command));
  ProgramInput& input = loaded.input;
  if (!arguments.launches.empty() || input.launches.empty()) {
    DOVETAIL_ASSIGN(input.launches, parse_launches(arguments.launches, input.program.size()));
  }
  if (arguments.dram_base && !arguments.dram)
    return Diagnostic{fmt::format("bad usage of `dovetail {}`", command), "--dram-base", "it needs --dram",
                      "add --dram IN.bin"};

  std::vector<ImagePart> base, placements;
  std::vector<std::byte> raw;
  if (arguments.dram) {
    std::uint64_t address = loaded.image_base.value_or(0);
    if (arguments.dram_base) {
      DOVETAIL_ASSIGN(address, parse_address("--dram-base", *arguments.dram_base));
    }
    DOVETAIL_ASSIGN(raw, read_image(*arguments.dram, address, input.machine.hardware));
    base.push_back({*arguments.dram, address, raw.size(), raw});
  }
  std::vector<NdArray> arrays;
  arrays.reserve(arguments.placements.size());  // the parts refer to the arrays
  for (const std::string& text : arguments.placements) {
    DOVETAIL_ASSIGN(const FileAt file, parse_file_at("--place", text));
    DOVETAIL_ASSIGN(const ImageSlice slice, parse_slice("--place", file.place, input.symbols, false));
    DOVETAIL_ASSIGN(NdArray array, read_array_or_bytes(file.file));
    if (!slice.shape.empty() && array.bytes().size() > slice.size_bytes)
      return Diagnostic{
          "cannot place array", text,
          fmt::format("it has {} bytes, and the place `{}` has {}", array.bytes().size(), file.place, slice.size_bytes),
          "reserve more room, or place a smaller array"};
    arrays.push_back(std::move(array));
    placements.push_back({text, slice.address, arrays.back().bytes().size(), arrays.back().bytes()});
  }
  for (const std::string& text : outputs) {
    DOVETAIL_ASSIGN(const FileAt file, parse_file_at("--output", text));
    DOVETAIL_ASSIGN(const ImageSlice slice, parse_slice("--output", file.place, input.symbols, true));
    placements.push_back({text, slice.address, slice.size_bytes, {}});
  }
  const std::vector<ImagePart> items = parts_of(loaded.items, arguments.program);
  input.has_image = !base.empty() || !items.empty() || !placements.empty();
  DOVETAIL_ASSIGN(input.dram, compose_image(input.machine.hardware, base, items, placements));
  return std::move(input);
}

}  // namespace dovetail::cli
