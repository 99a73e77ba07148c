// A user-defined SystemC platform. First, two accelerators share our DRAM: each takes longer than alone. Then the DRAM
// is replaced by an ordinary TLM-2.0 target with a fixed delay, independent of our code. Exit code 0: all launches
// completed with the correct bytes.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <tlm_utils/simple_target_socket.h>
#include <systemc>
#include <tlm>

#include "isa/codec.h"
#include "isa/text.h"
#include "simulator/cycle/execution.h"
#include "simulator/systemc/accelerator.h"
#include "simulator/systemc/dram.h"
#include "simulator/systemc/host.h"

using namespace dovetail;
using namespace dovetail::simulator::systemc;

namespace {

// Both accelerators copy 512 ACC elements of 16 bytes from 0x10000 on, widened and narrowed again: the first to
// 0x20000, the second to 0x30000.
constexpr std::uint64_t kSource = 0x10000, kElements = 512, kTarget[] = {0x20000, 0x30000},
                        kProgram[] = {0x40000, 0x41000}, kMemoryBytes = 0x50000;

std::vector<isa::Instruction> program(int number) {
  isa::Load load;
  load.memory = isa::Memory::acc8;
  load.dram_base = kSource / 16;
  load.y_size = 1;
  load.x_size = load.x_stride = kElements;
  isa::Store store;
  store.memory = isa::Memory::out;
  store.dram_base = kTarget[number] / 16;
  store.y_size = 1;
  store.x_size = store.x_stride = kElements;
  return {{{.push_next = true}, load}, {{.pop_prev = true}, store}};
}

std::vector<std::byte> memory_image() {
  std::vector<std::byte> bytes(kMemoryBytes);
  for (std::uint64_t i = 0; i < kElements * 16; ++i) bytes[kSource + i] = static_cast<std::byte>(i * 7 + i / 256);
  for (int number = 0; number < 2; ++number) {
    const auto code = isa::Codec(isa::HardwareConfig{}).encode_program(program(number)).value();
    std::copy(code.begin(), code.end(), bytes.begin() + static_cast<std::ptrdiff_t>(kProgram[number]));
  }
  return bytes;
}

bool copied(const std::vector<std::byte>& bytes, int number) {
  return std::equal(bytes.begin() + kSource, bytes.begin() + kSource + kElements * 16,
                    bytes.begin() + static_cast<std::ptrdiff_t>(kTarget[number]));
}

// A third-party memory: every transaction takes 100 ns, without pipelining.
class PlainMemory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<PlainMemory> port;
  std::vector<std::byte> bytes = memory_image();

  explicit PlainMemory(sc_core::sc_module_name name) : sc_module(name), port("port") {
    port.register_b_transport(this, &PlainMemory::transport);
    port.register_transport_dbg(this, &PlainMemory::debug);
  }

 private:
  void transport(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay) {
    debug(transaction);
    delay += sc_core::sc_time(100, sc_core::SC_NS);
    transaction.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  unsigned debug(tlm::tlm_generic_payload& transaction) {
    unsigned char* data = transaction.get_data_ptr();
    const unsigned char* enables = transaction.get_byte_enable_ptr();
    for (unsigned i = 0; i < transaction.get_data_length(); ++i) {
      if (enables != nullptr && enables[i] == TLM_BYTE_DISABLED) continue;
      std::byte& byte = bytes.at(transaction.get_address() + i);
      if (transaction.is_write()) byte = std::byte{data[i]};
      else data[i] = std::to_integer<unsigned char>(byte);
    }
    return transaction.get_data_length();
  }
};

AcceleratorOptions accelerator_options() {
  AcceleratorOptions options;
  options.image_bytes = kMemoryBytes;
  return options;
}

// An accelerator with its host.
struct Node {
  simulator::Execution execution{isa::HardwareConfig{}, simulator::Values::computed};
  sc_core::sc_signal<bool> interrupt;
  Accelerator accelerator;
  Host host;

  Node(const std::string& name, int number)
      : accelerator((name + "_accelerator").c_str(), accelerator_options(), execution),
        host((name + "_host").c_str(), {.program_base = kProgram[number], .begin = 0, .count = 2}) {
    host.registers.bind(accelerator.registers);
    host.interrupt.bind(interrupt);
    accelerator.interrupt.bind(interrupt);
  }
};

}  // namespace

// One elaboration: two platforms, and a single accelerator to compare with.
int sc_main(int, char**) {
  const auto ddr4 = [] {
    return simulator::make_memory(simulator::parse_memory("bank:ddr4-2400").value(), isa::HardwareConfig{}.bus_bytes);
  };
  DramModule shared("shared", ddr4(), 0, memory_image()), own("own", ddr4(), 0, memory_image());
  PlainMemory plain("plain");
  Node first("first", 0), second("second", 1), alone("alone", 0), foreign("foreign", 0);
  first.accelerator.memory.bind(shared.port);
  second.accelerator.memory.bind(shared.port);
  alone.accelerator.memory.bind(own.port);
  foreign.accelerator.memory.bind(plain.port);
  sc_core::sc_start();

  std::printf(
      "alone with DDR4: %llu cycles; two that share it: %llu and %llu; with a plain TLM memory: %llu\n",
      static_cast<unsigned long long>(alone.host.cycles()), static_cast<unsigned long long>(first.host.cycles()),
      static_cast<unsigned long long>(second.host.cycles()), static_cast<unsigned long long>(foreign.host.cycles()));
  const bool done = first.host.done() && second.host.done() && alone.host.done() && foreign.host.done();
  const bool right =
      copied(shared.bytes(), 0) && copied(shared.bytes(), 1) && copied(own.bytes(), 0) && copied(plain.bytes, 0);
  const bool slower = first.host.cycles() > alone.host.cycles() && second.host.cycles() > alone.host.cycles();
  if (!done) std::puts("a launch did not complete");
  if (!right) std::puts("wrong bytes");
  if (!slower) std::puts("sharing costs no time, which is impossible");
  return done && right && slower ? 0 : 1;
}
