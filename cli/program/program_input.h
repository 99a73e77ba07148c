// The input of `check`, `simulate` and `debug`: a program, raw or as assembly text, and the memory that it works on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/program/program_map.h"
#include "cli/shell/options.h"
#include "isa/instruction.h"
#include "isa/system.h"
#include "isa/verify.h"
#include "simulator/simulator.h"

namespace dovetail::cli {

struct ProgramArguments {
  std::string program;
  std::optional<std::string> hardware, dram, dram_base, program_base, map;
  std::vector<std::string> launches, placements;

  void declare(Options& options);
};

struct ProgramInput {
  isa::Machine machine;
  std::vector<isa::Instruction> program;
  std::vector<isa::Launch> launches;  // at least one
  simulator::Dram dram;
  bool has_image = false;
  std::vector<isa::Symbol> symbols;
  SourceLines source;
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

// `outputs`: "FILE@PLACE[:TYPE]" each; the image covers their places too. `command`: its name, for messages.
Result<ProgramInput> read_program_input(const ProgramArguments& arguments, std::string_view command,
                                        const std::vector<std::string>& outputs = {});

}  // namespace dovetail::cli
