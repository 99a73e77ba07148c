// Encoding and decoding, driven by the field table for any configuration. encode(decode(bits)) == bits for every legal
// word.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/spec/layout.h"

namespace dovetail::isa {

// Built once per configuration (field positions and masks), then cheap per instruction: the simulator decodes millions
// of them per second.
class Codec {
 public:
  explicit Codec(const HardwareConfig& config);  // precondition: validate(config)

  const HardwareConfig& config() const { return config_; }

  // Appends instruction_bytes() bytes. Error: a value that does not fit its field, or an extension that is switched
  // off. The error names the field and both numbers.
  Result<void> encode(const Instruction& instruction, std::vector<std::byte>& out) const;
  Result<void> encode(const Uop& uop, std::vector<std::byte>& out) const;

  // `bytes` holds exactly one instruction (or micro-op). Errors: unknown opcode, memory id, ALU op; a reserved bit set;
  // an extension that is off.
  Result<Instruction> decode(std::span<const std::byte> bytes) const;
  Uop decode_uop(std::span<const std::byte> bytes) const;  // bits above the fields are ignored, as the hardware does

  // A raw program. Errors name the instruction index; a size that is not a multiple of instruction_bytes() is an error.
  Result<std::vector<Instruction>> decode_program(std::span<const std::byte> bytes, std::string_view where) const;
  Result<std::vector<std::byte>> encode_program(std::span<const Instruction> program) const;

 private:
  using Words = std::array<std::uint64_t, spec::kMaxWords>;

  // A field's location and mask. An absent field has mask 0 and reads as 0.
  struct Extractor {
    std::uint32_t word = 0;
    std::uint32_t shift = 0;
    std::uint64_t mask = 0;
  };
  enum class Fault : std::uint8_t { none, opcode, reserved, memory, alu_op };

  bool has_memory(Opcode opcode, Memory memory) const;  // that the opcode takes
  Words read_words(std::span<const std::byte> bytes) const;
  Fault decode_words(const Words& words, Instruction& instruction) const;
  template <typename Body>
  void decode_body(const Words& words, Body& body) const;
  Diagnostic describe(Fault fault, const Words& words, std::string_view where) const;
  Diagnostics encoding_errors(const Instruction& instruction) const;
  void write_words(const Instruction& instruction, Words& words) const;

  HardwareConfig config_;
  std::size_t words_ = 2;
  std::size_t uop_bytes_ = 4;
  std::array<std::array<Extractor, spec::kMaxFields>, spec::kInstructions.size()> extractors_{};
  std::array<Words, spec::kInstructions.size()> reserved_{};
  std::array<Extractor, 3> uop_extractors_{};
  std::uint8_t opcodes_ = 0;   // bit i: instruction i exists and its extension is on
  std::uint8_t memories_ = 0;  // bit i: memory i exists and its extension is on
  std::uint16_t alu_ops_ = 0;  // bit i: ALU operation i exists and its extension is on
};

}  // namespace dovetail::isa
