// Writes a failing program as files that `dovetail` runs.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "tests/generator/generator.h"
#include "tests/torture/case.h"

namespace dovetail::test {

// Writes hw.json, program.bin, program.s (without undecodable instructions) and dram.bin into the folder, and returns
// the command line that simulates them on `engine`.
Result<std::string> write_repro(const GeneratedProgram& program, const TortureCase& how,
                                const std::filesystem::path& folder, std::string_view engine);

}  // namespace dovetail::test
