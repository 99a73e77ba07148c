#include "compiler/target/accel/memo.h"

#include <fmt/format.h>

namespace dovetail::accel {

std::string Memo::key_of_smallest(const std::string& form, const isa::HardwareConfig& config) {
  return fmt::format("{} {} {} {}", config.batch, config.block_in, config.block_out, form);
}

}  // namespace dovetail::accel
