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
      : step_(step), simulator_(std::move(simulator)), image_(step.dram_bytes) {
    for (const bundle::Segment& segment : step_.segments)
      std::copy(segment.bytes.begin(), segment.bytes.end(), at(image_, segment.address));
    for (const bundle::Binding& output : step_.outputs) outputs_.push_back(output.tensor);
  }

  std::string_view name() const override { return step_.name; }
  std::string_view target() const override { return "accel"; }
  const std::vector<bundle::TensorIndex>& outputs() const override { return outputs_; }

  Result<simulator::Counters> run(const TensorValue& value, const TensorSlot& slot) override {
    dram_.base = step_.dram_base;
    dram_.bytes = image_;
    for (const bundle::Binding& input : step_.inputs) {
      const auto bytes = value(input.tensor).bytes();
      std::copy(bytes.begin(), bytes.end(), at(dram_.bytes, input.address));
    }
    simulator_->reset();
    simulator::Counters total;
    timing_.clear();
    for (const isa::Launch& launch : step_.launches) {
      auto counters =
          simulator_->launch(std::span(step_.program).subspan(launch.begin, launch.count), dram_, launch.begin);
      if (!counters.ok()) return located(counters.errors());
      total += *counters;
      if (const simulator::LaunchTrace* timing = simulator_->timing()) timing_.push_back(*timing);
    }
    for (const bundle::Binding& output : step_.outputs) {
      const std::span<std::byte> bytes = slot(output.tensor).bytes();
      std::copy_n(at(dram_.bytes, output.address), bytes.size(), bytes.begin());
    }
    return total;
  }

  std::vector<simulator::LaunchTrace> timing() const override { return timing_; }

 private:
  std::vector<std::byte>::iterator at(std::vector<std::byte>& bytes, std::uint64_t address) const {
    return bytes.begin() + static_cast<std::ptrdiff_t>(address - step_.dram_base);
  }

  Diagnostics located(Diagnostics problems) const {
    for (Diagnostic& problem : problems)
      problem.where = problem.where.empty() ? fmt::format("step {}", step_.name)
                                            : fmt::format("step {}, {}", step_.name, problem.where);
    return problems;
  }

  const bundle::AccelStep& step_;
  std::unique_ptr<simulator::Simulator> simulator_;
  std::vector<std::byte> image_;  // memory as every run finds it
  simulator::Dram dram_;          // kept from run to run for its storage only
  std::vector<bundle::TensorIndex> outputs_;
  std::vector<simulator::LaunchTrace> timing_;
};

}  // namespace

Result<std::unique_ptr<ReadyStep>> make_accel_step(const bundle::AccelStep& step, const MakeSimulator& make_simulator) {
  DOVETAIL_ASSIGN(auto simulator, make_simulator(step.config));
  return std::unique_ptr<ReadyStep>(std::make_unique<AccelStep>(step, std::move(simulator)));
}

}  // namespace dovetail::runtime
