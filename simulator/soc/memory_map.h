// The memory map of the system on chip (hw/soc): the one table that the design's package, the firmware's header, the
// models and the documentation come from.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace dovetail::simulator::soc {

// What the processor sees from `base` on: 2^log2_bytes bytes. In the order of the design's targets.
struct Window {
  std::string_view name;
  std::uint32_t base;
  unsigned log2_bytes;
  std::string_view about;
};
enum class Target : std::uint8_t { ram, uart, system, accelerator, memory };
inline constexpr std::array kWindows{
    Window{"RAM", 0x0000'0000, 28,
           "program, constants and variables of the processor; as much of it as the design has"},
    Window{"UART", 0x1000'0000, 12, "serial line: 8 data bits, no parity, 1 stop bit"},
    Window{"SYSTEM", 0x1000'1000, 12, "timer, faults of the bus, size of the memory"},
    Window{"ACCELERATOR", 0x1000'2000, 12, "registers of the accelerator"},
    Window{"MEMORY", 0x4000'0000, 30, "the accelerator's memory; its address 0 is the first byte"},
};
constexpr const Window& window(Target target) { return kWindows[static_cast<std::size_t>(target)]; }

// A register of 32 bits, written as a whole.
struct Register {
  Target of;
  std::string_view name;
  std::uint32_t offset;
  std::string_view access;  // r, w or rw
  std::string_view about;
};
inline constexpr std::array kRegisters{
    Register{
        Target::uart, "DATA", 0x00, "rw",
        "write: sends the low 8 bits, an error if STATUS has no room; read: the last byte received, bit 8: it is new"},
    Register{Target::uart, "STATUS", 0x04, "r", "bit 0: room for a byte to send; bit 1: a byte was received"},
    Register{Target::uart, "DIVIDER", 0x08, "rw", "16 bits: cycles of a bit, less one; at least 3"},
    Register{Target::system, "TIME_LO", 0x00, "r", "cycles since reset; reading it keeps the value of TIME_HI"},
    Register{Target::system, "TIME_HI", 0x04, "r", "the upper 32 bits"},
    Register{Target::system, "COMPARE_LO", 0x08, "rw", "the timer's interrupt is high from this time on"},
    Register{Target::system, "COMPARE_HI", 0x0c, "rw", "the upper 32 bits"},
    Register{Target::system, "TIMER_ENABLE", 0x10, "rw", "bit 0: the timer's interrupt is enabled"},
    Register{
        Target::system, "FAULT", 0x14, "rw",
        "bit 0: an access of the processor was answered with an error, writing 1 clears it; bit 1: it was a write"},
    Register{Target::system, "FAULT_ADDRESS", 0x18, "r", "its address: of several, the first"},
    Register{Target::system, "MEMORY_BYTES", 0x1c, "r", "size of the accelerator's memory"},
};

// A line of the processor's interrupts, a level. PicoRV32 itself has lines 0 to 2.
struct Interrupt {
  std::string_view name;
  unsigned line;
  std::string_view about;
};
inline constexpr std::array kInterrupts{
    Interrupt{"ACCELERATOR", 3, "an event that its INTERRUPT_ENABLE names"},
    Interrupt{"TIMER", 4, "TIME has reached COMPARE"},
    Interrupt{"FAULT", 5, "bit 0 of FAULT"},
};

// In simulation: the size of RAM and the UART's divider.
inline constexpr std::uint32_t kRamBytes = 16u << 20, kUartDivider = 3;
// Bytes over the serial line, of ASCII: firmware ends the run (EOT), and asks for the next byte of its input (ENQ),
// which the other side sends; after the last one it sends EOT.
inline constexpr std::uint32_t kEndOfRun = 4, kAskForInput = 5, kEndOfInput = 4;

const Register& soc_register(Target of, std::string_view name);  // precondition: there is one
const Interrupt& soc_interrupt(std::string_view name);           // precondition: there is one

std::string map_package();   // dovetail_soc_pkg.sv
std::string map_header();    // dovetail_soc.h, for firmware
std::string map_markdown();  // the tables of the documentation

}  // namespace dovetail::simulator::soc
