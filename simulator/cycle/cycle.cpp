#include "simulator/cycle/cycle.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "isa/accelerators.h"
#include "isa/offset.h"
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
    error_.reset();
    program = at_offset(config_, program);
    DOVETAIL_ASSIGN(const std::uint64_t base, program_base_of(config_, options_, dram, first_index + program.size()));
    memory_->reset();
    machine_.begin(execution_.begin(program, first_index, dram, base, options_.trace));
    bool goes_on = true;
    for (Cycle cycle; (cycle = machine_.next()) != kUnknown && (goes_on = execution_.goes_on());) machine_.step(cycle);
    Result<Counters> counters = execution_.outcome(machine_);
    if (goes_on && !machine_.stopped()) timing_ = machine_.result();
    error_ = execution_.error(machine_);
    if (!counters.ok()) return counters;
    counters->dram = memory_->finish(timing_->cycles);
    timing_->counters = *counters;
    return counters;
  }
  std::optional<LaunchError> error() const override { return error_; }
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
  std::optional<LaunchError> error_;
};

// Several accelerators that share the memory. Either they run one program on different samples, where times do not
// depend on values, so values are computed only for the first one; or each runs its launches of one sample.
class SharedSimulator : public Simulator {
 public:
  SharedSimulator(const isa::HardwareConfig& config, const EngineOptions& options, Values values)
      : configs_(config, options.others),
        options_(options),
        memory_(make_memory(options.memory, config.bus_bytes)),
        machines_(configs_, *memory_, static_cast<std::size_t>(options.accelerators)) {
    for (std::size_t i = 0; i < machines_.size(); ++i) {
      const bool same = i > 0 && !options.by_launch;
      executions_.push_back(
          std::make_unique<Execution>(configs_[i], same ? Values::left_out : values, same ? nullptr : options.work));
    }
  }

  std::string_view name() const override { return "cycle"; }
  bool runs_together() const override { return options_.by_launch; }
  Result<Counters> launch(std::span<const isa::Instruction> program, Dram& dram, std::size_t first_index) override {
    timing_.reset();
    const isa::HardwareConfig& config = configs_.first();
    program = at_offset(config, program);
    DOVETAIL_ASSIGN(const std::uint64_t base, program_base_of(config, options_, dram, first_index + program.size()));
    std::vector<Started> started;
    for (std::size_t i = 0; i < (options_.by_launch ? 1 : machines_.size()); ++i)
      started.push_back({i, program, first_index});
    const std::uint64_t program_bytes =
        (first_index + program.size()) * static_cast<std::uint64_t>(config.instruction_bytes());
    DOVETAIL_TRY(run(started, dram, base,
                     options_.by_launch ? 0 : window_bytes(dram.base, dram.bytes.size(), base, program_bytes)));
    return *timing_->counters;
  }
  Result<std::vector<Counters>> launch_together(std::span<const isa::Instruction> program,
                                                std::span<const isa::Launch> launches, Dram& dram) override {
    timing_.reset();
    DOVETAIL_ASSIGN(const std::uint64_t base, program_base_of(configs_.first(), options_, dram, launches));
    std::vector<std::vector<isa::Instruction>> moved;  // at OFFSET
    std::vector<Started> started;
    for (const isa::Launch& launch : launches) {
      std::span<const isa::Instruction> own = program.subspan(launch.begin, launch.count);
      if (offset() != 0) own = moved.emplace_back(isa::at_offset(configs_[launch.accelerator], own, offset()));
      started.push_back({launch.accelerator, own, launch.begin});
    }
    return run(started, dram, base, 0);
  }
  const LaunchTrace* timing() const override { return timing_ ? &*timing_ : nullptr; }
  void reset() override {
    for (const auto& execution : executions_) execution->reset();
  }

 protected:
  const Execution& execution() const { return *executions_.front(); }

 private:
  // The launch of a machine.
  struct Started {
    std::size_t machine;
    std::span<const isa::Instruction> program;
    std::size_t first_index;
  };

  // The counters of each launch; of the first one alone if all are of one program on different samples.
  Result<std::vector<Counters>> run(std::span<const Started> started, Dram& dram, std::uint64_t base,
                                    std::uint64_t window) {
    memory_->reset();
    std::vector<std::size_t> running;
    for (const Started& launch : started) running.push_back(launch.machine);
    machines_.begin(window, running);
    for (const Started& launch : started)
      machines_[launch.machine].begin(
          executions_[launch.machine]->begin(launch.program, launch.first_index, dram, base, options_.trace));
    const auto goes_on = [&, &first = *executions_[running.front()]] { return first.goes_on(); };
    bool whole = true;
    for (Cycle cycle; (cycle = machines_.next()) != kUnknown && (whole = goes_on());) machines_.step(cycle);
    const auto stopped = [&](std::size_t i) { return machines_[i].stopped(); };
    if (whole && std::ranges::none_of(counted(running), stopped)) timing_ = last(running);
    std::vector<Counters> counters;
    Counters sum;
    for (const std::size_t i : counted(running)) {
      DOVETAIL_ASSIGN(const Counters own, executions_[i]->outcome(machines_[i]));
      counters.push_back(own);
      sum += own;
    }
    sum.dram = counters.front().dram = memory_->finish(timing_->cycles);
    timing_->counters = sum;
    return counters;
  }

  // On different samples all have the counters of the first one.
  std::vector<std::size_t> counted(const std::vector<std::size_t>& running) const {
    return options_.by_launch ? running : std::vector{running.front()};
  }

  // The trace of the machine that ends last (the first one if several do): it determines the duration.
  LaunchTrace last(std::span<const std::size_t> running) {
    LaunchTrace slowest = machines_[running.front()].result();
    for (const std::size_t i : running.subspan(1))
      if (LaunchTrace other = machines_[i].result(); other.cycles > slowest.cycles) slowest = std::move(other);
    return slowest;
  }

  isa::AcceleratorConfigs configs_;
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
