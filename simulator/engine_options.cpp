#include "simulator/engine_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "isa/spec/timing.h"

namespace dovetail::simulator {

std::filesystem::path waves_file(const std::filesystem::path& waves, std::size_t number) {
  if (number == 0) return waves;
  return waves.parent_path() / fmt::format("{}-{}{}", waves.stem().string(), number, waves.extension().string());
}

bool fits_address_space(const isa::HardwareConfig& config, std::uint64_t program_base, std::uint64_t begin,
                        std::uint64_t count) {
  const auto unit = static_cast<std::uint64_t>(config.instruction_bytes());
  const std::uint64_t space = std::uint64_t{1} << config.address_bits;
  if (count == 0) return true;
  if (count >= space / unit || begin > space / unit) return false;
  return program_base <= space && (begin + count) * unit <= space - program_base;
}

Diagnostic outside_address_space(const isa::HardwareConfig& config, std::uint64_t program_base, std::uint64_t begin,
                                 std::uint64_t count) {
  return {
      "cannot place the program in memory", fmt::format("program base {:#x}", program_base),
      fmt::format("instructions {} to {} of {} bytes each must end within {} address bits, and be shorter than that",
                  begin, begin + count - 1, config.instruction_bytes(), config.address_bits),
      "lower the base or the count, or raise address_bits"};
}

Result<std::uint64_t> program_place(const isa::HardwareConfig& config, std::uint64_t image_base,
                                    std::uint64_t image_bytes, std::uint64_t program_bytes) {
  const auto page = static_cast<std::uint64_t>(isa::spec::kBurstBoundaryBytes.value);
  const std::uint64_t space = std::uint64_t{1} << config.address_bits;
  const std::uint64_t after = (image_base + image_bytes + page - 1) / page * page;
  if (after <= space && program_bytes <= space - after && program_bytes < space) return after;
  if (program_bytes <= image_base) return (image_base - program_bytes) / page * page;
  return Diagnostic{"cannot place the program in memory",
                    fmt::format("an image of {} bytes from {:#x}", image_bytes, image_base),
                    fmt::format("{} bytes of program fit neither after nor before it in {} address bits", program_bytes,
                                config.address_bits),
                    "move the image, or raise address_bits"};
}

std::uint64_t window_bytes(std::uint64_t image_base, std::uint64_t image_bytes, std::uint64_t program_base,
                           std::uint64_t program_bytes) {
  const auto page = static_cast<std::uint64_t>(isa::spec::kBurstBoundaryBytes.value);
  // Images may begin a few bytes early to be aligned in the host's memory; cycle counts must not depend on that.
  constexpr std::uint64_t kAlignment = 64;
  const std::uint64_t first = (std::min(image_base, program_base) + kAlignment - 1) / kAlignment * kAlignment,
                      begin = first / page * page,
                      end = std::max(image_base + image_bytes, program_base + program_bytes);
  return (end - begin + page - 1) / page * page + page;
}

}  // namespace dovetail::simulator
