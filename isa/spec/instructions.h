// The instruction set as tables: every field of every instruction and of the micro-op, in encoding order. Codec,
// assembler, documentation, the SystemVerilog and C packages and the random tests read these rows; isa/spec/layout.h
// turns them into bit positions.
//
// Field positions follow C bit-fields on 64-bit units, as VTA's hw_spec.h compiles them: each field follows the
// preceding one, and one that would straddle a multiple of 64 moves up to it. Extension bits have fixed positions
// instead, which are used only while the extension is on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

#include "isa/instruction.h"
#include "isa/spec/alu_ops.h"
#include "isa/spec/config.h"

namespace dovetail::isa::spec {

// How many bits a field has. Compact: VTA's rule. Wide: one number for every configuration, so that all wide programs
// have the same format.
struct Width {
  enum class Rule : std::uint8_t {
    fixed,
    uop_index,  // log2(UOP depth)
    uop_end,    // log2(UOP depth) + 1: an exclusive end
    inp_index,  // log2(INP depth)
    wgt_index,  // log2(WGT depth)
    acc_index,  // log2(ACC depth)
    src_index,  // the larger of ACC and INP: a micro-op serves GEMM and ALU
  };
  Rule rule;
  int compact;  // `fixed` only
  int wide;
};
constexpr Width fixed_width(int compact, int wide) { return {Width::Rule::fixed, compact, wide}; }

// Three indices share a 64-bit micro-op, so 21 bits each. Loop counts stay at 16, so that the steps of an instruction
// fit 64 bits.
inline constexpr int kWideIndexBits = 21;
inline constexpr int kWideUopBits = 24;
inline constexpr Width kUopIndex{Width::Rule::uop_index, 0, kWideUopBits};
inline constexpr Width kUopEnd{Width::Rule::uop_end, 0, kWideUopBits + 1};
inline constexpr Width kInpIndex{Width::Rule::inp_index, 0, kWideIndexBits};
inline constexpr Width kWgtIndex{Width::Rule::wgt_index, 0, kWideIndexBits};
inline constexpr Width kAccIndex{Width::Rule::acc_index, 0, kWideIndexBits};
inline constexpr Width kSrcIndex{Width::Rule::src_index, 0, kWideIndexBits};
inline constexpr Width kFlag = fixed_width(1, 1);
inline constexpr Width kLoopCount = fixed_width(14, 16);
inline constexpr Width kSramBase = fixed_width(16, 32);
inline constexpr Width kDramBase = fixed_width(32, 56);
inline constexpr Width kTransferSize = fixed_width(16, 24);
inline constexpr Width kStride = fixed_width(16, 32);
inline constexpr Width kPad = fixed_width(4, 8);

struct FieldSpec {
  std::string_view name;
  Width width;
  std::string_view doc;
  std::optional<int> fixed_bit = std::nullopt;  // otherwise it follows the preceding field
  bool HardwareConfig::*enabled_by =
      nullptr;  // the extension that the field belongs to: if it is off, the field is absent and its bit reserved
  bool is_signed = false;
  // In the second field of a member that is split into two: the first field's name and its number of bits.
  std::string_view continues = {};
  int held_bits = 0;
};

// A field and the member that holds its value.
template <typename Member>
struct Field {
  FieldSpec spec;
  Member member;
};
template <typename Member>
Field(FieldSpec, Member) -> Field<Member>;

// Every instruction begins with the opcode and the dependency flags.
inline constexpr int kHeaderBits = 7;
inline constexpr FieldSpec kOpcodeField{"opcode", fixed_width(3, 3), "which instruction"};
// clang-format off
inline constexpr std::tuple kFlagFields{
    Field{FieldSpec{"pop_prev", kFlag, "take a token from the previous queue before starting"}, &DependencyFlags::pop_prev},
    Field{FieldSpec{"pop_next", kFlag, "take a token from the next queue before starting"}, &DependencyFlags::pop_next},
    Field{FieldSpec{"push_prev", kFlag, "give a token to the previous queue when done"}, &DependencyFlags::push_prev},
    Field{FieldSpec{"push_next", kFlag, "give a token to the next queue when done"}, &DependencyFlags::push_next},
};
// clang-format on

inline constexpr std::tuple kTransferFields{
    Field{FieldSpec{"memory", fixed_width(3, 3), "memory id; any value in a NOP (x_size 0)"}, &Transfer::memory},
    Field{FieldSpec{"sram_base", kSramBase, "first element on chip"}, &Transfer::sram_base},
    Field{FieldSpec{"dram_base", kDramBase, "physical byte address / element bytes"}, &Transfer::dram_base},
    Field{FieldSpec{"y_size", kTransferSize, "rows"}, &Transfer::y_size},
    Field{FieldSpec{"x_size", kTransferSize, "elements of a row; 0 makes the instruction a NOP"}, &Transfer::x_size},
    Field{FieldSpec{"x_stride", kStride, "elements from row to row in DRAM"}, &Transfer::x_stride},
    Field{FieldSpec{"y_pad_0", kPad, "rows of zeros above (LOAD only)"}, &Transfer::y_pad_0},
    Field{FieldSpec{"y_pad_1", kPad, "rows of zeros below (LOAD only)"}, &Transfer::y_pad_1},
    Field{FieldSpec{"x_pad_0", kPad, "zero elements left of each row (LOAD only)"}, &Transfer::x_pad_0},
    Field{FieldSpec{"x_pad_1", kPad, "zero elements right of each row (LOAD only)"}, &Transfer::x_pad_1},
};
inline constexpr std::tuple kOffsetFields{
    Field{FieldSpec{"offset", kFlag, "add the register OFFSET to the DRAM address", 63, &HardwareConfig::offset},
          &Transfer::offset},
};
inline constexpr std::tuple kLoadFields = std::tuple_cat(kTransferFields, kOffsetFields);
inline constexpr std::tuple kStoreFields = std::tuple_cat(
    kTransferFields,
    std::tuple{Field{FieldSpec{"saturate", kFlag, "clamp to the output width instead of keeping the low bits", 58,
                               &HardwareConfig::saturate},
                     &Store::saturate}},
    kOffsetFields);

inline constexpr std::tuple kLoopFields{
    Field{FieldSpec{"uop_begin", kUopIndex, "first micro-op"}, &UopLoop::uop_begin},
    Field{FieldSpec{"uop_end", kUopEnd, "one past the last micro-op"}, &UopLoop::uop_end},
    Field{FieldSpec{"iter_out", kLoopCount, "trips of the outer loop; 0 does nothing"}, &UopLoop::iter_out},
    Field{FieldSpec{"iter_in", kLoopCount, "trips of the inner loop; 0 does nothing"}, &UopLoop::iter_in},
    Field{FieldSpec{"dst_factor_out", kAccIndex, "added to dst per outer trip"}, &UopLoop::dst_factor_out},
    Field{FieldSpec{"dst_factor_in", kAccIndex, "added to dst per inner trip"}, &UopLoop::dst_factor_in},
};
inline constexpr std::tuple kProductFields{
    Field{FieldSpec{"src_factor_out", kInpIndex, "added to src per outer trip"}, &ProductLoop::src_factor_out},
    Field{FieldSpec{"src_factor_in", kInpIndex, "added to src per inner trip"}, &ProductLoop::src_factor_in},
    Field{FieldSpec{"wgt_factor_out", kWgtIndex, "added to wgt per outer trip"}, &ProductLoop::wgt_factor_out},
    Field{FieldSpec{"wgt_factor_in", kWgtIndex, "added to wgt per inner trip"}, &ProductLoop::wgt_factor_in},
    Field{
        FieldSpec{"overwrite", kFlag, "acc[dst] = product instead of += (reset wins)", 63, &HardwareConfig::overwrite},
        &ProductLoop::overwrite},
};
inline constexpr std::tuple kGemmFields =
    std::tuple_cat(std::tuple{Field{FieldSpec{"reset", kFlag, "acc[dst] = 0; operands are not read"}, &Gemm::reset}},
                   kLoopFields, kProductFields);
// At the places of GEMM's.
inline constexpr std::tuple kGemmQFields = std::tuple_cat(kLoopFields, kProductFields);
inline constexpr std::tuple kWindowFields = std::tuple_cat(
    kLoopFields, kProductFields,
    std::tuple{Field{FieldSpec{"requant", kFlag, "results are requantized into OUT", 7, &HardwareConfig::epilogue},
                     &Window::requant}});
inline constexpr std::tuple kAluFields = std::tuple_cat(
    std::tuple{Field{FieldSpec{"reset", kFlag, "present as in VTA, no effect"}, &Alu::reset}}, kLoopFields,
    std::tuple{
        Field{FieldSpec{"src_factor_out", kAccIndex, "added to src per outer trip"}, &Alu::src_factor_out},
        Field{FieldSpec{"src_factor_in", kAccIndex, "added to src per inner trip"}, &Alu::src_factor_in},
        Field{FieldSpec{"alu_opcode", fixed_width(3, 3), "operation, its low bits"}, &Alu::op},
        Field{FieldSpec{"use_imm", kFlag, "the second operand is imm, not acc[src]"}, &Alu::use_imm},
        Field{FieldSpec{"imm", fixed_width(16, 16),
                        "immediate: the second operand where use_imm is 1, or a parameter of the operation",
                        std::nullopt, nullptr, true},
              &Alu::imm},
        Field{FieldSpec{"alu_opcode_high", kFlag, "bit 3 of the operation", 63, &HardwareConfig::norm, false,
                        "alu_opcode", 3},
              &Alu::op},
    });
inline constexpr std::tuple<> kFinishFields{};

inline constexpr std::tuple kUopFields{
    Field{FieldSpec{
              "dst", kAccIndex,
              "ACC element read and written; of an epilogue's parameters, bit 0: results are looked up in the table"},
          &Uop::dst},
    Field{FieldSpec{"src", kSrcIndex, "products: INP element; ALU: ACC element"}, &Uop::src},
    Field{FieldSpec{"wgt", kWgtIndex,
                    "products: WGT element (WINDOW: if all bits are 1, the step only pushes); of an epilogue's "
                    "parameters, their WGT element; ALU: unused"},
          &Uop::wgt},
};

// The fields of a body type, after opcode and flags.
template <typename Body>
constexpr const auto& fields_of() {
  if constexpr (std::is_same_v<Body, Load>) return kLoadFields;
  else if constexpr (std::is_same_v<Body, Store>) return kStoreFields;
  else if constexpr (std::is_same_v<Body, Gemm>) return kGemmFields;
  else if constexpr (std::is_same_v<Body, Finish>) return kFinishFields;
  else if constexpr (std::is_same_v<Body, Alu>) return kAluFields;
  else if constexpr (std::is_same_v<Body, Window>) return kWindowFields;
  else if constexpr (std::is_same_v<Body, GemmQ>) return kGemmQFields;
  else static_assert(!sizeof(Body), "an instruction without a field table");
}

// The rows without their members, for loops over them at run time.
template <typename... Members>
constexpr std::array<FieldSpec, sizeof...(Members)> specs(const std::tuple<Field<Members>...>& fields) {
  return std::apply([](const auto&... field) { return std::array<FieldSpec, sizeof...(Members)>{field.spec...}; },
                    fields);
}
inline constexpr std::array kFlagSpecs = specs(kFlagFields);
inline constexpr std::array kLoadSpecs = specs(kLoadFields);
inline constexpr std::array kStoreSpecs = specs(kStoreFields);
inline constexpr std::array kGemmSpecs = specs(kGemmFields);
inline constexpr std::array kAluSpecs = specs(kAluFields);
inline constexpr std::array kWindowSpecs = specs(kWindowFields);
inline constexpr std::array kGemmQSpecs = specs(kGemmQFields);
inline constexpr std::array kUopSpecs = specs(kUopFields);

struct InstructionSpec {
  Opcode opcode;
  std::string_view name;
  std::span<const FieldSpec> fields;  // after opcode and flags
  std::string_view doc;
  int first_bit = kHeaderBits;                 // of the fields
  bool HardwareConfig::*enabled_by = nullptr;  // nullptr: part of the base instruction set
};

inline constexpr std::array kInstructions{
    InstructionSpec{Opcode::load, "load", kLoadSpecs,
                    "Copies y_size rows of x_size elements from DRAM into consecutive SRAM elements, zero elements "
                    "around them. y_size 0 with pads writes "
                    "the pad rows; x_size 0 only moves tokens."},
    InstructionSpec{Opcode::store, "store", kStoreSpecs,
                    "Copies consecutive ACC elements, narrowed to the output width, into y_size rows of x_size "
                    "elements of DRAM. Pads must be 0."},
    InstructionSpec{
        Opcode::gemm, "gemm", kGemmSpecs,
        "For each outer trip, inner trip and micro-op: acc[dst] += inp[src] . wgt[wgt]^T, wrapping in int32."},
    InstructionSpec{Opcode::finish,
                    "finish",
                    {},
                    "Does not end a launch: a launch ends with its last instruction. Carries flags like any other."},
    InstructionSpec{Opcode::alu, "alu", kAluSpecs,
                    "For each outer trip, inner trip and micro-op: acc[dst] = op(acc[dst], use_imm ? imm : acc[src]), "
                    "lane by lane in int32."},
    InstructionSpec{Opcode::window, "window", kWindowSpecs,
                    "The window holds the last block_in INP elements and is cleared when the instruction begins. For "
                    "each outer trip, inner trip and micro-op: inp[src] is pushed into the window; unless all bits of "
                    "the micro-op's wgt are 1, acc[dst][o] += the sum over t of window[t][o] * wgt[wgt][o][t], "
                    "wrapping in int32, where window[t] is the element pushed t steps before.",
                    kHeaderBits + 1, &HardwareConfig::window},
    InstructionSpec{Opcode::gemmq, "gemmq", kGemmQSpecs,
                    "GEMM with an epilogue: out[dst] = clamp(round_half_even((acc[dst] + bias) * scale) + zero point, "
                    "least, most) after each step, then its entry of the table if so asked, while acc[dst] keeps the "
                    "sum. The micro-op after the loop, at uop_end, names the parameters, an element of WGT, which are "
                    "read once before the loop.",
                    kHeaderBits + 1, &HardwareConfig::epilogue},
};

static_assert(
    [] {
      for (std::size_t i = 0; i < kInstructions.size(); ++i)
        if (static_cast<std::size_t>(kInstructions[i].opcode) != i) return false;
      return true;
    }(),
    "kInstructions is indexed by Opcode");

constexpr const InstructionSpec& info(Opcode opcode) { return kInstructions[static_cast<std::size_t>(opcode)]; }
constexpr bool is_enabled(const InstructionSpec& row, const HardwareConfig& config) {
  return row.enabled_by == nullptr || config.*row.enabled_by;
}

inline constexpr std::size_t kMaxFields = 16;  // per instruction, without opcode and flags
inline constexpr int kMaxWords = 4;            // 64-bit words of a wide instruction
inline constexpr int kCompactBits = 128, kWideBits = 256;
inline constexpr int kCompactUopBits = 32, kWideUopTotalBits = 64;

// Bits reserved for later extensions; they must be zero. Every other bit that no field covers is reserved too.
struct Reservation {
  Opcode opcode;
  int first_bit, last_bit;
  std::string_view purpose;
};
inline constexpr std::array kReservations{
    Reservation{Opcode::load, 58, 62, "pad value, store into INP"},
    Reservation{Opcode::store, 59, 62, "requantizing store"},
};

}  // namespace dovetail::isa::spec
