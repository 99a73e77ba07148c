// Platforms of several accelerators that share a memory, each with a host that starts one launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <systemc>

#include "isa/codec.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "simulator/cycle/execution.h"
#include "simulator/systemc/accelerator.h"
#include "simulator/systemc/dram.h"
#include "simulator/systemc/host.h"
#include "simulator/systemc/kernel.h"

namespace dovetail::test {

// An accelerator's program, and its address.
struct Job {
  std::vector<isa::Instruction> program;
  std::uint64_t program_base = 0;
};

struct PlatformRun {
  std::vector<std::byte> bytes;       // memory at the end
  std::vector<std::uint64_t> cycles;  // of each job
  std::vector<bool> done;             // STATUS.done
};

struct PlatformOptions {
  isa::HardwareConfig config;
  std::string memory = "ideal";
  // The order in which the accelerators are constructed, which is that of SystemC's processes; empty: that of the jobs.
  std::vector<std::size_t> made = {};
};

// Memory begins at address 0 with `image`; programs are written into it.
inline PlatformRun run_platform(const PlatformOptions& options, const std::vector<Job>& jobs,
                                std::vector<std::byte> image) {
  using namespace simulator;
  using namespace simulator::systemc;
  for (const Job& job : jobs) {
    const auto code = isa::Codec(options.config).encode_program(job.program).value();
    std::copy(code.begin(), code.end(), image.begin() + static_cast<std::ptrdiff_t>(job.program_base));
  }
  struct Node {
    Execution execution;
    sc_core::sc_signal<bool> interrupt;
    Accelerator accelerator;
    Host host;
    Node(const PlatformOptions& options, const Job& job, std::uint64_t image_bytes, const std::string& name)
        : execution(options.config, Values::computed),
          interrupt((name + "_interrupt").c_str()),
          accelerator((name + "_accelerator").c_str(), {.config = options.config, .image_bytes = image_bytes},
                      execution),
          host(
              (name + "_host").c_str(),
              {.program_base = job.program_base, .begin = 0, .count = static_cast<std::uint32_t>(job.program.size())}) {
      host.registers.bind(accelerator.registers);
      host.interrupt.bind(interrupt);
      accelerator.interrupt.bind(interrupt);
    }
  };
  std::vector<std::size_t> made = options.made;
  for (std::size_t i = made.size(); i < jobs.size(); ++i) made.push_back(i);
  return in_fresh_kernel([&] {
    const std::uint64_t bytes = image.size();
    DramModule memory("memory", make_memory(parse_memory(options.memory).value(), options.config.bus_bytes), 0, image);
    std::vector<std::unique_ptr<Node>> nodes(jobs.size());
    for (const std::size_t i : made)
      nodes[i] = std::make_unique<Node>(options, jobs[i], bytes, "node" + std::to_string(i));
    for (const auto& node : nodes) node->accelerator.memory.bind(memory.port);
    sc_core::sc_start();
    PlatformRun run{.bytes = memory.bytes(), .cycles = {}, .done = {}};
    for (const auto& node : nodes) {
      run.cycles.push_back(node->host.cycles());
      run.done.push_back(node->host.done());
    }
    return run;
  });
}

}  // namespace dovetail::test
