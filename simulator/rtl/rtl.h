// The RTL engine: the Verilated design (hw/rtl) with the interface of the other simulators. A model is a shared object
// for one configuration (simulator/rtl/find.h); its memory port is connected to simulator/memory, and probes bound into
// the design report the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "isa/config.h"
#include "simulator/engine_options.h"
#include "simulator/rtl/axi_slave.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

struct RtlOptions {
  EngineOptions engine = {};
  std::uint64_t power_up_seed = 1;  // determines the initial contents of SRAM and of registers without reset
  std::optional<AxiSlave> slave = std::nullopt;  // replaces the memory model at the port: values, no times
  std::optional<std::filesystem::path> model =
      std::nullopt;  // default: find_rtl_model(), or according to engine.build_missing
  // A burst beat whose address is in [begin, end) is answered with this AXI response: 2 SLVERR, 3 DECERR.
  struct BadRange {
    std::uint64_t begin = 0, end = 0;
    int response = 2;
  };
  std::optional<BadRange> bad_range = std::nullopt;
  // Replaces the bytes that fetch reads for an instruction, by its index: for instructions that the simulator itself
  // would reject.
  std::map<std::size_t, std::vector<std::byte>> patches = {};
};

class RtlSimulator : public Simulator {
 public:
  // An element in its SRAM layout. Precondition: memory is uop, wgt, inp or acc, index within its depth.
  virtual std::vector<std::byte> sram_element(isa::Memory memory, std::uint64_t index) const = 0;
  // The register's value, or nullopt if the design responds with an error.
  virtual std::optional<std::uint32_t> read_register(std::uint32_t offset) = 0;
  // Bit i of the strobes: byte i is written. False: the design responds with an error.
  virtual bool write_register(std::uint32_t offset, std::uint32_t value, unsigned strobes = 0xf) = 0;
  // Whether the interrupt line is high.
  virtual bool interrupt() const = 0;
  virtual MemoryStatistics memory_statistics() const = 0;
};

// Errors: there is no model of the configuration, and none may be built (the hint gives the command that builds it) or
// the build fails; the model cannot be loaded.
Result<std::unique_ptr<RtlSimulator>> make_rtl(const isa::HardwareConfig& config, const RtlOptions& options = {});

}  // namespace dovetail::simulator
