// A program that is run up to a place in it, and what has come of it until then (`simulate --until`).
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
  std::optional<std::size_t> next;     // the instruction before which it stands
  std::optional<std::uint64_t> cycle;  // of the launch; engines with a clock
};

class EarlyStop {
 public:
  virtual ~EarlyStop() = default;

  // Runs up to the place. Error: it fails before, or ends without reaching the place.
  virtual Result<StopPoint> run() = 0;

  // What has come of it.
  virtual const simulator::Dram& dram() const = 0;
  virtual const simulator::SramReader& sram() const = 0;
  virtual const simulator::Counters& counters() const = 0;
};

// `place`: what `break` of `debug` takes, in one text ("#12", "NAME", "dram 0x2000:64"); or "@CYCLE", "LAUNCH@CYCLE",
// of engine cycle. Error: no such place, or the engine runs launches to their ends. Precondition: `input` outlives it.
Result<std::unique_ptr<EarlyStop>> make_early_stop(std::string_view place, const ProgramInput& input,
                                                   std::string_view engine, const simulator::EngineOptions& options);

}  // namespace dovetail::cli
