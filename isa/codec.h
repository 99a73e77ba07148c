// Encoding and decoding, driven by the field table for any configuration. encode(decode(bits)) == bits for every legal word.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::isa {

// Built once per configuration (field positions and masks), then cheap per instruction: the simulator decodes millions a second.
class Codec {
 public:
  explicit Codec(const HardwareConfig& config);  // precondition: validate(config)

  const HardwareConfig& config() const { return config_; }

  // Appends instruction_bytes() bytes. Error: a value that does not fit its field, an extension that is switched off; names field and both numbers.
  Result<void> encode(const Instruction& instruction, std::vector<std::byte>& out) const;
  Result<void> encode(const Uop& uop, std::vector<std::byte>& out) const;

  // `bytes` holds exactly one instruction (or micro-op). Errors: unknown opcode, memory id, ALU op; a reserved bit set; an extension that is off.
  Result<Instruction> decode(std::span<const std::byte> bytes) const;
  Uop decode_uop(std::span<const std::byte> bytes) const;  // bits above the fields are ignored, as the hardware does

  // A raw program. Errors name the instruction index; a size that is no multiple of instruction_bytes() is one.
  Result<std::vector<Instruction>> decode_program(std::span<const std::byte> bytes, std::string_view where) const;
  Result<std::vector<std::byte>> encode_program(std::span<const Instruction> program) const;

 private:
  HardwareConfig config_;

};

}  // namespace dovetail::isa
