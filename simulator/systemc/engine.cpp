// The engine `systemc`, loaded by simulator/systemc_engine.cpp: for each launch it creates a platform of a memory and,
// for each accelerator, a host and a window of that memory.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <systemc>

#include "base/check.h"
#include "base/memory_limit.h"
#include "isa/accelerators.h"
#include "isa/codec.h"
#include "simulator/cycle/execution.h"
#include "simulator/simulator.h"
#include "simulator/systemc/accelerator.h"
#include "simulator/systemc/dram.h"
#include "simulator/systemc/host.h"
#include "simulator/systemc/kernel.h"
#include "simulator/systemc_engine.h"

// Required by the SystemC library wherever it is linked; sc_start() is called without it.
extern "C" __attribute__((visibility("default"))) int sc_main(int, char**) { return 0; }

namespace dovetail::simulator::systemc {

namespace {

class SystemcSimulator final : public Simulator {
 public:
  SystemcSimulator(const isa::HardwareConfig& config, const EngineOptions& options)
      : configs_(config, options.others), options_(options) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(options.accelerators); ++i)
      executions_.push_back(std::make_unique<Execution>(configs_[i], Values::computed, options.work));
  }

  std::string_view name() const override { return "systemc"; }
  bool runs_together() const override { return options_.by_launch; }
  const LaunchTrace* timing() const override { return timing_ ? &*timing_ : nullptr; }
  void reset() override {
    for (const auto& execution : executions_) execution->reset();
  }
  // On different samples, all accelerators run the launch.
  Result<Counters> launch(std::span<const isa::Instruction> program, simulator::Dram& dram,
                          std::size_t first_index) override {
    std::vector<Started> started;
    for (std::size_t i = 0; i < (options_.by_launch ? 1 : executions_.size()); ++i)
      started.push_back({i, program, first_index});
    DOVETAIL_TRY(start(started, dram));
    return *timing_->counters;
  }
  Result<std::vector<Counters>> launch_together(std::span<const isa::Instruction> program,
                                                std::span<const isa::Launch> launches, simulator::Dram& dram) override {
    DOVETAIL_TRY(program_base_of(configs_.first(), options_, dram, launches));
    std::vector<Started> started;
    for (const isa::Launch& launch : launches)
      started.push_back({launch.accelerator, program.subspan(launch.begin, launch.count), launch.begin});
    return start(started, dram);
  }

 private:
  // An accelerator with its host.
  struct Node {
    Node(const std::string& number, const AcceleratorOptions& options, Execution& execution, const HostLaunch& launch)
        : interrupt(("interrupt" + number).c_str()),
          host(("host" + number).c_str(), launch),
          accelerator(("accelerator" + number).c_str(), options, execution) {
      host.registers.bind(accelerator.registers);
      host.interrupt.bind(interrupt);
      accelerator.interrupt.bind(interrupt);
    }
    sc_core::sc_signal<bool> interrupt;
    Host host;
    Accelerator accelerator;
  };

  // The launch of an accelerator.
  struct Started {
    std::size_t accelerator;
    std::span<const isa::Instruction> program;
    std::size_t first_index;
  };

  // The counters of each launch; of the first one alone if all are of one program on different samples.
  Result<std::vector<Counters>> start(std::span<const Started> started, simulator::Dram& dram) {
    timing_.reset();
    return in_fresh_kernel([&] { return simulate(started, dram); });
  }

