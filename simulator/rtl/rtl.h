// The RTL engine: the Verilated design (hw/rtl) after the same interface as the other simulators. A model is a shared
// object of one configuration (simulator/rtl/find.h); its memory port meets simulator/memory, and probes bound into
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
  std::uint64_t power_up_seed = 1;               // what SRAM and registers without reset hold at first
  std::optional<AxiSlave> slave = std::nullopt;  // at the memory port, in the place of a memory model: values, no times
  std::optional<std::filesystem::path> model = std::nullopt;  // default: find_rtl_model(), or as engine.build_missing
  // A burst beat whose address is in [begin, end) is answered with this AXI response: 2 SLVERR, 3 DECERR.
  struct BadRange {
    std::uint64_t begin = 0, end = 0;
    int response = 2;
  };
  std::optional<BadRange> bad_range = std::nullopt;
  // What fetch reads in the place of an instruction, by its number: for what the simulator itself refuses.
  std::map<std::size_t, std::vector<std::byte>> patches = {};
};

class RtlSimulator : public Simulator {
 public:
  // An element as it is in SRAM. Precondition: memory is uop, wgt, inp or acc, index within its depth.
  virtual std::vector<std::byte> sram_element(isa::Memory memory, std::uint64_t index) const = 0;
  // The register's value, or nullopt where the design answers with an error.
  virtual std::optional<std::uint32_t> read_register(std::uint32_t offset) = 0;
  // Bit i of the strobes: byte i is written. False: the design answers with an error.
  virtual bool write_register(std::uint32_t offset, std::uint32_t value, unsigned strobes = 0xf) = 0;
  // Is the interrupt line high?
  virtual bool interrupt() const = 0;
  virtual MemoryStatistics memory_statistics() const = 0;
};

// Errors: no model of the configuration, where none is to be built (the hint gives the line that does), or none can
// be; one that cannot be loaded.
// Precondition: validate(config).
Result<std::unique_ptr<RtlSimulator>> make_rtl(const isa::HardwareConfig& config, const RtlOptions& options = {});

}  // namespace dovetail::simulator
