// A host that starts one launch through the register map and waits for its interrupt: a minimal driver.
#pragma once

#include <cstdint>

#include <tlm_utils/simple_initiator_socket.h>
#include <systemc>
#include <tlm>

namespace dovetail::simulator::systemc {

struct HostLaunch {
  std::uint64_t program_base = 0;
  std::uint64_t offset = 0;  // the register OFFSET, if the design has it; otherwise 0
  std::uint32_t begin = 0, count = 0;
};

class Host : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Host> registers;
  sc_core::sc_in<bool> interrupt;

  Host(sc_core::sc_module_name name, const HostLaunch& launch);

  bool done() const { return done_; }               // false after an error, or before the interrupt
  std::uint64_t cycles() const { return cycles_; }  // value of the CYCLES register
  // Values of STATUS and ERROR_INSTRUCTION; 0 before the interrupt.
  std::uint32_t status() const { return status_; }
  std::uint32_t error_instruction() const { return error_instruction_; }

 private:
  void run();
  std::uint32_t read(std::string_view name);
  void write(std::string_view name, std::uint32_t value);

  HostLaunch launch_;
  bool done_ = false;
  std::uint64_t cycles_ = 0;
  std::uint32_t status_ = 0, error_instruction_ = 0;
};

}  // namespace dovetail::simulator::systemc
