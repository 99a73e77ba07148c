// Random instructions and configurations drawn from the field tables: every field anywhere in its range, often at its
// extremes.
#pragma once

#include <random>
#include <type_traits>
#include <vector>

#include "isa/codec.h"
#include "isa/spec/alu_ops.h"
#include "isa/spec/layout.h"
#include "isa/spec/memories.h"

namespace dovetail::isa::test {

using Random = std::mt19937_64;

inline std::uint64_t draw(Random& random, std::uint64_t maximum) {
  switch (random() % 4) {
    case 0: return 0;
    case 1: return maximum;
    default: return maximum == ~std::uint64_t{0} ? random() : random() % (maximum + 1);
  }
}

// The value of a field whose bits are `bits`.
template <typename T>
T value_of(std::uint64_t bits, const spec::FieldSpec& field, spec::Slot slot) {
  if constexpr (std::is_same_v<T, bool>) return bits != 0;
  if (field.is_signed && (bits >> (slot.width - 1)) != 0) bits |= ~slot.mask();
  return static_cast<T>(bits);
}

// Calls visit(field, slot) for the fields of Body that exist.
template <typename Body, typename Visit>
void for_each_present_field(const HardwareConfig& config, Visit&& visit) {
  const spec::Layout layout = spec::instruction_layout(Instruction{{}, Body{}}.opcode(), config, config.encoding());
  std::apply(
      [&](const auto&... field) {
        [[maybe_unused]] std::size_t index = 0;
        (
            [&] {
              const spec::Slot slot = layout.slots[index++];
              if (slot.width > 0) visit(field, slot);
            }(),
            ...);
      },
      spec::fields_of<Body>());
}

template <typename Body>
Body random_body(Random& random, const HardwareConfig& config) {
  Body body;
  for_each_present_field<Body>(config, [&](const auto& field, spec::Slot slot) {
    using T = std::remove_reference_t<decltype(body.*field.member)>;
    body.*field.member = value_of<T>(draw(random, slot.mask()), field.spec, slot);
  });
  if constexpr (std::is_same_v<Body, Load>) {
    if (body.x_size != 0) {
      std::vector<Memory> loadable;
      for (const spec::MemoryInfo& row : spec::kMemories)
        if (row.loadable && spec::is_enabled(row, config)) loadable.push_back(row.id);
      body.memory = loadable[random() % loadable.size()];
    }
  }
  if constexpr (std::is_same_v<Body, Store>) {
    if (body.x_size != 0) body.memory = Memory::out;
  }
  if constexpr (std::is_same_v<Body, Alu>) {
    std::vector<AluOp> ops;
    for (const spec::AluOpInfo& row : spec::kAluOps)
      if (spec::is_enabled(row, config)) ops.push_back(row.op);
    body.op = ops[random() % ops.size()];
  }
  return body;
}

// Encodable, not necessarily legal: fields may exceed the buffers.
inline Instruction random_instruction(Random& random, const HardwareConfig& config) {
  Instruction instruction;
  const auto flags = random();
  instruction.flags = {(flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0, (flags & 8) != 0};
  std::vector<Opcode> opcodes;
  for (const spec::InstructionSpec& row : spec::kInstructions)
    if (spec::is_enabled(row, config)) opcodes.push_back(row.opcode);
  switch (opcodes[random() % opcodes.size()]) {
    case Opcode::load: instruction.body = random_body<Load>(random, config); break;
    case Opcode::store: instruction.body = random_body<Store>(random, config); break;
    case Opcode::gemm: instruction.body = random_body<Gemm>(random, config); break;
    case Opcode::finish: instruction.body = Finish{}; break;
    case Opcode::alu: instruction.body = random_body<Alu>(random, config); break;
    case Opcode::window: instruction.body = random_body<Window>(random, config); break;
    case Opcode::gemmq: instruction.body = random_body<GemmQ>(random, config); break;
  }
  return instruction;
}

// A valid configuration, of either encoding.
inline HardwareConfig random_config(Random& random) {
  const auto power = [&](int low, int high) {
    return std::int64_t{1} << (low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1)));
  };
  for (;;) {
    HardwareConfig config;
    config.name = "random";
    config.batch = power(0, 3);
    config.block_in = power(0, 6);
    config.block_out = power(0, 6);
    config.uop_buffer_bytes = power(4, 18);
    config.inp_buffer_bytes = power(4, 20);
    config.wgt_buffer_bytes = power(4, 22);
    config.acc_buffer_bytes = power(4, 21);
    config.address_bits = 20 + static_cast<std::int64_t>(random() % 24);
    config.bus_bytes = power(2, 7);
    config.burst_beats = 1 + static_cast<std::int64_t>(random() % 128);
    config.requant = random() % 2 != 0;
    config.saturate = random() % 2 != 0;
    config.overwrite = random() % 2 != 0;
    config.window = config.block_in == config.block_out && random() % 2 != 0;
    config.table = random() % 2 != 0;
    config.epilogue = config.requant && config.block_in >= 16 && random() % 2 != 0;
    config.norm = config.requant && random() % 2 != 0;
    config.weights4 = config.block_in * config.block_out > 1 && random() % 2 != 0;
    config.offset = random() % 2 != 0;
    if (validate(config).ok()) return config;
  }
}

inline std::vector<HardwareConfig> named_and_random_configs(std::uint64_t seed, int random_count) {
  std::vector<HardwareConfig> configs = named_configs();
  Random random(seed);
  for (int i = 0; i < random_count; ++i) configs.push_back(random_config(random));
  return configs;
}

}  // namespace dovetail::isa::test
