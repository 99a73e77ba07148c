// Runs a program up to an instruction, address or cycle, and returns its state there (`simulate --until`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/program/program_input.h"
#include "simulator/counters.h"
#include "simulator/engine_options.h"
#include "simulator/simulator.h"
#include "simulator/sram_reader.h"

namespace dovetail::cli {

struct StopPoint {
  std::size_t launch = 0;
  std::optional<std::size_t> next;     // the instruction before which execution stops
  std::optional<std::uint64_t> cycle;  // cycle of the launch; engines with a clock
};

class EarlyStop {
 public:
  virtual ~EarlyStop() = default;

  // Runs up to the place. Error: the program fails before, or ends without reaching the place.
  virtual Result<StopPoint> run() = 0;

  // The memory when the program stopped.
  virtual const simulator::Dram& dram() const = 0;
  virtual const simulator::SramReader& sram() const = 0;
  virtual const simulator::Counters& counters() const = 0;
};

// `place`: a place as for `break` of `debug`, in one text ("#12", "NAME", "dram 0x2000:64"); or for engine cycle
// "@CYCLE", "LAUNCH@CYCLE". Error: no such place, or the engine cannot stop within a launch. Precondition: `input`
// outlives the result.
Result<std::unique_ptr<EarlyStop>> make_early_stop(std::string_view place, const ProgramInput& input,
                                                   std::string_view engine, const simulator::EngineOptions& options);

}  // namespace dovetail::cli
