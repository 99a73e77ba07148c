// Event counters of a run: instructions, bytes, and the events that cost energy. Every engine fills them, and all
// engines agree on the counters that they have; the RTL counts events from signals of the design.
// docs/reference/events.md defines every number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/spec/alu_ops.h"
#include "isa/spec/instructions.h"
#include "isa/spec/memories.h"
#include "simulator/memory/dram_command.h"

namespace dovetail::simulator {

// Accesses of a memory with one read and one write port: an access is a cycle in which the port's enable is high.
struct Accesses {
  std::uint64_t reads = 0, writes = 0;

  Accesses& operator+=(const Accesses& other) {
    reads += other.reads;
    writes += other.writes;
    return *this;
  }
  bool operator==(const Accesses&) const = default;
};

// The traffic of one unit over the memory port, and through the unit's buffer of beats.
struct PortEvents {
  std::uint64_t bursts = 0, beats = 0;
  Accesses buffer{};  // in beats

  PortEvents& operator+=(const PortEvents& other) {
    bursts += other.bursts;
    beats += other.beats;
    buffer += other.buffer;
    return *this;
  }
  bool operator==(const PortEvents&) const = default;
};

// The on-chip memories; out is the shadow of ACC.
inline constexpr std::array kSrams{isa::Memory::uop, isa::Memory::wgt, isa::Memory::inp,
                                   isa::Memory::acc, isa::Memory::out, isa::Memory::tab};

// The counts of bytes are those that instructions request; padding moves none.
struct Counters {
  std::array<std::uint64_t, isa::spec::kInstructions.size()> instructions{};  // by isa::Opcode
  std::array<std::uint64_t, 3> queue_instructions{};                          // by isa::Queue
  std::array<std::uint64_t, isa::spec::kMemories.size()> bytes_loaded{};      // by isa::Memory
  std::uint64_t bytes_stored = 0;
  std::uint64_t gemm_uops = 0;  // executed with operands (not reset)
  std::uint64_t gemm_reset_uops = 0;
  std::uint64_t window_uops = 0;          // of WINDOW, with products
  std::uint64_t window_pushes = 0;        // of WINDOW, without
  std::uint64_t epilogue_uops = 0;        // of gemm_uops and window_uops: the results are requantized
  std::uint64_t epilogue_parameters = 0;  // steps that read parameters
  std::uint64_t epilogue_lookups = 0;     // of epilogue_uops: the results are entries of the table
  std::uint64_t alu_uops = 0;
  std::array<std::uint64_t, isa::spec::kAluOps.size()> alu_uops_by_op{};  // by isa::AluOp
  std::uint64_t macs = 0;    // (gemm_uops + window_uops) * batch * block_in * block_out
  std::uint64_t tokens = 0;  // pushed
  std::uint64_t nops = 0;    // LOAD/STORE with x_size 0

  std::array<Accesses, isa::spec::kMemories.size()> sram{};  // by isa::Memory: those of kSrams
  std::array<PortEvents, 3> port{};                          // by isa::Queue: load and compute read, store writes
  std::optional<PortEvents> fetch{};                         // reads; empty: the engine does not model fetch
  std::optional<DramCommands> dram{};                        // empty: there is no DRAM at the memory port

  Accesses& sram_of(isa::Memory memory) { return sram[static_cast<std::size_t>(memory)]; }
  const Accesses& sram_of(isa::Memory memory) const { return sram[static_cast<std::size_t>(memory)]; }

  // Adds all counts; an optional part missing in one operand counts as 0.
  Counters& operator+=(const Counters& other);
  bool operator==(const Counters&) const = default;
};

// Computes the accesses that follow from other counters: those of steps, of STORE's slots, and of the beat buffers.
// Call once per launch. Precondition: `sram` counts the writes of LOADs (ACC8 in acc), and the reads of acc beyond one
// per step; `port` and `fetch` count bursts and beats. The counts of tab are computed completely.
void complete(Counters& counters, const isa::HardwareConfig& config);

// The counters without those of fetch and DRAM, as an engine without a clock has them.
Counters without_time(Counters counters);

// {"instructions": {"load", "store", "gemm", "finish", "alu", "window", "gemmq", "total"}, "queues": {"load",
// "compute", "store"}, "bytes_loaded": {"uop", "wgt", "inp", "acc", "acc8", "tab", "total"}, "bytes_stored",
// "gemm_uops", "gemm_reset_uops", "window_uops", "window_pushes", "epilogue_uops", "epilogue_parameters",
// "epilogue_lookups", "alu_uops", "alu_uops_by_op": {"min", ...}, "macs", "tokens", "nops", "sram": {"uop": {"reads",
// "writes"}, "wgt", "inp", "acc", "out", "tab"}, "port": {"load": {"bursts", "beats", "buffer": {"reads", "writes"}},
// "compute", "store", "fetch"}, "dram": {"activates", "precharges", "reads", "writes", "refreshes"}}, all numbers.
// "fetch" and "dram" only if known.
Json to_json(const Counters& counters);
// Throws Json::exception if a number is missing or invalid.
Counters counters_from_json(const Json& json);

// The first number that differs, "/sram/acc/reads 12, not 13"; a part that only one of them has is not compared. Empty:
// they agree.
std::string difference(const Counters& a, const Counters& b);

}  // namespace dovetail::simulator
