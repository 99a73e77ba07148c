// The one interface of all simulators: memory image + program + configuration in, memory image + counters out. A run is
// a pure function of what it is given; SRAM persists from launch to launch within a Simulator object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "isa/codec.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify.h"
#include "simulator/trace/trace.h"

namespace dovetail::simulator {

// What a run did, counted by the unit that did it. Bytes are DRAM traffic; pads move none.
struct Counters {
  std::array<std::uint64_t, 5> instructions{};        // by isa::Opcode
  std::array<std::uint64_t, 3> queue_instructions{};  // by isa::Queue
  std::array<std::uint64_t, 6> bytes_loaded{};        // by isa::Memory
  std::uint64_t bytes_stored = 0;
  std::uint64_t gemm_uops = 0;  // executed with operands (not reset)
  std::uint64_t gemm_reset_uops = 0;
  std::uint64_t alu_uops = 0;
  std::array<std::uint64_t, 8> alu_uops_by_op{};  // by isa::AluOp
  std::uint64_t macs = 0;                         // gemm_uops * batch * block_in * block_out
  std::uint64_t tokens = 0;                       // pushed
  std::uint64_t nops = 0;                         // LOAD/STORE with x_size 0

  Counters& operator+=(const Counters& other);
  bool operator==(const Counters&) const = default;
};
// {"instructions": {"load", "store", "gemm", "finish", "alu", "total"}, "queues": {"load", "compute", "store"},
// "bytes_loaded": {"uop", "wgt", "inp", "acc", "acc8", "total"}, "bytes_stored", "gemm_uops", "gemm_reset_uops",
// "alu_uops", "alu_uops_by_op": {"min", ...}, "macs", "tokens", "nops"}, all numbers.
Json to_json(const Counters& counters);

// Physical memory: `bytes` starts at physical address `base`. Everything outside is out of range.
struct Dram {
  std::uint64_t base = 0;
  std::vector<std::byte> bytes;
};

class Simulator {
 public:
  virtual ~Simulator() = default;

  virtual std::string_view name() const = 0;  // "functional", "cycle", "systemc", "rtl"

  // Runs one launch to completion against `dram`. On an error (deadlock, token overflow, out-of-range access, undefined
  // read, illegal instruction) the diagnostic names instruction index (plus `first_index`), disassembly and queue
  // heads; `dram` then holds what had been written so far. Counters accumulate in the returned value only for this
  // launch.
  virtual Result<Counters> launch(std::span<const isa::Instruction> program, Dram& dram,
                                  std::size_t first_index = 0) = 0;

  // Cycles, and with EngineOptions::trace the events, of the last launch that completed. nullptr: the engine has no
  // clock.
  virtual const LaunchTrace* timing() const { return nullptr; }

  // Forgets SRAM: as after power-up.
  virtual void reset() = 0;
};

// Decodes a raw program and runs `launches` in order, one launch of everything if there is none. Returns the sum of
// their counters. Errors: what does not decode or run, and a launch beyond the program. `where` names the program in
// diagnostics. Precondition: the codec's configuration is the simulator's.
Result<Counters> run_program(Simulator& simulator, const isa::Codec& codec, std::span<const std::byte> program,
                             std::string_view where, std::span<const isa::Launch> launches, Dram& dram);

}  // namespace dovetail::simulator
