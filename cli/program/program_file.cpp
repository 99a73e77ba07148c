#include "cli/program/program_file.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/file.h"
#include "cli/program/program_image.h"
#include "isa/codec.h"

namespace dovetail::cli {

namespace {
constexpr std::size_t kMostProgramBytes = std::size_t{1} << 30;

// Detects a file of the wrong kind, before its bytes are read as instructions.
std::optional<Diagnostic> wrong_kind(std::span<const std::byte> bytes, const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\x93NUMPY"))
    return Diagnostic{"cannot read program", path, "the file is a NumPy array, not raw instructions",
                      "place an array in memory: --place x.npy@ADDRESS"};
  const auto is_text = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t'; };
  if (std::all_of(text.begin(), text.end(), is_text))
    return Diagnostic{"cannot read program", path, "the file is text, not raw instructions",
                      "give assembly text a name that ends in .s"};
  return std::nullopt;
}

}  // namespace

Result<std::vector<isa::Instruction>> read_program(const std::string& path, const isa::HardwareConfig& config) {
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, read_file(path, kMostProgramBytes));
  if (bytes.empty())
    return Diagnostic{
        "cannot read program", path, "the file is empty",
        fmt::format("an instruction has {} bytes with configuration {}", config.instruction_bytes(), config.name)};
  if (auto wrong = wrong_kind(bytes, path)) return *std::move(wrong);
  return isa::Codec(config).decode_program(bytes, path);
}

Result<std::vector<std::byte>> read_image(const std::string& path, std::uint64_t base,
                                          const isa::HardwareConfig& config) {
  DOVETAIL_ASSIGN(std::vector<std::byte> bytes, read_bytes(path));
  const std::uint64_t space = std::uint64_t{1} << config.address_bits;
  if (base > space || bytes.size() > space - base)
    return Diagnostic{"cannot place memory image", path,
                      fmt::format("{} bytes from {:#x} end after the {} address bits of {}", bytes.size(), base,
                                  config.address_bits, config.name),
                      "lower --dram-base, or use a configuration with more address_bits"};
  return bytes;
}

}  // namespace dovetail::cli
