#include "simulator/soc/memory_map.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"

namespace dovetail::simulator::soc {

namespace {

constexpr std::string_view kOrigin =
    "Generated from simulator/soc/memory_map.h by `dovetail soc map --format {}`. Do not edit.";

std::string full_name(const Register& row) { return fmt::format("{}_{}", window(row.of).name, row.name); }

}  // namespace

const Register& soc_register(Target of, std::string_view name) {
  const auto found =
      std::ranges::find_if(kRegisters, [&](const Register& row) { return row.of == of && row.name == name; });
  DOVETAIL_CHECK(found != kRegisters.end(), "the register must exist");
  return *found;
}

const Interrupt& soc_interrupt(std::string_view name) {
  const auto found = std::ranges::find(kInterrupts, name, &Interrupt::name);
  DOVETAIL_CHECK(found != kInterrupts.end(), "the interrupt must exist");
  return *found;
}

std::string map_package() {
  std::string text = fmt::format("// {}\npackage dovetail_soc_pkg;\n\n", fmt::format(kOrigin, "sv"));
  text += "  // What the processor sees: numbers, addresses and sizes of the windows.\n";
  text += fmt::format("  localparam int unsigned WINDOWS = {};\n", kWindows.size());
  for (std::size_t i = 0; i < kWindows.size(); ++i) {
    const Window& row = kWindows[i];
    text += fmt::format("  localparam int unsigned WINDOW_{} = {};  // {}\n", row.name, i, row.about);
    text += fmt::format("  localparam logic [31:0] {}_BASE = 32'h{:08x};\n", row.name, row.base);
    text += fmt::format("  localparam int unsigned {}_LOG2 = {};\n", row.name, row.log2_bytes);
  }
  text += "\n  // Offsets of registers.\n";
  for (const Register& row : kRegisters)
    text += fmt::format("  localparam logic [11:0] {} = 12'h{:03x};  // {}\n", full_name(row), row.offset, row.about);
  text += "\n  // Lines of the processor's interrupts.\n";
  for (const Interrupt& row : kInterrupts)
    text += fmt::format("  localparam int unsigned INTERRUPT_{} = {};  // {}\n", row.name, row.line, row.about);
  return text + "\nendpackage : dovetail_soc_pkg\n";
}

std::string map_header() {
  std::string text = fmt::format("/* {} */\n#pragma once\n\n", fmt::format(kOrigin, "c"));
  for (const Window& row : kWindows)
    text += fmt::format("#define SOC_{0}_BASE 0x{1:08x}u /* {3} */\n#define SOC_{0}_WINDOW_BYTES 0x{2:x}u\n", row.name,
                        row.base, std::uint64_t{1} << row.log2_bytes, row.about);
  text += "\n";
  for (const Register& row : kRegisters)
    text += fmt::format("#define SOC_{} 0x{:08x}u /* {}: {} */\n", full_name(row), window(row.of).base + row.offset,
                        row.access, row.about);
  text += "\n";
  for (const Interrupt& row : kInterrupts)
    text += fmt::format("#define SOC_INTERRUPT_{} {}u /* {} */\n", row.name, row.line, row.about);
  text += fmt::format(
      "\n/* In simulation. */\n#define SOC_SIMULATED_RAM_BYTES 0x{:x}u\n#define SOC_SIMULATED_DIVIDER {}u\n#define "
      "SOC_END_OF_RUN {}u\n#define SOC_ASK_FOR_INPUT {}u\n#define SOC_END_OF_INPUT {}u\n",
      kRamBytes, kUartDivider, kEndOfRun, kAskForInput, kEndOfInput);
  return text;
}

std::string map_markdown() {
  std::string text = "| window | from | bytes | |\n|---|---|---|---|\n";
  for (const Window& row : kWindows)
    text += fmt::format("| {} | `0x{:08x}` | 2^{} | {} |\n", row.name, row.base, row.log2_bytes, row.about);
  text += "\n| register | address | access | |\n|---|---|---|---|\n";
  for (const Register& row : kRegisters)
    text += fmt::format("| {} | `0x{:08x}` | {} | {} |\n", full_name(row), window(row.of).base + row.offset, row.access,
                        row.about);
  text += "\n| interrupt | line | |\n|---|---|---|\n";
  for (const Interrupt& row : kInterrupts) text += fmt::format("| {} | {} | {} |\n", row.name, row.line, row.about);
  return text;
}

}  // namespace dovetail::simulator::soc
