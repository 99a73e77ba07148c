#include "isa/config.h"

#include <bit>

#include <fmt/format.h>

#include "base/check.h"
#include "isa/semantics/epilogue.h"
#include "isa/spec/layout.h"
#include "isa/spec/memories.h"

namespace dovetail::isa {

namespace {

bool is_power_of_two(std::int64_t value) { return value > 0 && std::has_single_bit(static_cast<std::uint64_t>(value)); }

std::string what(const HardwareConfig& config) {
  return fmt::format("the hardware configuration {} is invalid", config.name);
}

void check_ranges(const HardwareConfig& config, Diagnostics& errors) {
  for (const spec::Parameter& row : spec::kParameters) {
    const std::int64_t value = config.*row.member;
    if (value < row.minimum || value > row.maximum) {
      const bool below = value < row.minimum;
      errors.push_back({what(config), std::string(row.key),
                        fmt::format("{} {} {} {}, the {}", value, below ? '<' : '>', below ? row.minimum : row.maximum,
                                    row.unit, below ? "least" : "most"),
                        fmt::format("choose {} from {} to {}", row.key, row.minimum, row.maximum)});
    } else if (row.power_of_two && !is_power_of_two(value)) {
      const auto below = std::bit_floor(static_cast<std::uint64_t>(value));
      errors.push_back({what(config), std::string(row.key), fmt::format("{} is not a power of two", value),
                        fmt::format("use {} or {}", below, 2 * below)});
    }
  }
}

// Precondition: the ranges hold.
void check_elements(const HardwareConfig& config, Diagnostics& errors) {
  for (const spec::MemoryInfo& memory : spec::kMemories)
    if (const std::int64_t bytes = memory.element_bytes(config); bytes > spec::kMaxElementBytes)
      errors.push_back({what(config), std::string(memory.name),
                        fmt::format("an element has {} = {} bytes > {}, one page", memory.element_rule, bytes,
                                    spec::kMaxElementBytes),
                        "choose a smaller batch or block"});
}

void check_depths(const HardwareConfig& config, Diagnostics& errors) {
  const bool wide = config.encoding() == Encoding::wide;
  for (const spec::MemoryInfo& memory : spec::kMemories) {
    if (memory.buffer != memory.id || memory.buffer_bytes == nullptr) continue;
    const std::int64_t depth = config.depth(memory.id);
    std::string key;
    for (const spec::Parameter& row : spec::kParameters)
      if (row.member == memory.buffer_bytes) key = row.key;
    const std::int64_t element = memory.element_bytes(config);
    if (depth < spec::kMinDepth)
      errors.push_back({what(config), key,
                        fmt::format("{} bytes contain {} {} elements of {} bytes < {}, the least",
                                    config.*memory.buffer_bytes, depth, memory.name, element, spec::kMinDepth),
                        fmt::format("raise {} to {} or more", key, spec::kMinDepth * element)});
    const std::int64_t most = std::int64_t{1} << (memory.id == Memory::uop ? spec::kWideUopBits : spec::kWideIndexBits);
    if (wide && depth > most)
      errors.push_back(
          {what(config), key,
           fmt::format("{} bytes contain {} {} elements of {} bytes > {}, the most that the wide encoding can index",
                       config.*memory.buffer_bytes, depth, memory.name, element, most),
           fmt::format("lower {} to {} or less", key, most * element)});
  }
}

}  // namespace

Encoding HardwareConfig::encoding() const { return spec::fits_compact(*this) ? Encoding::compact : Encoding::wide; }

std::int64_t HardwareConfig::instruction_bytes() const {
  return (encoding() == Encoding::compact ? spec::kCompactBits : spec::kWideBits) / 8;
}

std::int64_t HardwareConfig::uop_bytes() const {
  return (encoding() == Encoding::compact ? spec::kCompactUopBits : spec::kWideUopTotalBits) / 8;
}

std::int64_t HardwareConfig::element_bytes(Memory memory) const {
  DOVETAIL_CHECK(spec::is_memory(memory), fmt::format("memory id {}", static_cast<int>(memory)));
  return spec::info(memory).element_bytes(*this);
}

std::int64_t HardwareConfig::depth(Memory memory) const {
  DOVETAIL_CHECK(spec::is_memory(memory), fmt::format("memory id {}", static_cast<int>(memory)));
  const spec::MemoryInfo& buffer = spec::info(spec::info(memory).buffer);
  if (!spec::is_enabled(spec::info(memory), *this)) return 0;
  return buffer.buffer_bytes == nullptr ? 1 : this->*buffer.buffer_bytes / buffer.element_bytes(*this);
}

Result<void> validate(const HardwareConfig& config) {
  Diagnostics errors;
  check_ranges(config, errors);
  if (!errors.empty()) return errors;  // the following checks multiply and divide by the parameters
  check_elements(config, errors);
  check_depths(config, errors);
  if (config.outstanding_beats < config.burst_beats)
    errors.push_back(
        {what(config), "outstanding_beats",
         fmt::format("{} < burst_beats = {}: a burst is requested only when the beat buffer has room for all of it",
                     config.outstanding_beats, config.burst_beats),
         fmt::format("raise outstanding_beats to {}, or lower burst_beats", config.burst_beats)});
  if (config.window && config.block_in != config.block_out)
    errors.push_back({what(config), "window",
                      fmt::format("block_in is {} and block_out {}: WINDOW multiplies lane by lane", config.block_in,
                                  config.block_out),
                      "make the two equal, or turn `window` off"});
  if (config.window && config.block_in == 1)
    errors.push_back({what(config), "window", "block_in is 1, so the window would contain only one element",
                      "raise the blocks to 2 or more, or turn `window` off"});
  if (config.epilogue && !config.requant)
    errors.push_back({what(config), "epilogue", "`requant` is off, but the epilogue uses its multipliers",
                      "turn `requant` on, or `epilogue` off"});
  if (config.epilogue && config.block_in < 16)
    errors.push_back({what(config), "epilogue",
                      fmt::format("block_in is {}: the parameters of an epilogue need {} bytes of a WGT row",
                                  config.block_in, semantics::kParameterBytes),
                      "raise block_in to 16 or more, or turn `epilogue` off"});
  if (config.norm && !config.requant)
    errors.push_back({what(config), "norm",
                      "`requant` is off, but the results of RECIP and RSQRT are scales for requantization",
                      "turn `requant` on, or `norm` off"});
  if (config.weights4 && config.block_in * config.block_out < 2)
    errors.push_back({what(config), "weights4", "block_in and block_out are 1: an element of WGT4 has half a byte",
                      "raise one of the blocks to 2 or more, or turn `weights4` off"});
  if (!errors.empty()) return errors;
  return {};
}

}  // namespace dovetail::isa
