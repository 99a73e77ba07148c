// Runs a model on the system on chip: exported C with the driver as firmware, compared with the reference's values and
// with the cycle engine's cycles.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "driver/firmware.h"
#include "driver/session.h"
#include "simulator/soc/system.h"

namespace dovetail::driver {

struct SocOptions {
  std::string engine = "rtl";  // rtl: the Verilated design; systemc: a loosely timed model
  Wait wait = Wait::interrupt;
  std::map<std::string, std::string> inputs = {};  // files, by name; others are pseudo-random, from the session's seed
  std::optional<std::uint64_t> memory_bytes = {};  // of the accelerator's memory; absent: as much as the program needs
  std::uint64_t limit_cycles = 1'000'000'000;
  std::optional<std::uint64_t> broken = {};  // simulator::soc::SystemOptions::broken
  bool assertions = false;
  std::optional<std::filesystem::path> waves = {};
  std::optional<std::filesystem::path> keep = {};               // folder of the firmware, created if it is missing
  std::optional<std::filesystem::path> model = {};              // of the Verilated design; absent: found, or built
  bool build_missing = true;                                    // a model that is not found is built
  std::filesystem::path design = {};                            // of the firmware's sources; empty: this kit's
  std::function<void(std::string_view step)> report = nullptr;  // called at the beginning of each step
  Work* work = nullptr;
};

struct SocLaunch {
  std::uint64_t begin = 0, count = 0;          // instructions
  std::uint64_t cycles = 0;                    // of the register CYCLES
  std::optional<std::uint64_t> expected = {};  // of the cycle engine with the same memory
};

struct SocOutput {
  std::string name;
  NdArray found;
  std::uint64_t different = 0;  // elements whose bits are not the reference's
};

// How the firmware ended.
struct SocStatus {
  int result = 0;           // of enum dovetail_result, 1 after a fault or a trap
  std::string text = {};    // "launch_failed"; empty: success
  std::string detail = {};  // "slave_error at instruction 12", "write to 0x50000000"; may be empty
};

struct SocRun {
  isa::HardwareConfig hardware;
  simulator::MemorySpec memory;
  std::uint64_t memory_bytes = 0, firmware_bytes = 0;
  SocStatus status;
  std::uint64_t cycles = 0, waiting = 0;          // of the whole run; of these, waiting for an interrupt
  std::uint64_t load_cycles = 0, run_cycles = 0;  // from reset until the program is loaded, and of its run
  std::uint64_t interrupts = 0;                   // that the firmware handled
  std::vector<SocLaunch> launches;
  std::vector<SocOutput> outputs;
  std::vector<std::string> inputs;  // where each comes from
  double seconds = 0;               // of the simulation

  // Values and cycles are those that they are compared with.
  bool is_right() const;
  // Why not; empty if is_right().
  Diagnostics problems(const std::string& title) const;
};

// Precondition: the session is compiled, with targets accel and cpu, cpu portable; its engine is cycle. Errors
// include a model without a step on the accelerator, missing tools, a run that does not end (Cause::work).
Result<SocRun> run_soc(Session& session, const SocOptions& options);

}  // namespace dovetail::driver
