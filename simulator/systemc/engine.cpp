// The engine `systemc`, as simulator/systemc_engine.cpp loads it: for each launch a platform of host, accelerator and
// memory.
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <systemc>

#include "base/memory_limit.h"
#include "isa/codec.h"
#include "simulator/cycle/execution.h"
#include "simulator/simulator.h"
#include "simulator/systemc/accelerator.h"
#include "simulator/systemc/dram.h"
#include "simulator/systemc/host.h"
#include "simulator/systemc/kernel.h"
#include "simulator/systemc_engine.h"

// Needed by the SystemC library wherever it is linked; sc_start() is called without it.
extern "C" __attribute__((visibility("default"))) int sc_main(int, char**) { return 0; }

namespace dovetail::simulator::systemc {

namespace {

class SystemcSimulator final : public Simulator {
 public:
  SystemcSimulator(const isa::HardwareConfig& config, const EngineOptions& options)
      : config_(config), options_(options), codec_(config), execution_(config, Values::computed, options.work) {}

  std::string_view name() const override { return "systemc"; }
  const LaunchTrace* timing() const override { return timing_ ? &*timing_ : nullptr; }
  void reset() override { execution_.reset(); }
  Result<Counters> launch(std::span<const isa::Instruction> program, simulator::Dram& dram,
                          std::size_t first_index) override {
    timing_.reset();
    return in_fresh_kernel([&] { return simulate(program, dram, first_index); });
  }

 private:
  Result<Counters> simulate(std::span<const isa::Instruction> program, simulator::Dram& dram, std::size_t first_index) {
    DOVETAIL_ASSIGN(const std::uint64_t base, program_base_of(config_, options_, dram, first_index + program.size()));
    DOVETAIL_ASSIGN(const std::vector<std::byte> code, codec_.encode_program(program));
    const std::uint64_t address = base + first_index * static_cast<std::uint64_t>(config_.instruction_bytes());
    const std::uint64_t begin = std::min(dram.base, address),
                        end = std::max(dram.base + dram.bytes.size(), address + code.size());
    DOVETAIL_TRY(check_memory("cannot make the platform's memory",
                              fmt::format("image and program in one, {:#x} to {:#x}", begin, end), end - begin));
    std::vector<std::byte> memory(end - begin);
    std::copy(dram.bytes.begin(), dram.bytes.end(), memory.begin() + static_cast<std::ptrdiff_t>(dram.base - begin));
    std::copy(code.begin(), code.end(), memory.begin() + static_cast<std::ptrdiff_t>(address - begin));

    sc_core::sc_signal<bool> interrupt("interrupt");
    Host host("host", {.program_base = base,
                       .begin = static_cast<std::uint32_t>(first_index),
                       .count = static_cast<std::uint32_t>(program.size())});
    Accelerator accelerator(
        "accelerator",
        {.config = config_, .image_base = dram.base, .image_bytes = dram.bytes.size(), .trace = options_.trace},
        execution_);
    DramModule module("dram", make_memory(options_.memory, config_.bus_bytes), begin, std::move(memory));
    host.registers.bind(accelerator.registers);
    host.interrupt.bind(interrupt);
    accelerator.interrupt.bind(interrupt);
    accelerator.memory.bind(module.port);
    sc_core::sc_start();

    const auto image = module.bytes().begin() + static_cast<std::ptrdiff_t>(dram.base - begin);
    std::copy_n(image, dram.bytes.size(), dram.bytes.begin());
    Result<Counters> counters = accelerator.outcome();
    timing_ = accelerator.trace();
    if (!counters.ok()) return counters;
    timing_->cycles = host.cycles();
    counters->dram = module.finish(timing_->cycles);
    timing_->counters = *counters;
    return counters;
  }

  isa::HardwareConfig config_;
  EngineOptions options_;
  isa::Codec codec_;
  Execution execution_;
  std::optional<LaunchTrace> timing_;
};

}  // namespace

}  // namespace dovetail::simulator::systemc

extern "C" __attribute__((visibility("default"))) dovetail::simulator::Simulator* dovetail_make_systemc(
    const dovetail::isa::HardwareConfig* config, const dovetail::simulator::EngineOptions* options) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);
  setenv("SC_COPYRIGHT_MESSAGE", "DISABLE", 0);
  return new dovetail::simulator::systemc::SystemcSimulator(*config, *options);
}
