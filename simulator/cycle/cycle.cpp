#include "simulator/cycle/cycle.h"

#include <optional>
#include <utility>
#include <vector>

#include "simulator/cycle/execution.h"
#include "simulator/cycle/machine.h"
#include "simulator/cycle/shared_machines.h"
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
    program = at_offset(config_, program);
    DOVETAIL_ASSIGN(const std::uint64_t base, program_base_of(config_, options_, dram, first_index + program.size()));
    memory_->reset();
    machine_.begin(execution_.begin(program, first_index, dram, base, options_.trace));
    bool goes_on = true;
    for (Cycle cycle; (cycle = machine_.next()) != kUnknown && (goes_on = execution_.goes_on());) machine_.step(cycle);
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

// Several accelerators that share the memory. They run one program on different samples: their times do not depend on
// values, so values are computed only for the first one.
class SharedSimulator : public Simulator {
 public:
  SharedSimulator(const isa::HardwareConfig& config, const EngineOptions& options, Values values)
      : config_(config),
        options_(options),
        memory_(make_memory(options.memory, config.bus_bytes)),
        machines_(config, *memory_, static_cast<std::size_t>(options.accelerators)) {
    for (std::size_t i = 0; i < machines_.size(); ++i)
      executions_.push_back(
          std::make_unique<Execution>(config, i == 0 ? values : Values::left_out, i == 0 ? options.work : nullptr));
  }

  std::string_view name() const override { return "cycle"; }
  Result<Counters> launch(std::span<const isa::Instruction> program, Dram& dram, std::size_t first_index) override {
    timing_.reset();
    program = at_offset(config_, program);
    const std::size_t instructions = first_index + program.size();
    DOVETAIL_ASSIGN(const std::uint64_t base, program_base_of(config_, options_, dram, instructions));
    memory_->reset();
    machines_.begin(window_bytes(dram.base, dram.bytes.size(), base,
                                 instructions * static_cast<std::uint64_t>(config_.instruction_bytes())));
    for (std::size_t i = 0; i < machines_.size(); ++i)
      machines_[i].begin(executions_[i]->begin(program, first_index, dram, base, options_.trace));
    bool goes_on = true;
    for (Cycle cycle; (cycle = machines_.next()) != kUnknown && (goes_on = executions_.front()->goes_on());)
      machines_.step(cycle);
    Result<Counters> counters = executions_.front()->outcome(machines_[0]);
    if (goes_on && !machines_[0].stopped()) timing_ = last();
    if (!counters.ok()) return counters;
    counters->dram = memory_->finish(timing_->cycles);
    timing_->counters = *counters;
    return counters;
  }
  const LaunchTrace* timing() const override { return timing_ ? &*timing_ : nullptr; }
  void reset() override {
    for (const auto& execution : executions_) execution->reset();
  }

 protected:
  const Execution& execution() const { return *executions_.front(); }

 private:
  // The trace of the accelerator that ends last (the first one if several do): it determines the launch's duration.
  LaunchTrace last() {
    LaunchTrace slowest = machines_[0].result();
    for (std::size_t i = 1; i < machines_.size(); ++i)
      if (LaunchTrace other = machines_[i].result(); other.cycles > slowest.cycles) slowest = std::move(other);
    return slowest;
  }

  isa::HardwareConfig config_;
  EngineOptions options_;
  std::unique_ptr<Memory> memory_;
  SharedMachines machines_;
  std::vector<std::unique_ptr<Execution>> executions_;
  std::optional<LaunchTrace> timing_;
};

// A simulator with values, whose SRAM can be inspected.
template <typename Timed>
class WithValues final : public Timed, public SramReader {
 public:
  WithValues(const isa::HardwareConfig& config, const EngineOptions& options)
      : Timed(config, options, Values::computed) {}

  NdArray read_sram(isa::Memory memory, std::size_t begin, std::size_t count) const override {
    return this->execution().sram()->read(memory, begin, count);
  }
  bool is_written(isa::Memory memory, std::size_t element) const override {
    return this->execution().sram()->is_written(memory, element);
  }
};

}  // namespace

std::unique_ptr<Simulator> make_cycle(const isa::HardwareConfig& config, const EngineOptions& options) {
  if (options.accelerators > 1) return std::make_unique<WithValues<SharedSimulator>>(config, options);
  return std::make_unique<WithValues<CycleSimulator>>(config, options);
}

std::unique_ptr<Simulator> make_cycle_timing(const isa::HardwareConfig& config, const EngineOptions& options) {
  if (options.accelerators > 1) return std::make_unique<SharedSimulator>(config, options, Values::left_out);
  return std::make_unique<CycleSimulator>(config, options, Values::left_out);
}

}  // namespace dovetail::simulator
