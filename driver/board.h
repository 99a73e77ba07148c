// Boards: their pins, and the clock that a PLL makes of their oscillator.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "driver/hardware_synthesis.h"
#include "isa/config.h"

namespace dovetail::driver {

// Dividers of an ECP5's PLL (Lattice FPGA-TN-02200, sysCLOCK PLL/DLL).
struct Pll {
  std::int64_t input = 1, feedback = 1, output = 1;
  double mhz = 0;  // that it makes
  bool operator==(const Pll&) const = default;
};
// The clock nearest to `mhz` of an oscillator; nullopt: the PLL cannot make one within 1 %.
std::optional<Pll> pll_for(double oscillator_mhz, double mhz);

struct Board {
  std::string name = {};  // "ulx3s", or that of the file of constraints
  std::filesystem::path constraints = {};
  double oscillator_mhz = 0;
  std::int64_t ram_bytes = 131072, baud = 115200;
};

// Reads a file of constraints (LPF): every pin of the board's top must have a site, and its clock a frequency. Errors
// name what is missing. `file` empty: ULX3S.
Result<Board> read_board(const std::filesystem::path& file);

// The board's top for a clock of the accelerator. Errors: the PLL cannot make the clock, the baud rate does not fit it,
// or the RAM is larger than the address space.
Result<DesignTop> board_top(const Board& board, const isa::HardwareConfig& config, const Pll& pll);

}  // namespace dovetail::driver
