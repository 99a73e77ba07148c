#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "runtime/step.h"

namespace dovetail::runtime {

namespace {

class AccelStep : public ReadyStep {
 public:
  AccelStep(const bundle::AccelStep& step, std::unique_ptr<simulator::Simulator> simulator)
      : step_(step), simulator_(std::move(simulator)) {}

  std::string_view name() const override { return step_.name; }
  std::string_view target() const override { return "accel"; }

  Result<simulator::Counters> run(TensorMemory& memory) override {
    simulator::Dram& dram = memory.device(step_);
    const auto at = [&](const bundle::Binding& binding) { return dram.bytes.data() + (binding.address - dram.base); };
    for (const bundle::Binding& input : step_.inputs)
      if (const auto bytes = memory.read(input.tensor); bytes.data() != at(input))
        std::copy(bytes.begin(), bytes.end(), at(input));
    simulator_->reset();
    simulator::Counters total;
    timing_.clear();
    for (const isa::Launch& launch : step_.launches) {
      auto counters =
          simulator_->launch(std::span(step_.program).subspan(launch.begin, launch.count), dram, launch.begin);
      if (!counters.ok()) return located(counters.errors());
      total += *counters;
      if (const simulator::LaunchTrace* timing = simulator_->timing()) timing_.push_back(*timing);
    }
    for (const bundle::Binding& output : step_.outputs)
      if (const auto bytes = memory.write(output.tensor); bytes.data() != at(output))
        std::copy_n(at(output), bytes.size(), bytes.begin());
    return total;
  }

  std::vector<simulator::LaunchTrace> timing() const override { return timing_; }

 private:
  Diagnostics located(Diagnostics problems) const {
    for (Diagnostic& problem : problems)
      problem.where = problem.where.empty() ? fmt::format("step {}", step_.name)
                                            : fmt::format("step {}, {}", step_.name, problem.where);
    return problems;
  }

  const bundle::AccelStep& step_;
  std::unique_ptr<simulator::Simulator> simulator_;
  std::vector<simulator::LaunchTrace> timing_;
};

}  // namespace

Result<std::unique_ptr<ReadyStep>> make_accel_step(const bundle::AccelStep& step, const MakeSimulator& make_simulator) {
  DOVETAIL_ASSIGN(auto simulator, make_simulator(step.config));
  return std::unique_ptr<ReadyStep>(std::make_unique<AccelStep>(step, std::move(simulator)));
}

}  // namespace dovetail::runtime
