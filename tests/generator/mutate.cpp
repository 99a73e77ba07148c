#include "tests/generator/mutate.h"

#include <algorithm>
#include <vector>

#include "isa/codec.h"
#include "isa/spec/layout.h"
#include "isa/spec/range.h"
#include "tests/generator/builder.h"

namespace dovetail::test {
namespace {

using Flag = bool isa::DependencyFlags::*;
constexpr std::array<Flag, 2> kPops{&isa::DependencyFlags::pop_prev, &isa::DependencyFlags::pop_next};
constexpr std::array<Flag, 2> kPushes{&isa::DependencyFlags::push_prev, &isa::DependencyFlags::push_next};

constexpr std::uint64_t kMostSteps = 100'000;

isa::Transfer* transfer_of(isa::Instruction& instruction) {
  if (auto* load = std::get_if<isa::Load>(&instruction.body)) return load;
  return std::get_if<isa::Store>(&instruction.body);
}
bool moves(const isa::Transfer* transfer) { return transfer != nullptr && transfer->x_size != 0; }
bool runs(const isa::UopLoop* loop) {
  return loop != nullptr && loop->iter_out != 0 && loop->iter_in != 0 && loop->uop_begin < loop->uop_end;
}

// Picks an instruction for which `fits` is true.
template <typename Fits>
isa::Instruction* any_instruction(GeneratedProgram& program, Random& random, Fits&& fits) {
  const std::size_t begin = random.below(program.program.size());
  for (std::size_t i = 0; i < program.program.size(); ++i) {
    isa::Instruction& instruction = program.program[(begin + i) % program.program.size()];
    if (fits(instruction)) return &instruction;
  }
  return nullptr;
}

bool has_neighbor(const isa::Instruction& instruction, Flag flag) {
  const bool prev = flag == &isa::DependencyFlags::pop_prev || flag == &isa::DependencyFlags::push_prev;
  return prev ? instruction.queue() != isa::Queue::load : instruction.queue() != isa::Queue::store;
}

bool set_flag(GeneratedProgram& program, Random& random, const std::array<Flag, 2>& flags, bool to) {
  const Flag flag = flags[random.below(2)];
  isa::Instruction* instruction = any_instruction(program, random, [&](const isa::Instruction& candidate) {
    return candidate.flags.*flag != to && has_neighbor(candidate, flag);
  });
  if (instruction == nullptr) return false;
  instruction->flags.*flag = to;
  return true;
}

bool swap_flags(GeneratedProgram& program, Random& random) {
  isa::Instruction* one = any_instruction(
      program, random, [](const isa::Instruction& candidate) { return candidate.flags != isa::DependencyFlags{}; });
  if (one == nullptr) return false;
  isa::Instruction* other = any_instruction(program, random, [&](const isa::Instruction& candidate) {
    return candidate.queue() == one->queue() && candidate.flags != one->flags;
  });
  if (other == nullptr) return false;
  std::swap(one->flags, other->flags);
  return true;
}

bool flip_bit(GeneratedProgram& program, Random& random) {
  const isa::Codec codec(program.config);
  const std::size_t at = random.below(program.program.size());
  std::vector<std::byte> bytes;
  if (!codec.encode(program.program[at], bytes).ok()) return false;
  // Header, memory id and their neighbors have more effect than other bits.
  const std::uint64_t bit = random.below(random.chance(40) ? 16 : 8 * bytes.size());
  bytes[bit / 8] ^= std::byte{1} << bit % 8;
  if (const auto decoded = codec.decode(bytes); decoded.ok()) program.program[at] = *decoded;
  else program.patches[at] = bytes;
  // A loop that runs for hours shows nothing that a shorter one does not show.
  const isa::UopLoop* loop = isa::uop_loop(program.program[at]);
  return loop == nullptr || !runs(loop) ||
         std::uint64_t{loop->iter_out} * loop->iter_in * (loop->uop_end - loop->uop_begin) <= kMostSteps;
}

// Flips a bit after the header such that the instruction no longer decodes.
bool reserved_bit(GeneratedProgram& program, Random& random) {
  constexpr std::size_t kHeaderBits = 10;  // opcode, flags and memory id
  const isa::Codec codec(program.config);
  const std::size_t at = random.below(program.program.size());
  std::vector<std::byte> bytes;
  if (!codec.encode(program.program[at], bytes).ok()) return false;
  for (int attempt = 0; attempt < 200; ++attempt) {
    const std::uint64_t bit = random.between(kHeaderBits, 8 * bytes.size() - 1);
    std::vector<std::byte> changed = bytes;
    changed[bit / 8] ^= std::byte{1} << bit % 8;
    if (codec.decode(changed).ok()) continue;
    program.patches[at] = changed;
    return true;
  }
  return false;
}

// One of the three fields that have illegal values.
bool unknown_code(GeneratedProgram& program, Random& random) {
  const isa::HardwareConfig& config = program.config;
  const isa::Codec codec(config);
  const isa::spec::Layout alu = isa::spec::instruction_layout(isa::Opcode::alu, config, config.encoding());
  std::size_t op = 0;
  for (std::size_t i = 0; i < isa::spec::info(isa::Opcode::alu).fields.size(); ++i)
    if (isa::spec::info(isa::Opcode::alu).fields[i].name == "alu_opcode")
      op = static_cast<std::size_t>(alu.slots[i].bit);
  const std::size_t field = random.pick<std::size_t>({0, 7, op});
  const isa::Instruction* instruction = any_instruction(program, random, [&](const isa::Instruction& candidate) {
    return field != op || candidate.opcode() == isa::Opcode::alu;
  });
  std::vector<std::byte> bytes;
  if (instruction == nullptr || !codec.encode(*instruction, bytes).ok()) return false;
  for (int attempt = 0; attempt < 30; ++attempt) {
    const std::uint64_t value = random.below(8);
    std::vector<std::byte> changed = bytes;
    for (std::size_t bit = field; bit < field + 3; ++bit) {
      changed[bit / 8] &= ~(std::byte{1} << bit % 8);
      if ((value >> (bit - field) & 1) != 0) changed[bit / 8] |= std::byte{1} << bit % 8;
    }
    if (codec.decode(changed).ok()) continue;
    program.patches[static_cast<std::size_t>(instruction - program.program.data())] = changed;
    return true;
  }
  return false;
}

bool beyond_image(GeneratedProgram& program, Random& random) {
  // Neither in the image nor in the program: half an address space away.
  const std::uint64_t space = std::uint64_t{1} << program.config.address_bits, page = 4096;
  const std::uint64_t program_bytes =
      program.program.size() * static_cast<std::uint64_t>(program.config.instruction_bytes());
  const std::uint64_t around = program_bytes + 2 * page;
  const std::uint64_t end = program.dram_base + program.dram.size() + around,
                      begin = program.dram_base - std::min(program.dram_base, around);
  isa::Instruction* instruction =
      any_instruction(program, random, [](isa::Instruction& candidate) { return moves(transfer_of(candidate)); });
  if (instruction == nullptr) return false;
  isa::Transfer& transfer = *transfer_of(*instruction);
  const auto bytes = static_cast<std::uint64_t>(program.config.element_bytes(transfer.memory));
  const std::uint64_t length =
      ((transfer.y_size == 0 ? 0 : std::uint64_t{transfer.y_size - 1} * transfer.x_stride) + transfer.x_size) * bytes;
  std::vector<isa::Extent> gaps;
  if (begin > length) gaps.push_back({0, begin - length});
  if (end < space && space - end > length) gaps.push_back({end, space - length});
  if (gaps.empty()) return false;
  const isa::Extent gap = gaps[random.below(gaps.size())];
  transfer.offset = false;
  transfer.dram_base = ((gap.begin + bytes - 1) / bytes) + random.below((gap.end - gap.begin) / bytes + 1);
  return transfer.dram_base * bytes + length <= space;
}

bool beyond_space(GeneratedProgram& program, Random& random) {
  const std::uint64_t space = std::uint64_t{1} << program.config.address_bits;
  const auto most = isa::spec::range_of<isa::Load, &isa::Transfer::dram_base>(program.config).most;
  isa::Instruction* instruction = any_instruction(program, random, [&](isa::Instruction& candidate) {
    const isa::Transfer* transfer = transfer_of(candidate);
    return moves(transfer) && transfer->y_size != 0 &&
           space / static_cast<std::uint64_t>(program.config.element_bytes(transfer->memory)) <=
               static_cast<std::uint64_t>(most);
  });
  if (instruction == nullptr) return false;
  isa::Transfer& transfer = *transfer_of(*instruction);
  const std::uint64_t elements = space / static_cast<std::uint64_t>(program.config.element_bytes(transfer.memory));
  transfer.offset = false;
  // The first address after the last one, or the last row reaching it.
  transfer.dram_base = elements - (random.chance(50) ? 0 : std::min<std::uint64_t>(transfer.x_size - 1, elements));
  return true;
}

bool beyond_depth(GeneratedProgram& program, Random& random) {
  const isa::HardwareConfig& config = program.config;
  if (random.chance(50)) {
    isa::Instruction* instruction =
        any_instruction(program, random, [](isa::Instruction& candidate) { return moves(transfer_of(candidate)); });
    if (instruction == nullptr) return false;
    isa::Transfer& transfer = *transfer_of(*instruction);
    const auto most = isa::spec::range_of<isa::Load, &isa::Transfer::sram_base>(config).most;
    transfer.sram_base = static_cast<std::uint32_t>(std::min<std::int64_t>(config.depth(transfer.memory), most));
    return true;
  }
  isa::Instruction* instruction =
      any_instruction(program, random, [](isa::Instruction& candidate) { return runs(isa::uop_loop(candidate)); });
  if (instruction == nullptr) return false;
  isa::UopLoop& loop = *isa::uop_loop(*instruction);
  if (random.chance(50)) std::swap(loop.uop_begin, loop.uop_end);
  else loop.dst_factor_out = loop.dst_factor_in = static_cast<std::uint32_t>(config.depth(isa::Memory::acc) - 1);
  return true;
}

// The rows that a LOAD UOP would have written keep their old contents.
bool unmapped_uops(GeneratedProgram& program, Random& random) {
  isa::Instruction* instruction = any_instruction(program, random, [](const isa::Instruction& candidate) {
    const auto* load = std::get_if<isa::Load>(&candidate.body);
    return load != nullptr && load->memory == isa::Memory::uop && load->x_size != 0;
  });
  if (instruction == nullptr) return false;
  std::get<isa::Load>(instruction->body).x_size = 0;
  return true;
}

bool change(Mutation mutation, GeneratedProgram& program, Random& random) {
  switch (mutation) {
    case Mutation::drop_push: return set_flag(program, random, kPushes, false);
    case Mutation::drop_pop: return set_flag(program, random, kPops, false);
    case Mutation::add_push: return set_flag(program, random, kPushes, true);
    case Mutation::add_pop: return set_flag(program, random, kPops, true);
    case Mutation::drop_token: {
      const std::vector<TokenPair> pairs = token_pairs(program);
      if (pairs.empty()) return false;
      drop_token(program, pairs[random.below(pairs.size())]);
      return true;
    }
    case Mutation::swap_flags: return swap_flags(program, random);
    case Mutation::short_queues: {
      // An order in which the queues ran ahead of each other as far as they could.
      GeneratedProgram deep = program;
      deep.config.command_queue_depth = deep.config.token_queue_depth = 1000;
      interleave(deep, random);
      program.program = deep.program;
      return true;
    }
    case Mutation::flip_bit: return flip_bit(program, random);
    case Mutation::reserved_bit: return reserved_bit(program, random);
    case Mutation::unknown_code: return unknown_code(program, random);
    case Mutation::beyond_image: return beyond_image(program, random);
    case Mutation::beyond_space: return beyond_space(program, random);
    case Mutation::beyond_depth: return beyond_depth(program, random);
    case Mutation::unmapped_uops: return unmapped_uops(program, random);
  }
  return false;
}

}  // namespace

// A change without an encoding does not give a program.
bool apply(Mutation mutation, GeneratedProgram& program, Random& random) {
  return change(mutation, program, random) && isa::Codec(program.config).encode_program(program.program).ok();
}

std::optional<Mutation> mutate(GeneratedProgram& program, Random& random) {
  const auto mutation = static_cast<Mutation>(random.below(kMutationNames.size()));
  return apply(mutation, program, random) ? std::optional(mutation) : std::nullopt;
}

}  // namespace dovetail::test
