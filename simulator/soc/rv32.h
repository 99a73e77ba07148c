// An interpreter of RV32IM with the interrupts of PicoRV32, as configured in hw/soc/dovetail_soc_cpu.sv: what that
// processor does, without its times. The RISC-V Instruction Set Manual, volume I, 20191213, defines the instructions;
// PicoRV32's README its own six.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dovetail::simulator::soc {

class Rv32 {
 public:
  // Accesses outside of RAM: whole words, at multiples of 4, of which `bytes` are a mask.
  class Bus {
   public:
    virtual ~Bus() = default;
    virtual std::uint32_t read(std::uint32_t address) = 0;
    virtual void write(std::uint32_t address, std::uint32_t value, std::uint32_t mask) = 0;
  };
  enum class Stop : std::uint8_t {
    count,    // the instructions have been executed
    waiting,  // at `waitirq`, and no interrupt is pending
    trap,     // an illegal instruction or a misaligned access, with its interrupt disabled
    asked,    // by stop()
  };

  // RAM begins at address 0, and is at least 20 bytes long; both outlive the object. Execution begins at address 0.
  Rv32(std::span<std::byte> ram, Bus& bus) : ram_(ram), bus_(bus) {}

  // At most so many instructions, or the entry of an interrupt in place of one. Counters advance by `cycles` each.
  Stop run(std::uint64_t instructions, std::uint32_t cycles = 1);
  // From within the bus: run() returns after this instruction.
  void stop() { asked_ = true; }

  // The levels of the lines; those of PicoRV32 itself, 0 to 2, are kept until they are handled.
  void set_interrupts(std::uint32_t levels) { levels_ = levels & ~kOwnLines; }
  std::uint32_t pending() const { return latched_ | levels_; }

  std::uint32_t register_of(std::size_t number) const { return registers_[number]; }
  void set_register(std::size_t number, std::uint32_t value) {
    if (number != 0) registers_[number] = value;
  }
  std::uint32_t pc() const { return pc_; }
  void set_pc(std::uint32_t pc) { pc_ = pc; }
  std::uint64_t instructions() const { return retired_; }

  static constexpr std::uint32_t kInterruptAddress = 0x10, kOwnLines = 7;

 private:
  static constexpr std::uint32_t kIllegalLine = 1u << 1, kMisalignedLine = 1u << 2;

  void execute(std::uint32_t instruction);
  bool branches(std::uint32_t function, std::uint32_t a, std::uint32_t b);
  std::uint32_t compute(std::uint32_t function, std::uint32_t a, std::uint32_t b, bool alternative) const;
  static std::uint32_t multiply(std::uint32_t function, std::uint32_t a, std::uint32_t b);
  void load(std::uint32_t instruction, std::uint32_t address);
  void store(std::uint32_t instruction, std::uint32_t address);
  void read_counter(std::uint32_t instruction);
  void own_instruction(std::uint32_t instruction);
  std::uint32_t read_word(std::uint32_t address);
  void jump(std::uint32_t target);
  void raise(std::uint32_t line);
  bool enters_interrupt();

  std::span<std::byte> ram_;
  Bus& bus_;
  std::array<std::uint32_t, 32> registers_{};
  std::array<std::uint32_t, 4> saved_{};  // q0 to q3
  std::uint32_t pc_ = 0, next_ = 0;
  std::uint32_t mask_ = ~0u, latched_ = 0, levels_ = 0;
  bool in_interrupt_ = false;
  bool returned_ = false;  // by retirq: one instruction is executed before the next interrupt
  bool waiting_ = false, trapped_ = false, asked_ = false;
  std::uint64_t retired_ = 0, cycles_ = 0;
  std::uint32_t cycles_each_ = 1;
};

}  // namespace dovetail::simulator::soc
