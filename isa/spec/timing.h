// The timing constants that cycle model, SystemC platform, RTL and documentation share. docs/reference/timing.md says
// how they combine; what depends on the design point (burst length, queue depths, bus width) is a parameter of
// HardwareConfig instead.
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

// clang-format off
inline constexpr TimingConstant kGemmCyclesPerUop{"gemm_cycles_per_uop", 1, "cycles", "one GEMM micro-op, reset and overwrite included"};
inline constexpr TimingConstant kEpilogueParameterCycles{"epilogue_parameter_cycles", 3, "cycles",
                                                         "the step of an epilogue that reads its parameters: those before are still in use"};
inline constexpr TimingConstant kAluCyclesPerUopImm{"alu_cycles_per_uop_imm", 1, "cycles", "one ALU micro-op with an immediate"};
inline constexpr TimingConstant kAluCyclesPerUopRepeated{"alu_cycles_per_uop_repeated", 1, "cycles",
                                                         "one ALU micro-op whose vector operand has the index of the micro-op before it"};
inline constexpr TimingConstant kAluCyclesPerUopVector{"alu_cycles_per_uop_vector", 2, "cycles",
                                                       "one ALU micro-op with any other vector operand: ACC has one read port"};
inline constexpr TimingConstant kAluCyclesPerUopRequant{"alu_cycles_per_uop_requant", 3, "cycles",
                                                        "one REQUANT whose operands are not those of the micro-op before it: scale, bias, destination"};
inline constexpr TimingConstant kAluCyclesPerUopRow{"alu_cycles_per_uop_row", 1, "cycles", "one RMAX or RADD"};
inline constexpr TimingConstant kRecipCyclesPerRow{"recip_cycles_per_row", 28, "cycles", "RECIP, for each batch row: operand, place, 25 bits, rounding"};
inline constexpr TimingConstant kRsqrtCyclesPerRow{"rsqrt_cycles_per_row", 56, "cycles", "RSQRT, for each batch row: 28 bits of the root more"};
inline constexpr TimingConstant kAluInterlockCycles{"alu_interlock_cycles", 3, "cycles",
                                                    "kind alu_long: the longest wait for a result of a micro-op before that is read"};
inline constexpr TimingConstant kMaxBurstBeats{"max_burst_beats", 256, "beats", "AXI4's longest INCR burst"};
inline constexpr TimingConstant kBurstBoundaryBytes{"burst_boundary_bytes", 4096, "bytes", "no AXI4 burst crosses a multiple of this address"};

// Hand-overs: the minimum number of cycles from one event to the next.
inline constexpr TimingConstant kLaunchToRequest{"launch_to_request", 1, "cycles", "cycle 0 of a launch to fetch's first read request"};
inline constexpr TimingConstant kGrantToAddress{"grant_to_address", 1, "cycles", "grant of a read request to ARVALID"};
inline constexpr TimingConstant kBeatToSlot{"beat_to_slot", 1, "cycles", "a read beat's handshake to the slot that uses it"};
inline constexpr TimingConstant kIssueToStart{"issue_to_start", 1, "cycles", "entry into the command queue to start"};
inline constexpr TimingConstant kStartToRequest{"start_to_request", 1, "cycles", "start of a load to its first read request"};
inline constexpr TimingConstant kStartToTake{"start_to_take", 1, "cycles", "load unit: start to being taken by the drainer"};
inline constexpr TimingConstant kTakeToSlot{"take_to_slot", 1, "cycles", "load unit: being taken by the drainer to the first slot, or to the end if there is none"};
inline constexpr TimingConstant kSlotToEnd{"slot_to_end", 1, "cycles", "last slot of a load to its end"};
inline constexpr TimingConstant kEndToStart{"end_to_start", 1, "cycles", "end of an instruction to the start of one that needs its token, or the unit"};
inline constexpr TimingConstant kStartToStep{"start_to_step", 1, "cycles", "GEMM, ALU: start to the first step in stage U; compute load: to the first slot"};
inline constexpr TimingConstant kStepToRead{"step_to_read", 2, "cycles", "GEMM, ALU: leaving stage U to stage R"};
inline constexpr TimingConstant kGemmReadToWrite{"gemm_read_to_write", 4, "cycles", "GEMM: stage R to the write of ACC"};
inline constexpr TimingConstant kAccToOut{"acc_to_out", 4, "cycles", "extension epilogue: products, the write of ACC to that of OUT"};
inline constexpr TimingConstant kTableToOut{"table_to_out", 1, "cycles", "extensions epilogue and table: more for the table"};
inline constexpr TimingConstant kAluReadToWrite{"alu_read_to_write", 1, "cycles", "ALU, kind alu: last cycle in stage R to the write of ACC"};
inline constexpr TimingConstant kAluLongReadToWrite{"alu_long_read_to_write", 4, "cycles", "ALU, kind alu_long: last cycle in stage R to the write of ACC"};
inline constexpr TimingConstant kWriteToEnd{"write_to_end", 1, "cycles", "GEMM, ALU: last write of ACC and OUT to the end"};
inline constexpr TimingConstant kFillToBuffer{"fill_to_buffer", 1, "cycles", "store: the slot that completes a beat to that beat's entry into the write buffer"};
inline constexpr TimingConstant kBufferToWriter{"buffer_to_writer", 1, "cycles", "store: entry of a burst's last beat to being taken by the writer"};
inline constexpr TimingConstant kWriterToAddress{"writer_to_address", 1, "cycles", "store: burst taken by the writer to AWVALID"};
inline constexpr TimingConstant kAddressToData{"address_to_data", 1, "cycles", "store: AW handshake to the first W beat"};
inline constexpr TimingConstant kResponseToEnd{"response_to_end", 1, "cycles", "store: last write response to the end"};
inline constexpr TimingConstant kEndToDone{"end_to_done", 1, "cycles", "last end to the completion of the launch"};

// Instructions in flight, that is, between start and end.
inline constexpr TimingConstant kLoadWaiting{"load_waiting", 4, "instructions", "load unit: started, and not yet taken by the drainer"};
inline constexpr TimingConstant kComputeInFlight{"compute_in_flight", 8, "instructions", "GEMM or ALU instructions started and not ended"};
// clang-format on

inline constexpr std::array kTimingConstants{
    kGemmCyclesPerUop,
    kEpilogueParameterCycles,
    kAluCyclesPerUopImm,
    kAluCyclesPerUopRepeated,
    kAluCyclesPerUopVector,
    kAluCyclesPerUopRequant,
    kAluCyclesPerUopRow,
    kRecipCyclesPerRow,
    kRsqrtCyclesPerRow,
    kAluInterlockCycles,
    kMaxBurstBeats,
    kBurstBoundaryBytes,
    kLaunchToRequest,
    kGrantToAddress,
    kBeatToSlot,
    kIssueToStart,
    kStartToRequest,
    kStartToTake,
    kTakeToSlot,
    kSlotToEnd,
    kEndToStart,
    kStartToStep,
    kStepToRead,
    kGemmReadToWrite,
    kAccToOut,
    kTableToOut,
    kAluReadToWrite,
    kAluLongReadToWrite,
    kWriteToEnd,
    kFillToBuffer,
    kBufferToWriter,
    kWriterToAddress,
    kAddressToData,
    kResponseToEnd,
    kEndToDone,
    kLoadWaiting,
    kComputeInFlight,
};

}  // namespace dovetail::isa::spec
