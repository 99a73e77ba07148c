#include "cli/program_file.h"

#include <fmt/format.h>

#include "base/file.h"
#include "isa/codec.h"

namespace dovetail::cli {

namespace {
constexpr std::size_t kMostProgramBytes = std::size_t{1} << 30;
constexpr std::size_t kMostImageBytes = std::size_t{1} << 33;
}  // namespace

Result<std::vector<isa::Instruction>> read_program(const std::string& path, const isa::HardwareConfig& config) {
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, read_file(path, kMostProgramBytes));
  if (bytes.empty())
    return Diagnostic{
        "cannot read program", path, "it is empty",
        fmt::format("an instruction has {} bytes with configuration {}", config.instruction_bytes(), config.name)};
  return isa::Codec(config).decode_program(bytes, path);
}

Result<std::vector<std::byte>> read_image(const std::string& path, std::uint64_t base,
                                          const isa::HardwareConfig& config) {
  DOVETAIL_ASSIGN(std::vector<std::byte> bytes, read_file(path, kMostImageBytes));
  const std::uint64_t space = std::uint64_t{1} << config.address_bits;
  if (base > space || bytes.size() > space - base)
    return Diagnostic{"cannot place memory image", path,
                      fmt::format("{} bytes from {:#x} end behind the {} address bits of {}", bytes.size(), base,
                                  config.address_bits, config.name),
                      "lower --dram-base, or take a configuration with more address_bits"};
  return bytes;
}

}  // namespace dovetail::cli
