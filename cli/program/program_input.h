// The input of `check`, `simulate` and `debug`, and of the C interface: a program, raw or as assembly text, and the
// memory that it works on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "cli/program/program_image.h"
#include "cli/program/program_map.h"
#include "cli/shell/options.h"
#include "isa/instruction.h"
#include "isa/system.h"
#include "isa/verify.h"
#include "simulator/simulator.h"

namespace dovetail::cli {

struct ProgramArguments {
  std::string program;
  std::optional<std::string> hardware, dram, dram_base, program_base, offset, map;
  std::vector<std::string> launches, placements;

  void declare(Options& options);
};

struct ProgramInput {
  std::string name;  // in diagnostics
  isa::Machine machine = {};
  std::vector<isa::Instruction> program = {};
  std::vector<isa::Launch> launches = {};  // at least one, after set_launches()
  simulator::Dram dram = {};
  bool has_image = false;
  std::vector<isa::Symbol> symbols = {};
  SourceLines source = {};
  std::vector<isa::ImageItem> items = {};                    // .uop, .data and .space lines
  std::optional<std::uint64_t> program_base = std::nullopt;  // address of the program, for engines that fetch it
  std::uint64_t offset = 0;                                  // the register OFFSET, as check_offset() allows it
};

// Whether a path names assembly text: it ends in .s or .asm.
bool is_assembly(const std::string& path);
// Reads the files of .data lines from the folder of the text.
isa::ReadData read_data_files_near(const std::string& path);
// Files of .data lines are read from the folder of `path`. `expected`: as for parse_assembly().
Result<isa::Assembly> read_assembly(const std::string& path, const std::optional<isa::HardwareConfig>& expected);
ProgramMap map_of(const isa::Assembly& assembly, const std::string& path, const simulator::Dram& image);
// The image that the assembly text defines alone, without placed files.
Result<simulator::Dram> image_of(const isa::Assembly& assembly, const std::string& path);

// The machine of a program with a map: the one that was given, else that of the map. `where`: names the map. Error: the
// two disagree.
Result<isa::Machine> machine_of(const ProgramMap& map, const std::optional<isa::Machine>& given,
                                const std::string& where);
// The program of assembly text, without its memory. `machine`: the one that was given, to which the text belongs;
// nullopt: that of the text's configuration. Error: no instruction.
Result<ProgramInput> program_of(isa::Assembly assembly, const std::string& name,
                                const std::optional<isa::Machine>& machine);
// The program of raw instructions, with the names and launches of the map. Error: a map of another number of
// instructions.
Result<ProgramInput> program_of(std::vector<isa::Instruction> program, const std::string& name,
                                const isa::Machine& machine, const std::optional<ProgramMap>& map);
// Sets the register OFFSET. Error: the hardware cannot have this value.
Result<void> set_offset(ProgramInput& input, std::uint64_t offset);
// The input with `offset` added to the addresses instead, for users that show or follow addresses.
void settle_offset(ProgramInput& input);
// Sets the launches: `texts`, "BEGIN:COUNT" each; none: those that the program has, or one launch of all instructions.
Result<void> set_launches(ProgramInput& input, const std::vector<std::string>& texts);

// An array that is placed in the image. `place`: "x", "x+64", "0x2000"; `text`: as the user wrote the placement.
struct Placement {
  std::string text, place;
  NdArray array;
};
// Composes the image: `base`, the program's items, the placements, and the reserved ranges `reserved`. `option`: the
// option that diagnostics name.
Result<void> fill_image(ProgramInput& input, const std::vector<ImagePart>& base, std::string_view option,
                        const std::vector<Placement>& placements, const std::vector<ImageSlice>& reserved);

// `outputs`: "FILE@PLACE[:TYPE]" each; the image covers their places too. `command`: its name, for messages.
Result<ProgramInput> read_program_input(const ProgramArguments& arguments, std::string_view command,
                                        const std::vector<std::string>& outputs = {});

}  // namespace dovetail::cli
