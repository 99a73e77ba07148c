#include "compiler/target/accel/memo.h"

#include <atomic>
#include <utility>

#include <fmt/format.h>

namespace dovetail::accel {

PlacedProgram::PlacedProgram(const loops::Program& scheduled, Placements found)
    : program(scheduled), placements(std::move(found)) {
  static std::atomic<std::uint64_t> numbers{0};
  number = ++numbers;
}

std::string Memo::key_of_smallest(const std::string& form, const isa::HardwareConfig& config) {
  return fmt::format("{} {} {} {}", config.batch, config.block_in, config.block_out, form);
}

}  // namespace dovetail::accel
