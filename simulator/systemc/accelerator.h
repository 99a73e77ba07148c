// The accelerator as a TLM-2.0 module: registers (isa/spec/registers.h) at a target socket, memory at an initiator
// socket, an interrupt line. The timing core is that of `cycle`; docs/reference/systemc.md describes how time and
// values pass through the sockets.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <systemc>
#include <tlm>

#include "isa/codec.h"
#include "isa/config.h"
#include "isa/spec/registers.h"
#include "simulator/cycle/execution.h"
#include "simulator/cycle/machine.h"
#include "simulator/memory/memory.h"
#include "simulator/registers.h"
#include "simulator/simulator.h"
#include "simulator/systemc/burst_extension.h"
#include "simulator/systemc/stored_rows.h"

namespace dovetail::simulator::systemc {

struct AcceleratorOptions {
  isa::HardwareConfig config;  // precondition: valid
  sc_core::sc_time clock_period{1, sc_core::SC_NS};
  // The part of memory that programs work on. Its bytes are read when a launch starts; later writes by others during
  // the launch are not seen.
  std::uint64_t image_base = 0, image_bytes = 0;
  // Added to every address on its way to memory: the base of the accelerator's window, because program and image have
  // the same addresses for all accelerators.
  std::uint64_t window = 0;
  bool trace = false;
};

class Accelerator : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Accelerator> registers;
  tlm_utils::simple_initiator_socket<Accelerator> memory;
  sc_core::sc_out<bool> interrupt;

  // `execution` holds SRAM, and outlives the module.
  Accelerator(sc_core::sc_module_name name, const AcceleratorOptions& options, Execution& execution);

  // Results of the last launch, like Simulator::timing(). A deadlocked launch never completes: STATUS stays busy, and
  // outcome() returns the reason.
  const std::optional<LaunchTrace>& trace() const { return trace_; }
  Result<Counters> outcome() const {
    return refused_.empty() ? execution_.outcome(machine_) : Result<Counters>(refused_);
  }

 private:
  // The memory as seen by the machine: each request becomes a transaction.
  class Port final : public Memory {
   public:
    explicit Port(Accelerator& owner) : owner_(owner) {}
    Answer accept(Cycle cycle, Direction direction, std::uint64_t address, std::uint32_t beats) override;
    MemorySplit explain(Direction direction) const override { return delays_[static_cast<std::size_t>(direction)]; }
    void reset() override {
      last_read_ = last_write_ = 0;
      failure_.reset();
    }
    std::optional<DramCommands> finish(Cycle) override {
      return std::nullopt;
    }  // the memory does not belong to the accelerator
    MemoryStatistics statistics() const override { return {}; }

    // The first error response of the memory in this launch, and the instruction that received it.
    struct Failure {
      isa::spec::ErrorCode code;
      std::size_t instruction;  // index in the launch
    };
    const std::optional<Failure>& failure() const { return failure_; }

   private:
    void fill_write(std::uint64_t address, std::size_t bytes);

    Accelerator& owner_;
    std::vector<unsigned char> data_, enables_;
    Cycle last_read_ = 0, last_write_ = 0;
    std::array<MemorySplit, 2> delays_;
    std::optional<Failure> failure_;
  };

  void access_register(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay);
  void write_register(std::uint32_t offset, std::uint32_t value);
  void run();
  void launch();
  Machine::Launch machine_launch();
  bool read_memory(std::uint64_t address, unsigned char* data, std::size_t bytes);
  bool prepare();
  void stop(const LaunchError& error);
  // `instruction`: index in the program.
  void refuse(isa::spec::ErrorCode code, std::size_t instruction, Diagnostics why);
  void raise() { interrupt_changed_.notify(sc_core::SC_ZERO_TIME); }
  void drive_interrupt() { interrupt.write(registers_.interrupt()); }
  std::uint64_t cycles_now() const;

  AcceleratorOptions options_;
  isa::Codec codec_;
  Execution& execution_;
  Port port_;
  Machine machine_;
  Registers registers_;
  Dram image_;
  StoredRows stored_;  // of the running STORE
  std::vector<isa::Instruction> program_;
  Diagnostics refused_;  // why the platform did not run or finish the launch
  std::optional<LaunchTrace> trace_;

  sc_core::sc_event start_, interrupt_changed_;
  std::uint64_t origin_ = 0;  // cycle 0 of the launch, since the start of the simulation
};

}  // namespace dovetail::simulator::systemc
