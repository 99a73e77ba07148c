#include "driver/value_text.h"

#include <array>

#include <fmt/format.h>

#include "base/printable.h"
#include "isa/spec/config.h"

namespace dovetail::driver {

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array<const char*, 4> kUnits{"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  const std::string digits = fmt::format("{:.1f}", value);
  return fmt::format("{} {}", digits.ends_with(".0") ? digits.substr(0, digits.size() - 2) : digits, kUnits[unit]);
}

std::string seconds_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

std::string type_text(DType dtype, const Shape& shape) { return fmt::format("{}{}", name(dtype), to_string(shape)); }

std::string config_text(const isa::HardwareConfig& config) {
  const std::string extensions = extensions_text(config);
  return fmt::format("{}: {}×{}×{}, UOP {}, INP {}, WGT {}, ACC {}{}{}", config.name, config.batch, config.block_in,
                     config.block_out, bytes_text(static_cast<std::uint64_t>(config.uop_buffer_bytes)),
                     bytes_text(static_cast<std::uint64_t>(config.inp_buffer_bytes)),
                     bytes_text(static_cast<std::uint64_t>(config.wgt_buffer_bytes)),
                     bytes_text(static_cast<std::uint64_t>(config.acc_buffer_bytes)),
                     config.encoding() == isa::Encoding::wide ? ", wide encoding" : "",
                     extensions.empty() ? ", base ISA" : ", with " + extensions);
}

std::string extensions_text(const isa::HardwareConfig& config) {
  std::string text;
  for (const isa::spec::Extension& extension : isa::spec::kExtensions)
    if (config.*extension.member) text += (text.empty() ? "" : ", ") + std::string(extension.key);
  return text;
}

std::string json_text(const Json& json) {
  return escape_unprintable(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace dovetail::driver
