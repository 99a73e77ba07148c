// The functions that write all generated files: documentation and packages derived from the tables of isa/spec. Each
// returns the whole file, banner included; `dovetail isa --format FORMAT [--hw CONFIG]`
// prints it.
#pragma once

#include <string>

#include "base/json.h"
#include "isa/config.h"

namespace dovetail::isa {

// Precondition of all: validate(config).
std::string emit_markdown(const HardwareConfig& config);    // docs/gen/isa.md, at the default configuration
std::string emit_sv_package(const HardwareConfig& config);  // package dovetail_isa_pkg, for both Verilator and Yosys
std::string emit_c_header(const HardwareConfig& config);    // register map, encodings and design point for drivers
std::string emit_python(const HardwareConfig& config);      // encoders and constants, for programs that write programs
std::string emit_json(const HardwareConfig& config);        // everything, for other generators
std::string emit_schema(const HardwareConfig& config);      // docs/schema/gen/hardware.json, of any configuration
std::string emit_litex(const HardwareConfig& config);       // a core of LiteX, in Python
// For Vivado and Linux on a Zynq: a top with the attributes of its interfaces, the script that packages it, an overlay
// of the device tree. Generated and linted, but never read by Vivado or a kernel.
std::string emit_vivado_top(const HardwareConfig& config);
std::string emit_vivado_script(const HardwareConfig& config);
std::string emit_device_tree(const HardwareConfig& config);

}  // namespace dovetail::isa
