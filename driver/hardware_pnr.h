// Places and routes a design point for an FPGA: Yosys, then nextpnr, and for a board a bitstream by ecppack.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/board.h"
#include "driver/pnr_result.h"
#include "isa/config.h"

namespace dovetail::driver {

// The flows that place: each has hw/syn/<name>.ys.
inline constexpr std::string_view kPnrFlow = "ecp5";

struct PnrOptions {
  std::vector<std::int64_t> seeds = {1};
  double target_mhz = 60;           // that the placer aims for; of a board, the clock that its PLL makes
  std::optional<Board> board = {};  // nullopt: the accelerator alone, without pins
  // Called with the text of each step, before it begins.
  std::function<void(const std::string&)> begin = [](const std::string&) {};
};

// What a run gives in addition to its numbers.
struct PnrFiles {
  std::string bitstream = {};  // empty: no board, or its clock is not reached
  std::string report = {};     // nextpnr's report of the best run, JSON
  std::string log = {};        // nextpnr's log of the best run
};
struct PnrMade {
  Pnr pnr;
  PnrFiles files;
};

// nextpnr-ecp5 and ecppack, as far as neither they nor PyPI's are on the PATH. `where` of each is the program's name.
Diagnostics missing_pnr_tools();

// Runs the tools in a temporary folder: minutes. Errors: a tool is not installed or fails; the design does not fit the
// device (the resource, and how much of it is needed); the PLL cannot make the clock.
Result<PnrMade> run_pnr(const isa::HardwareConfig& config, const PnrOptions& options);

// Whether the clock of a board is reached. Always true without a board.
bool meets_clock(const Pnr& pnr);

struct CommittedPnr {
  Pnr pnr;
  bool fresh = false;  // made with the current design, flow and device
};
// The result in hw/syn/pnr, of the accelerator alone; nullopt if there is no stored run with these parameters. Error: a
// malformed file.
Result<std::optional<CommittedPnr>> committed_pnr(const isa::HardwareConfig& config);

// What the design needs more of than the device has: "304 DSP (MULT18X18D), LFE5U-85F has 156". Empty: it fits.
std::string beyond_device(const Area& area);
// The same of the multipliers, which follow from the configuration without synthesis.
std::string beyond_device(const isa::HardwareConfig& config);

}  // namespace dovetail::driver
