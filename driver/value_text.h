// Texts of numbers, types and configurations, for diagnostics and reports.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/ndarray.h"
#include "isa/config.h"

namespace dovetail::driver {

std::string bytes_text(std::uint64_t bytes);                 // "512 B", "12.5 KiB"
std::string seconds_text(double seconds);                    // "1.24 ms"
std::string type_text(DType dtype, const Shape& shape);      // "int8[1, 16, 8, 8]"
std::string config_text(const isa::HardwareConfig& config);  // "1x16x16: 1×16×16, UOP 32 KiB, …, no extensions"

std::string extensions_text(const isa::HardwareConfig& config);  // "requant, saturate"; empty for the base ISA

// Indented JSON with a line break at its end. Invalid UTF-8 is replaced, since names come from files.
std::string json_text(const Json& json);

}  // namespace dovetail::driver
