#include "isa/codec.h"

#include <bit>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/little_endian.h"
#include "isa/spec/memories.h"
#include "isa/spec/range.h"
#include "isa/text.h"

namespace dovetail::isa {

namespace {

// A field's value as the integer it is encoded as; signed only for `imm`.
template <typename T>
std::int64_t to_integer(T value) {
  return static_cast<std::int64_t>(value);
}

// The member's value from its bits.
template <typename T>
T from_bits(std::uint64_t bits, bool is_signed, std::uint64_t mask) {
  if constexpr (std::is_same_v<T, bool>) return bits != 0;
  const std::uint64_t sign = is_signed ? (mask >> 1) + 1 : 0;
  return static_cast<T>((bits ^ sign) - sign);
}

// Appends the low `count` bytes, little-endian.
void append(std::vector<std::byte>& out, std::uint64_t word, std::size_t count) {
  std::array<std::byte, 8> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(word >> (8 * i));
  out.insert(out.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
}

// Calls visit(index, field) for each field of a table.
template <typename Tuple, typename Visit>
void for_each_field(const Tuple& fields, Visit&& visit) {
  std::apply(
      [&](const auto&... field) {
        [[maybe_unused]] std::size_t index = 0;
        (visit(index++, field), ...);
      },
      fields);
}

bool is_memory_of(Opcode opcode, Memory memory) {
  if (!spec::is_memory(memory)) return false;
  return opcode == Opcode::load ? spec::info(memory).loadable : spec::info(memory).storable;
}

std::string memory_text(Memory memory) {
  const int id = static_cast<int>(memory);
  return spec::is_memory(memory) ? fmt::format("{} ({})", id, spec::info(memory).name) : fmt::format("{}", id);
}

Diagnostic bad_memory(const HardwareConfig& config, std::string what, std::string where, Opcode opcode, Memory memory) {
  if (is_memory_of(opcode, memory) && !spec::is_enabled(spec::info(memory), config)) {
    const std::string_view extension = spec::extension_key(spec::info(memory).enabled_by);
    return {std::move(what), std::move(where),
            fmt::format("memory id {} belongs to the extension `{}`, which is off", memory_text(memory), extension),
            fmt::format("set \"{}\": true in the configuration, or avoid the memory", extension)};
  }
  std::string allowed;
  for (const spec::MemoryInfo& row : spec::kMemories)
    if (is_memory_of(opcode, row.id) && spec::is_enabled(row, config))
      allowed += fmt::format("{}{} ({})", allowed.empty() ? "" : ", ", static_cast<int>(row.id), row.name);
  return {std::move(what), std::move(where),
          fmt::format("memory id {} is not valid for {}, which accepts {}", memory_text(memory),
                      spec::info(opcode).name, allowed),
          "name one of these, or set x_size to 0 for an instruction that only moves tokens"};
}

Diagnostic disabled(std::string what, std::string where, const spec::InstructionSpec& row) {
  const std::string_view extension = spec::extension_key(row.enabled_by);
  return {std::move(what), std::move(where),
          fmt::format("opcode {} ({}) belongs to the extension `{}`, which is off", static_cast<int>(row.opcode),
                      row.name, extension),
          fmt::format("set \"{}\": true in the configuration, or avoid the instruction", extension)};
}

Diagnostic bad_alu_op(std::string what, std::string where, AluOp op) {
  const int number = static_cast<int>(op);
  if (!spec::is_alu_op(op))
    return {std::move(what), std::move(where),
            fmt::format("ALU operation {} > {}, the last one", number, spec::kAluOps.size() - 1),
            "see the operations in docs/gen/isa.md"};
  const std::string_view extension = spec::extension_key(spec::info(op).enabled_by);
  return {std::move(what), std::move(where),
          fmt::format("ALU operation {} ({}) belongs to the extension `{}`, which is off", number, spec::info(op).name,
                      extension),
          fmt::format("set \"{}\": true in the configuration, or avoid the operation", extension)};
}

}  // namespace

Codec::Codec(const HardwareConfig& config) : config_(config) {
  const Encoding encoding = config.encoding();
  words_ = static_cast<std::size_t>(config.instruction_bytes()) / 8;
  uop_bytes_ = static_cast<std::size_t>(config.uop_bytes());
  const auto extractor = [](spec::Slot slot) {
    return slot.width == 0 ? Extractor{}
                           : Extractor{static_cast<std::uint32_t>(slot.word()),
                                       static_cast<std::uint32_t>(slot.shift()), slot.mask()};
  };
  for (std::size_t opcode = 0; opcode < spec::kInstructions.size(); ++opcode) {
    const spec::Layout layout = spec::instruction_layout(static_cast<Opcode>(opcode), config, encoding);
    DOVETAIL_CHECK(layout.end <= static_cast<int>(64 * words_), fmt::format("{} bits", layout.end));
    Words used{(std::uint64_t{1} << spec::kHeaderBits) - 1};
    for (std::size_t i = 0; i < spec::kMaxFields; ++i) {
      const Extractor cut = extractor(layout.slots[i]);
      extractors_[opcode][i] = cut;
      used[cut.word] |= cut.mask << cut.shift;
    }
    for (std::size_t word = 0; word < spec::kMaxWords; ++word) reserved_[opcode][word] = ~used[word];
  }
  for (const spec::InstructionSpec& row : spec::kInstructions)
    if (spec::is_enabled(row, config))
      opcodes_ = static_cast<std::uint8_t>(opcodes_ | (1u << static_cast<int>(row.opcode)));
  const spec::Layout uop = spec::uop_layout(config, encoding);
  DOVETAIL_CHECK(uop.end <= static_cast<int>(8 * uop_bytes_), fmt::format("{} bits", uop.end));
  for (std::size_t i = 0; i < uop_extractors_.size(); ++i) uop_extractors_[i] = extractor(uop.slots[i]);
  for (const spec::MemoryInfo& row : spec::kMemories)
    if (spec::is_enabled(row, config))
      memories_ = static_cast<std::uint8_t>(memories_ | (1u << static_cast<int>(row.id)));
  for (const spec::AluOpInfo& row : spec::kAluOps)
    if (row.enabled_by == nullptr || config.*row.enabled_by)
      alu_ops_ = static_cast<std::uint16_t>(alu_ops_ | (1u << static_cast<int>(row.op)));
}

bool Codec::has_memory(Opcode opcode, Memory memory) const {
  return is_memory_of(opcode, memory) && ((memories_ >> static_cast<int>(memory)) & 1) != 0;
}

Codec::Words Codec::read_words(std::span<const std::byte> bytes) const {
  Words words{};
  for (std::size_t i = 0; i < words_; ++i) words[i] = load_little_endian<std::uint64_t>(bytes, 8 * i);
  return words;
}

template <typename Body>
void Codec::decode_body(const Words& words, Body& body) const {
  constexpr const auto& fields = spec::fields_of<Body>();
  const auto& extractors = extractors_[static_cast<std::size_t>(Instruction{{}, Body{}}.opcode())];
  for_each_field(fields, [&](std::size_t index, const auto& field) {
    using T = std::remove_reference_t<decltype(body.*field.member)>;
    const Extractor& cut = extractors[index];
    const std::uint64_t bits = (words[cut.word] >> cut.shift) & cut.mask;
    if (field.spec.held_bits == 0) body.*field.member = from_bits<T>(bits, field.spec.is_signed, cut.mask);
    else
      body.*field.member =
          static_cast<T>(to_integer(body.*field.member) | static_cast<std::int64_t>(bits << field.spec.held_bits));
  });
}

Codec::Fault Codec::decode_words(const Words& words, Instruction& instruction) const {
  const std::uint64_t opcode = words[0] & spec::kOpcodeSlot.mask();
  if (opcode >= spec::kInstructions.size() || ((opcodes_ >> opcode) & 1) == 0) return Fault::opcode;
  const Words& reserved = reserved_[opcode];
  if (((words[0] & reserved[0]) | (words[1] & reserved[1]) | (words[2] & reserved[2]) | (words[3] & reserved[3])) != 0)
    return Fault::reserved;

  for_each_field(spec::kFlagFields, [&](std::size_t index, const auto& field) {
    instruction.flags.*field.member = ((words[0] >> spec::flag_slot(index).shift()) & 1) != 0;
  });
  switch (static_cast<Opcode>(opcode)) {
    case Opcode::load: {
      Load& load = instruction.body.emplace<Load>();
      decode_body(words, load);
      return load.x_size == 0 || has_memory(Opcode::load, load.memory) ? Fault::none : Fault::memory;
    }
    case Opcode::store: {
      Store& store = instruction.body.emplace<Store>();
      decode_body(words, store);
      return store.x_size == 0 || has_memory(Opcode::store, store.memory) ? Fault::none : Fault::memory;
    }
    case Opcode::gemm: decode_body(words, instruction.body.emplace<Gemm>()); return Fault::none;
    case Opcode::finish: instruction.body.emplace<Finish>(); return Fault::none;
    case Opcode::alu: {
      Alu& alu = instruction.body.emplace<Alu>();
      decode_body(words, alu);
      return ((alu_ops_ >> static_cast<int>(alu.op)) & 1) != 0 ? Fault::none : Fault::alu_op;
    }
    case Opcode::window: decode_body(words, instruction.body.emplace<Window>()); return Fault::none;
    case Opcode::gemmq: decode_body(words, instruction.body.emplace<GemmQ>()); return Fault::none;
  }
  return Fault::opcode;
}

Diagnostic Codec::describe(Fault fault, const Words& words, std::string_view where) const {
  const std::string what = "cannot decode an instruction";
  const std::uint64_t opcode_bits = words[0] & spec::kOpcodeSlot.mask();
  if (fault == Fault::opcode && opcode_bits >= spec::kInstructions.size())
    return {what, std::string(where),
            fmt::format("opcode {} > {}, the last one", opcode_bits, spec::kInstructions.size() - 1),
            "check that the file is a program with this configuration's instruction size"};
  const auto opcode = static_cast<Opcode>(opcode_bits);
  if (fault == Fault::opcode) return disabled(what, std::string(where), spec::info(opcode));
  const auto field = [&](std::string_view name) {
    const auto fields = spec::info(opcode).fields;
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (fields[i].name == name) {
        const Extractor& cut = extractors_[opcode_bits][i];
        return (words[cut.word] >> cut.shift) & cut.mask;
      }
    throw_internal_error(__FILE__, __LINE__, "field", std::string(name));
  };
  if (fault == Fault::memory)
    return bad_memory(config_, what, std::string(where), opcode, static_cast<Memory>(field("memory")));
  if (fault == Fault::alu_op)
    return bad_alu_op(what, std::string(where),
                      static_cast<AluOp>(field("alu_opcode") | field("alu_opcode_high") << 3));

  int bit = 0;
  while (((words[bit / 64] & reserved_[opcode_bits][bit / 64]) >> (bit % 64) & 1) == 0) ++bit;
  for (const spec::FieldSpec& row : spec::info(opcode).fields)
    if (row.fixed_bit == bit) {
      const std::string_view extension = spec::extension_key(row.enabled_by);
      return {what, std::string(where),
              fmt::format("bit {} of {} is `{}` of the extension `{}`, which is off", bit, spec::info(opcode).name,
                          row.name, extension),
              fmt::format("set \"{}\": true in the configuration, or clear the bit", extension)};
    }
  return {what, std::string(where),
          fmt::format("bit {} of {} is 1 and reserved: it must be 0", bit, spec::info(opcode).name),
          "check that the program was made for this configuration: field widths follow its buffer sizes"};
}

Result<Instruction> Codec::decode(std::span<const std::byte> bytes) const {
  if (bytes.size() != 8 * words_)
    return Diagnostic{
        "cannot decode an instruction", "",
        fmt::format("{} bytes were given, but an instruction of {} has {}", bytes.size(), config_.name, 8 * words_),
        "pass exactly one instruction"};
  const Words words = read_words(bytes);
  Instruction instruction;
  const Fault fault = decode_words(words, instruction);
  if (fault != Fault::none) [[unlikely]]
    return describe(fault, words, "");
  return instruction;
}

Uop Codec::decode_uop(std::span<const std::byte> bytes) const {
  DOVETAIL_CHECK(bytes.size() == uop_bytes_, fmt::format("{} bytes for a micro-op of {}", bytes.size(), uop_bytes_));
  const std::uint64_t word =
      uop_bytes_ == 8 ? load_little_endian<std::uint64_t>(bytes, 0) : load_little_endian<std::uint32_t>(bytes, 0);
  Uop uop;
  for_each_field(spec::kUopFields, [&](std::size_t index, const auto& field) {
    const Extractor& cut = uop_extractors_[index];
    uop.*field.member = static_cast<std::uint32_t>((word >> cut.shift) & cut.mask);
  });
  return uop;
}

Result<std::vector<Instruction>> Codec::decode_program(std::span<const std::byte> bytes, std::string_view where) const {
  const std::size_t size = 8 * words_;
  if (bytes.size() % size != 0)
    return Diagnostic{"cannot decode the program", std::string(where),
                      fmt::format("{} bytes are not a multiple of {}, the size of an instruction of {}", bytes.size(),
                                  size, config_.name),
                      "check the file for truncation, and that it was made for this configuration"};
  // A file that is not a program has an error in nearly every instruction; the first ones suffice.
  constexpr std::size_t kMaxErrors = 16;
  const std::size_t count = bytes.size() / size;
  std::vector<Instruction> program(count);
  Diagnostics errors;
  for (std::size_t i = 0; i < count; ++i) {
    const Words words = read_words(bytes.subspan(i * size, size));
    const Fault fault = decode_words(words, program[i]);
    if (fault == Fault::none) [[likely]]
      continue;
    errors.push_back(describe(fault, words, fmt::format("{}{}instruction {}", where, where.empty() ? "" : ", ", i)));
    if (errors.size() == kMaxErrors) break;
  }
  if (!errors.empty()) return errors;
  return program;
}

Diagnostics Codec::encoding_errors(const Instruction& instruction) const {
  Diagnostics errors;
  const auto what = [&] { return fmt::format("cannot encode `{}`", format_instruction(instruction)); };
  std::visit(
      [&]<typename Body>(const Body& body) {
        for_each_field(spec::fields_of<Body>(), [&](std::size_t index, const auto& field) {
          if constexpr (std::is_same_v<decltype(field.member), AluOp Alu::*>) return;  // below
          const std::int64_t value = to_integer(body.*field.member);
          const std::uint64_t mask = extractors_[instruction.body.index()][index].mask;
          if (mask == 0) {
            const std::string_view extension = spec::extension_key(field.spec.enabled_by);
            if (value != 0)
              errors.push_back(
                  {what(), std::string(field.spec.name),
                   fmt::format("the field belongs to the extension `{}`, which is off", extension),
                   fmt::format("set \"{}\": true in the configuration, or avoid `{}`", extension, field.spec.name)});
            return;
          }
          const int width = std::popcount(mask);
          const spec::FieldRange range = spec::range_of_bits(width, field.spec.is_signed);
          if (range.holds(value)) return;
          const bool above = value > range.most;
          errors.push_back({what(), std::string(field.spec.name),
                            fmt::format("the value {} {} {}, the {} value of {} bits", value, above ? '>' : '<',
                                        above ? range.most : range.least, above ? "largest" : "smallest", width),
                            "split the instruction, or choose a configuration with wider fields"});
        });
        if constexpr (std::is_base_of_v<Transfer, Body>) {
          if (body.x_size != 0 && !has_memory(instruction.opcode(), body.memory))
            errors.push_back(bad_memory(config_, what(), "memory", instruction.opcode(), body.memory));
        }
        if constexpr (std::is_same_v<Body, Alu>) {
          if (!spec::is_alu_op(body.op) || ((alu_ops_ >> static_cast<int>(body.op)) & 1) == 0)
            errors.push_back(bad_alu_op(what(), "alu_opcode", body.op));
        }
      },
      instruction.body);
  return errors;
}

void Codec::write_words(const Instruction& instruction, Words& words) const {
  words[0] = static_cast<std::uint64_t>(instruction.opcode());
  for_each_field(spec::kFlagFields, [&](std::size_t index, const auto& field) {
    words[0] |= std::uint64_t{instruction.flags.*field.member} << spec::flag_slot(index).shift();
  });
  std::visit(
      [&]<typename Body>(const Body& body) {
        for_each_field(spec::fields_of<Body>(), [&](std::size_t index, const auto& field) {
          const Extractor& cut = extractors_[instruction.body.index()][index];
          const auto value = static_cast<std::uint64_t>(to_integer(body.*field.member) >> field.spec.held_bits);
          words[cut.word] |= (value & cut.mask) << cut.shift;
        });
      },
      instruction.body);
}

Result<void> Codec::encode(const Instruction& instruction, std::vector<std::byte>& out) const {
  if (Diagnostics errors = encoding_errors(instruction); !errors.empty()) return errors;
  Words words{};
  write_words(instruction, words);
  for (std::size_t i = 0; i < words_; ++i) append(out, words[i], 8);
  return {};
}

Result<void> Codec::encode(const Uop& uop, std::vector<std::byte>& out) const {
  Diagnostics errors;
  std::uint64_t word = 0;
  for_each_field(spec::kUopFields, [&](std::size_t index, const auto& field) {
    const Extractor& cut = uop_extractors_[index];
    const std::uint64_t value = uop.*field.member;
    word |= (value & cut.mask) << cut.shift;
    if (value > cut.mask)
      errors.push_back(
          {fmt::format("cannot encode the micro-op {}, {}, {}", uop.dst, uop.src, uop.wgt),
           std::string(field.spec.name),
           fmt::format("the index {} > {}, the largest value of {} bits", value, cut.mask, std::popcount(cut.mask)),
           "use an index within the buffer, or choose a configuration with a larger buffer"});
  });
  if (!errors.empty()) return errors;
  append(out, word, uop_bytes_);
  return {};
}

Result<std::vector<std::byte>> Codec::encode_program(std::span<const Instruction> program) const {
  std::vector<std::byte> bytes;
  bytes.reserve(program.size() * 8 * words_);
  Diagnostics errors;
  for (std::size_t i = 0; i < program.size(); ++i) {
    Result<void> encoded = encode(program[i], bytes);
    for (Diagnostic error : encoded.errors()) {
      error.where = fmt::format("instruction {}, {}", i, error.where);
      errors.push_back(std::move(error));
    }
  }
  if (!errors.empty()) return errors;
  return bytes;
}

}  // namespace dovetail::isa
