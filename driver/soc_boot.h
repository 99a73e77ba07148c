// Runs a program of the user on the system on chip.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "driver/soc.h"

namespace dovetail::driver {

struct SocProgram {
  std::filesystem::path source;   // .c, .S or .bin, as of build_program()
  std::string serial_input = {};  // simulator::soc::SystemOptions::serial_input
};

struct SocBoot {
  std::uint64_t memory_bytes = 0, firmware_bytes = 0;
  std::uint64_t cycles = 0, waiting = 0;  // of the whole run; of these, waiting for an interrupt
  int status = 0;                         // of soc_end(), or of main(); 0 if the program ended by the byte alone
  std::string serial;                     // all bytes that the program sent, but the line "end" with its status
  double seconds = 0;                     // of the simulation
};

inline constexpr std::uint64_t kBootMemoryBytes = 1u << 20;  // of the accelerator's memory, unless the options say it

// Runs the program from reset to its end. Of the options, `wait` and `inputs` are not used. Errors: the program cannot
// be built; it does not end (Cause::work).
Result<SocBoot> boot_soc(const isa::HardwareConfig& config, const simulator::MemorySpec& memory,
                         const SocProgram& program, const SocOptions& options);

}  // namespace dovetail::driver