  Result<std::vector<Counters>> simulate(std::span<const Started> started, simulator::Dram& dram) {
    std::size_t instructions = 0;
    for (const Started& launch : started)
      instructions = std::max(instructions, launch.first_index + launch.program.size());
    DOVETAIL_ASSIGN(const std::uint64_t base, program_base_of(configs_.first(), options_, dram, instructions));
    const auto instruction_bytes = static_cast<std::uint64_t>(configs_.first().instruction_bytes());
    const auto address_of = [&](const Started& launch) { return base + launch.first_index * instruction_bytes; };
    std::uint64_t begin = dram.base, end = dram.base + dram.bytes.size();
    for (const Started& launch : started) {
      begin = std::min(begin, address_of(launch));
      end = std::max(end, address_of(launch) + launch.program.size() * instruction_bytes);
    }
    // On different samples, each accelerator has its own image and program.
    const std::size_t windows = options_.by_launch ? 1 : started.size();
    const std::uint64_t window =
        windows == 1 ? end - begin : window_bytes(dram.base, dram.bytes.size(), base, instructions * instruction_bytes);
    DOVETAIL_TRY(check_memory("cannot make the platform's memory",
                              fmt::format("image and program in one, {:#x} to {:#x}{}", begin, end,
                                          windows == 1 ? "" : fmt::format(", for {} accelerators", windows)),
                              window * windows));
    std::vector<std::byte> memory(window * windows);
    for (std::size_t i = 0; i < started.size(); ++i) {
      const auto place = [&](std::uint64_t at) {
        return memory.begin() + static_cast<std::ptrdiff_t>((windows == 1 ? 0 : i * window) + at - begin);
      };
      if (i < windows) std::copy(dram.bytes.begin(), dram.bytes.end(), place(dram.base));
      DOVETAIL_ASSIGN(const std::vector<std::byte> code,
                      isa::Codec(configs_[started[i].accelerator]).encode_program(started[i].program));
      std::copy(code.begin(), code.end(), place(address_of(started[i])));
    }
    std::vector<int> requesters;
    for (const Started& launch : started) requesters.push_back(static_cast<int>(launch.accelerator));
    DramModule module("dram", make_memory(options_.memory, configs_.first().bus_bytes), begin, std::move(memory),
                      requesters);
    std::vector<std::unique_ptr<Node>> nodes;
    for (std::size_t i = 0; i < started.size(); ++i) {
      const AcceleratorOptions options{.config = configs_[started[i].accelerator],
                                       .image_base = dram.base,
                                       .image_bytes = dram.bytes.size(),
                                       .window = windows == 1 ? 0 : i * window,
                                       .trace = options_.trace};
      nodes.push_back(
          std::make_unique<Node>(i == 0 ? "" : std::to_string(i), options, *executions_[started[i].accelerator],
                                 HostLaunch{.program_base = base,
                                            .offset = options.config.offset ? offset() : 0,
                                            .begin = static_cast<std::uint32_t>(started[i].first_index),
                                            .count = static_cast<std::uint32_t>(started[i].program.size())}));
      nodes.back()->accelerator.memory.bind(module.port);
    }
    sc_core::sc_start();
    const auto image_of = [&](std::size_t node) {
      return std::span(module.bytes())
          .subspan((windows == 1 ? 0 : node * window) + dram.base - begin, dram.bytes.size());
    };
    std::ranges::copy(image_of(0), dram.bytes.begin());
    return outcome(nodes, module, image_of);
  }

  template <typename ImageOf>
  Result<std::vector<Counters>> outcome(const std::vector<std::unique_ptr<Node>>& nodes, DramModule& module,
                                        const ImageOf& image_of) {
    // The first of those that end last.
    const auto cycles = [](const std::unique_ptr<Node>& node) {
      return node->accelerator.trace() ? node->accelerator.trace()->cycles : 0;
    };
    const Node& slowest = **std::ranges::max_element(nodes, {}, cycles);
    timing_ = slowest.accelerator.trace();
    // On different samples all run the same program, so all end in the same way, and counters are those of one.
    std::vector<Counters> counters;
    Counters sum;
    for (const auto& node : std::span(nodes).first(options_.by_launch ? nodes.size() : 1)) {
      DOVETAIL_ASSIGN(const Counters own, node->accelerator.outcome());
      counters.push_back(own);
      sum += own;
    }
    for (std::size_t i = 1; i < nodes.size() && !options_.by_launch; ++i)
      DOVETAIL_CHECK(std::ranges::equal(image_of(0), image_of(i)),
                     "accelerators must compute the same values on equal samples");
    timing_->cycles = slowest.host.cycles();
    sum.dram = counters.front().dram = module.finish(timing_->cycles);
    timing_->counters = sum;
    return counters;
  }

  isa::AcceleratorConfigs configs_;
  EngineOptions options_;
  std::vector<std::unique_ptr<Execution>> executions_;
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
