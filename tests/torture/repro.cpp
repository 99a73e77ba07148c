#include "tests/torture/repro.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file.h"
#include "isa/codec.h"
#include "isa/text.h"

namespace dovetail::test {

Result<std::string> write_repro(const GeneratedProgram& program, const TortureCase& how,
                                const std::filesystem::path& folder, std::string_view engine) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const isa::Codec codec(program.config);
  DOVETAIL_ASSIGN(std::vector<std::byte> code, codec.encode_program(program.program));
  const auto size = static_cast<std::size_t>(program.config.instruction_bytes());
  for (const auto& [at, bytes] : program.patches)
    std::copy(bytes.begin(), bytes.end(), code.begin() + static_cast<std::ptrdiff_t>(at * size));
  DOVETAIL_TRY(write_text_file(folder / "hw.json", isa::config_to_json(program.config).dump(2) + "\n"));
  DOVETAIL_TRY(write_file(folder / "program.bin", code));
  DOVETAIL_TRY(write_text_file(folder / "program.s", isa::format_assembly(program.config, program.program)));
  DOVETAIL_TRY(write_file(folder / "dram.bin", program.dram));
  const std::string at = folder.string();
  std::string line =
      fmt::format("dovetail simulate {0}/program.bin --hw {0}/hw.json --dram {0}/dram.bin --dram-base {1:#x}", at,
                  program.dram_base);
  for (const isa::Launch& launch : program.launches) line += fmt::format(" --launch {}:{}", launch.begin, launch.count);
  if (program.offset != 0) line += fmt::format(" --offset {:#x}", program.offset);
  return line + fmt::format(" --memory {} --dram-out {}/out.bin --engine {}", to_string(how.memory), at, engine);
}

}  // namespace dovetail::test
