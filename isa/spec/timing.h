// The timing constants that cycle model, SystemC platform, RTL and documentation share. docs/timing.md says how they combine; what depends on
// the design point (burst length, queue depths, bus width) is a parameter of HardwareConfig instead.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace dovetail::isa::spec {

struct TimingConstant {
  std::string_view name;
  std::int64_t value;
  std::string_view unit;
  std::string_view doc;
};

inline constexpr TimingConstant kGemmCyclesPerUop{"gemm_cycles_per_uop", 1, "cycles", "one GEMM micro-op, reset and overwrite included"};
inline constexpr TimingConstant kAluCyclesPerUopImm{"alu_cycles_per_uop_imm", 1, "cycles", "one ALU micro-op with an immediate"};
inline constexpr TimingConstant kAluCyclesPerUopRepeated{"alu_cycles_per_uop_repeated", 1, "cycles",
                                                         "one ALU micro-op whose vector operand has the index of the micro-op before it"};
inline constexpr TimingConstant kAluCyclesPerUopVector{"alu_cycles_per_uop_vector", 2, "cycles",
                                                       "one ALU micro-op with any other vector operand: ACC has one read port"};
inline constexpr TimingConstant kTokenCycles{"token_cycles", 1, "cycles", "all tokens of an instruction are popped in one cycle, its start"};
inline constexpr TimingConstant kLoadCyclesPerElement{"load_cycles_per_element", 1, "cycles",
                                                      "least time per SRAM element written by a load, pads included"};
inline constexpr TimingConstant kMaxBurstBeats{"max_burst_beats", 256, "beats", "AXI4's longest INCR burst"};
inline constexpr TimingConstant kBurstBoundaryBytes{"burst_boundary_bytes", 4096, "bytes", "no AXI4 burst crosses a multiple of this address"};

inline constexpr std::array kTimingConstants{
    kGemmCyclesPerUop, kAluCyclesPerUopImm,   kAluCyclesPerUopRepeated, kAluCyclesPerUopVector,
    kTokenCycles,      kLoadCyclesPerElement, kMaxBurstBeats,           kBurstBoundaryBytes,
};

}  // namespace dovetail::isa::spec
