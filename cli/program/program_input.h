// What `check`, `simulate` and `debug` take: a program, raw or as assembly text, and the memory that it works on.
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

// Whether a path is of assembly text: by its end, .s or .asm.
bool is_assembly(const std::string& path);
// Reads the files of .data lines from the folder of the text.
isa::ReadData data_files_beside(const std::string& path);
// The files of its .data lines are sought alongside it. `expected` as parse_assembly() has it.
Result<isa::Assembly> read_assembly(const std::string& path, const std::optional<isa::HardwareConfig>& expected);
ProgramMap map_of(const isa::Assembly& assembly, const std::string& path, const simulator::Dram& image);
// Of the assembly text alone.
Result<simulator::Dram> image_of(const isa::Assembly& assembly, const std::string& path);

// `outputs`: "FILE@PLACE[:TYPE]" each; the image covers their places too. `command` names itself in messages.
Result<ProgramInput> read_program_input(const ProgramArguments& arguments, std::string_view command,
                                        const std::vector<std::string>& outputs = {});

}  // namespace dovetail::cli
