// Bit positions: the tables of isa/spec/instructions.h at one configuration.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "isa/spec/instructions.h"

namespace dovetail::isa::spec {

// Buffer depths as powers of two; everything a compact field width depends on.
struct DepthsLog2 {
  int uop = 0, inp = 0, wgt = 0, acc = 0;
};

// Rounded down; 0 for arguments without a logarithm. All functions here are total: for sizes that validate() rejects
// the layout is meaningless, but defined.
constexpr int log2_of(std::int64_t value) {
  return value > 0 ? static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - 1 : 0;
}

// All sizes are powers of two, so logarithms subtract exactly.
constexpr DepthsLog2 depths_log2(const HardwareConfig& config, Encoding encoding) {
  const int uop_bytes_log2 = log2_of((encoding == Encoding::wide ? kWideUopTotalBits : kCompactUopBits) / 8);
  const int batch = log2_of(config.batch), block_in = log2_of(config.block_in), block_out = log2_of(config.block_out);
  const auto depth = [](std::int64_t bytes, int element_log2) {
    return log2_of(bytes) > element_log2 ? log2_of(bytes) - element_log2 : 0;
  };
  return {.uop = depth(config.uop_buffer_bytes, uop_bytes_log2),
          .inp = depth(config.inp_buffer_bytes, batch + block_in),
          .wgt = depth(config.wgt_buffer_bytes, block_out + block_in),
          .acc = depth(config.acc_buffer_bytes, batch + block_out + log2_of(kAccBytes))};
}

constexpr int bits(Width width, Encoding encoding, DepthsLog2 depths) {
  if (encoding == Encoding::wide) return width.wide;
  switch (width.rule) {
    case Width::Rule::fixed: return width.compact;
    case Width::Rule::uop_index: return depths.uop;
    case Width::Rule::uop_end: return depths.uop + 1;
    case Width::Rule::inp_index: return depths.inp;
    case Width::Rule::wgt_index: return depths.wgt;
    case Width::Rule::acc_index: return depths.acc;
    case Width::Rule::src_index: return depths.acc > depths.inp ? depths.acc : depths.inp;
  }
  return 0;
}

// A field's bit position. Width 0: absent, because its extension is off.
struct Slot {
  int bit = 0;
  int width = 0;
  constexpr int word() const { return bit / 64; }
  constexpr int shift() const { return bit % 64; }
  constexpr std::uint64_t mask() const { return width == 0 ? 0 : ~std::uint64_t{0} >> (64 - width); }
  constexpr bool operator==(const Slot&) const = default;
};

struct Layout {
  std::array<Slot, kMaxFields> slots{};  // in table order
  int end = 0;                           // one past the highest bit used
};

// Places `fields` from bit `begin` on. Extension bits that are on come first: a packed field that would cover one moves
// up to the next word, as it does at a word's border.
constexpr Layout place(std::span<const FieldSpec> fields, int begin, const HardwareConfig& config, Encoding encoding,
                       DepthsLog2 depths) {
  Layout layout;
  const auto is_on = [&](const FieldSpec& field) { return field.enabled_by == nullptr || config.*field.enabled_by; };
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].fixed_bit && is_on(fields[i]))
      layout.slots[i] = {*fields[i].fixed_bit, bits(fields[i].width, encoding, depths)};

  int next = begin;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].fixed_bit || !is_on(fields[i])) continue;
    const int width = bits(fields[i].width, encoding, depths);
    bool collides = next / 64 != (next + width - 1) / 64;
    for (std::size_t other = 0; other < fields.size(); ++other) {
      const Slot& slot = layout.slots[other];
      if (fields[other].fixed_bit && slot.width > 0 && next < slot.bit + slot.width && slot.bit < next + width)
        collides = true;
    }
    if (collides) next = (next / 64 + 1) * 64;
    layout.slots[i] = {next, width};
    next += width;
  }
  for (const Slot& slot : layout.slots)
    if (slot.width > 0 && slot.bit + slot.width > layout.end) layout.end = slot.bit + slot.width;
  return layout;
}

inline constexpr Slot kOpcodeSlot{0, 3};
constexpr Slot flag_slot(std::size_t flag) { return {3 + static_cast<int>(flag), 1}; }

constexpr Layout instruction_layout(Opcode opcode, const HardwareConfig& config, Encoding encoding) {
  return place(info(opcode).fields, info(opcode).first_bit, config, encoding, depths_log2(config, encoding));
}
constexpr Layout uop_layout(const HardwareConfig& config, Encoding encoding) {
  return place(kUopSpecs, 0, config, encoding, depths_log2(config, encoding));
}

// Whether every field fits in 128-bit instructions and 32-bit micro-ops, and the fixed fields reach all of SRAM and
// DRAM.
constexpr bool fits_compact(const HardwareConfig& config) {
  if (uop_layout(config, Encoding::compact).end > kCompactUopBits) return false;
  for (const InstructionSpec& instruction : kInstructions)
    if (instruction_layout(instruction.opcode, config, Encoding::compact).end > kCompactBits) return false;
  const DepthsLog2 depths = depths_log2(config, Encoding::compact);
  for (const int depth : {depths.uop, depths.inp, depths.wgt, depths.acc})
    if (depth > kSramBase.compact) return false;
  // The smallest elements need the largest dram_base: micro-ops, INP, OUT, WGT4.
  const int batch = log2_of(config.batch);
  for (const int element_log2 :
       {log2_of(kCompactUopBits / 8), batch + log2_of(config.block_in), batch + log2_of(config.block_out)})
    if (config.address_bits > kDramBase.compact + element_log2) return false;
  if (config.weights4 && config.address_bits > kDramBase.compact + log2_of(config.block_in * config.block_out / 2))
    return false;
  return true;
}

}  // namespace dovetail::isa::spec
