// The system on chip of hw/soc, loosely timed: the accelerator's launches have the cycles of the design, the processor
// takes a fixed number of cycles for each instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <systemc>
#include <tlm>

#include "simulator/memory/memory.h"
#include "simulator/soc/memory_map.h"
#include "simulator/soc/rv32.h"
#include "simulator/soc/serial_input.h"
#include "simulator/soc/system.h"

namespace dovetail::simulator::systemc {

// The accelerator's memory, with the times of a model from the beginning of each launch. The processor uses it without
// modeled time, through read() and write().
class SocMemory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<SocMemory> port;

  SocMemory(sc_core::sc_module_name name, const soc::SystemOptions& options);

  // A launch begins in this cycle of the simulation.
  void begin(Cycle cycle);
  // A word, of which `mask` is written. False: there is no memory.
  bool read(std::uint64_t address, std::uint32_t& word) const;
  bool write(std::uint64_t address, std::uint32_t word, std::uint32_t mask);

 private:
  void transport(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay);
  unsigned debug(tlm::tlm_generic_payload& transaction);
  bool has(std::uint64_t address, std::uint64_t bytes) const;
  bool move(tlm::tlm_generic_payload& transaction);

  std::unique_ptr<Memory> times_;
  std::vector<unsigned char> bytes_;
  std::optional<std::uint64_t> broken_;
  bool launched_ = false;
  Cycle origin_ = 0;
};

class SocProcessor : public sc_core::sc_module, private soc::Rv32::Bus {
 public:
  tlm_utils::simple_initiator_socket<SocProcessor> accelerator;  // its registers
  sc_core::sc_in<bool> interrupt;

  SocProcessor(sc_core::sc_module_name name, std::span<const std::byte> firmware, const soc::SystemOptions& options,
               SocMemory& memory);

  const soc::SystemRun& result() const { return result_; }  // complete when the simulation has ended

 private:
  void run();
  void end(soc::SystemRun::End how);
  bool is_over();  // ends the run if it is
  void sleep();
  void pass_time();
  Cycle now() const;
  std::uint32_t lines() const;

  std::uint32_t read(std::uint32_t address) override;
  void write(std::uint32_t address, std::uint32_t value, std::uint32_t mask) override;
  std::optional<std::uint32_t> read_target(std::uint32_t address);
  bool write_target(std::uint32_t address, std::uint32_t value, std::uint32_t mask);
  bool access_accelerator(tlm::tlm_command command, std::uint32_t offset, std::uint32_t& value);
  void fault(std::uint32_t address, bool is_write);
  void send(unsigned char byte);
  void receive();

  const soc::SystemOptions& options_;
  SocMemory& memory_;
  std::vector<std::byte> ram_;
  soc::Rv32 core_;
  std::uint64_t passed_ = 0;  // instructions whose time has passed
  soc::SystemRun result_;

  std::uint32_t divider_ = 0xffff;
  // Of the last byte: the cycles from which on there is room for the next one, and the line is free.
  Cycle begun_ = 0, sent_ = 0;
  // Bytes that are on their way to the processor, with the cycles of their arrival; what DATA reads as.
  struct Arrival {
    Cycle cycle;
    unsigned char byte;
  };
  std::deque<Arrival> arrivals_;
  std::uint32_t received_ = 0;
  soc::SerialInput input_;
  std::uint64_t compare_ = ~std::uint64_t{0};
  std::uint32_t time_high_ = 0, fault_ = 0, fault_address_ = 0;
  bool timer_enabled_ = false;
};

}  // namespace dovetail::simulator::systemc
