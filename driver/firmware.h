// Firmware for the system on chip (simulator/soc/memory_map.h): an exported program with the driver, or a program of
// the user; and what runs them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/export_model.h"

namespace dovetail::driver {

enum class Wait {
  interrupt,  // the processor sleeps until the accelerator's interrupt
  poll,       // it reads the register STATUS repeatedly
};

struct FirmwareOptions {
  Wait wait = Wait::interrupt;
  std::filesystem::path sources;  // the folder with start.S, main.c and the others: hw/soc/firmware of the design
  std::filesystem::path folder;   // receives all sources, firmware.elf and firmware.bin; an existing one
};

// The compiler and the library for it. Error: one of them is missing.
Result<void> check_firmware_tools();

// The bytes of RAM: the program runs once on the inputs of its golden vector, and reports over the serial line.
// Precondition: exported as C with the name net, for one accelerator. Errors: those of check_firmware_tools(); the
// compiler's messages; more than RAM holds.
Result<std::vector<std::byte>> build_firmware(const Exported& exported, const FirmwareOptions& options);

// The same of a program in C or assembly (.c, .S), with the kit's start, serial line and interrupts (soc.h); or the
// file itself (.bin). Errors: those of build_firmware(); the file cannot be read, or has another extension.
Result<std::vector<std::byte>> build_program(const std::filesystem::path& program, const FirmwareOptions& options);

}  // namespace dovetail::driver
