#include "simulator/cycle/cycle.h"

#include <optional>

#include "simulator/cycle/execution.h"
#include "simulator/cycle/machine.h"
#include "simulator/sram_reader.h"

namespace dovetail::simulator {

namespace {

class CycleSimulator : public Simulator {
 public:
  CycleSimulator(const isa::HardwareConfig& config, const EngineOptions& options, Values values)
      : config_(config),
        options_(options),
        memory_(make_memory(options.memory, config.bus_bytes)),
        machine_(config, *memory_),
        execution_(config, values, options.work) {}

  std::string_view name() const override { return "cycle"; }
  Result<Counters> launch(std::span<const isa::Instruction> program, Dram& dram, std::size_t first_index) override {
    timing_.reset();
    DOVETAIL_ASSIGN(const std::uint64_t base, program_base_of(config_, options_, dram, first_index + program.size()));
    memory_->reset();
    machine_.begin(execution_.begin(program, first_index, dram, base, options_.trace));
    bool goes_on = true;
    while (machine_.next() != kUnknown && (goes_on = execution_.goes_on())) machine_.step();
    Result<Counters> counters = execution_.outcome(machine_);
    if (goes_on && !machine_.stopped()) timing_ = machine_.result();
    if (!counters.ok()) return counters;
    counters->dram = memory_->finish(timing_->cycles);
    timing_->counters = *counters;
    return counters;
  }
  const LaunchTrace* timing() const override { return timing_ ? &*timing_ : nullptr; }
  void reset() override { execution_.reset(); }

 protected:
  const Execution& execution() const { return execution_; }

 private:
  isa::HardwareConfig config_;
  EngineOptions options_;
  std::unique_ptr<Memory> memory_;
  Machine machine_;
  Execution execution_;
  std::optional<LaunchTrace> timing_;
};

// With values there is an SRAM to look into.
class ValuesSimulator final : public CycleSimulator, public SramReader {
 public:
  ValuesSimulator(const isa::HardwareConfig& config, const EngineOptions& options)
      : CycleSimulator(config, options, Values::computed) {}

  NdArray read_sram(isa::Memory memory, std::size_t begin, std::size_t count) const override {
    return execution().sram()->read(memory, begin, count);
  }
  bool is_written(isa::Memory memory, std::size_t element) const override {
    return execution().sram()->is_written(memory, element);
  }
};

}  // namespace

std::unique_ptr<Simulator> make_cycle(const isa::HardwareConfig& config, const EngineOptions& options) {
  return std::make_unique<ValuesSimulator>(config, options);
}

std::unique_ptr<Simulator> make_cycle_timing(const isa::HardwareConfig& config, const EngineOptions& options) {
  return std::make_unique<CycleSimulator>(config, options, Values::left_out);
}

}  // namespace dovetail::simulator
