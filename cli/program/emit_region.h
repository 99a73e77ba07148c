// The regions of a bundle that run on the accelerator as programs: `compile --emit DIR` writes each as files, for other
// tools and drivers.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "cli/program/program_input.h"

namespace dovetail::cli {

// DIR/00_NAME, DIR/01_NAME, ... in the order of the steps, each with
//   program.bin, program.s      the instructions, raw and as text with the layers' names
//   image.bin                   memory before the first launch, with tensors of zeros
//   map.json                    the addresses of all data (cli/program/program_map.h)
//   hardware.json               the configuration, as --hw takes it
//   input_X.npy, expected_X.npy the region's tensors in one run of the bundle on pseudo-random inputs
//   region.h, dovetail_isa.h    addresses, launches and registers for a driver in C
//   commands.txt                command lines that check and run the program
// Returns lines for the report. Errors include: no step runs on the accelerator, or the run failed.
Result<std::string> emit_regions(const bundle::Bundle& bundle, const std::filesystem::path& folder);

// A region as a program.
struct RegionProgram {
  std::string name = {};                     // of the step
  std::string text = {};                     // the instructions with the layers' names
  std::vector<std::byte> instructions = {};  // raw
  ProgramMap map = {};
  std::vector<std::byte> image = {};  // memory before the first launch, with tensors of zeros
};
// Of the bundle's first program, in the order of the steps.
Result<std::vector<RegionProgram>> region_programs(const bundle::Bundle& bundle);

// A region as a program with its memory, as emit_regions() writes it. `number`: text of the command line that counts
// regions from 0.
Result<ProgramInput> region_input(const bundle::Bundle& bundle, const std::string& number);

}  // namespace dovetail::cli
