// The memories that an instruction can name: identity, on-chip buffer, element size, and the queue of a load.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "isa/instruction.h"
#include "isa/spec/config.h"

namespace dovetail::isa::spec {

struct MemoryInfo {
  Memory id;
  std::string_view name;    // in assembly, reports and traces
  bool loadable, storable;  // by LOAD and by STORE
  Queue load_queue;         // queue of a LOAD that names it, including NOPs but those of WGT4
  std::int64_t (*element_bytes)(const HardwareConfig&);  // in DRAM
  std::string_view element_rule;                         // the same as text
  std::string_view layout;                               // layout of an element in DRAM and on chip
  Memory buffer;                                         // the on-chip memory that holds it
  std::int64_t HardwareConfig::*buffer_bytes;            // nullptr: the buffer holds one element
  std::string_view doc;
  bool HardwareConfig::*enabled_by = nullptr;  // nullptr: part of the base instruction set
  bool takes_pads = true;                      // LOAD may surround the data with zero elements
};

inline constexpr std::int64_t kTableEntries = 256;
inline constexpr std::int64_t kTableEntryBytes = 2;

inline constexpr std::array kMemories{
    MemoryInfo{Memory::uop, "uop", true, false, Queue::compute, [](const HardwareConfig& c) { return c.uop_bytes(); },
               "4 (compact) or 8 (wide)", "one micro-op, little-endian", Memory::uop, &HardwareConfig::uop_buffer_bytes,
               "micro-ops"},
    MemoryInfo{Memory::wgt, "wgt", true, false, Queue::load,
               [](const HardwareConfig& c) { return c.block_out * c.block_in; }, "block_out * block_in",
               "int8 [block_out][block_in]", Memory::wgt, &HardwareConfig::wgt_buffer_bytes, "weight tiles"},
    MemoryInfo{Memory::inp, "inp", true, false, Queue::load,
               [](const HardwareConfig& c) { return c.batch * c.block_in; }, "batch * block_in",
               "int8 [batch][block_in]", Memory::inp, &HardwareConfig::inp_buffer_bytes, "input tiles"},
    MemoryInfo{Memory::acc, "acc", true, false, Queue::compute,
               [](const HardwareConfig& c) { return c.batch * c.block_out * kAccBytes; }, "batch * block_out * 4",
               "int32 [batch][block_out], little-endian", Memory::acc, &HardwareConfig::acc_buffer_bytes,
               "accumulator tiles"},
    MemoryInfo{Memory::out, "out", false, true, Queue::compute,
               [](const HardwareConfig& c) { return c.batch * c.block_out; }, "batch * block_out",
               "int8 [batch][block_out]", Memory::acc, &HardwareConfig::acc_buffer_bytes,
               "output tiles: what STORE writes, narrowed from ACC"},
    MemoryInfo{Memory::acc8, "acc8", true, false, Queue::compute,
               [](const HardwareConfig& c) { return c.batch * c.block_out; }, "batch * block_out",
               "int8 [batch][block_out] in DRAM, sign-extended into ACC", Memory::acc,
               &HardwareConfig::acc_buffer_bytes, "accumulator tiles from int8 (VTA: ACC_8BIT)"},
    MemoryInfo{Memory::tab, "tab", true, false, Queue::compute,
               [](const HardwareConfig&) { return kTableEntries * kTableEntryBytes; }, "512",
               "16 bits [256], little-endian", Memory::tab, nullptr, "the table that TABLE and TABLEU read",
               &HardwareConfig::table, false},
    MemoryInfo{Memory::wgt4, "wgt4", true, false, Queue::load,
               [](const HardwareConfig& c) { return std::max<std::int64_t>(c.block_out * c.block_in / 2, 1); },
               "block_out * block_in / 2",
               "int4 [block_out][block_in] in DRAM, two a byte, the first in the low bits, sign-extended into WGT",
               Memory::wgt, &HardwareConfig::wgt_buffer_bytes, "weight tiles from int4", &HardwareConfig::weights4},
};

static_assert(
    [] {
      for (std::size_t i = 0; i < kMemories.size(); ++i)
        if (static_cast<std::size_t>(kMemories[i].id) != i) return false;
      return true;
    }(),
    "kMemories is indexed by Memory");

constexpr bool is_memory(Memory memory) { return static_cast<std::size_t>(memory) < kMemories.size(); }
// Precondition: is_memory(memory). A NOP (x_size 0) may carry any three-bit id.
constexpr const MemoryInfo& info(Memory memory) { return kMemories[static_cast<std::size_t>(memory)]; }
constexpr bool is_enabled(const MemoryInfo& row, const HardwareConfig& config) {
  return row.enabled_by == nullptr || config.*row.enabled_by;
}

}  // namespace dovetail::isa::spec
