// Wrong programs: a right program with one change.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tests/generator/generator.h"
#include "tests/generator/random.h"

namespace dovetail::test {

enum class Mutation : std::uint8_t {
  drop_push,      // a token is missing
  drop_pop,       // a token is left over, or taken by the next pop
  drop_token,     // push and pop: one ordering is missing
  add_push,       // a token is left over
  add_pop,        // a token is missing
  swap_flags,     // of two instructions of one queue
  short_queues,   // queues run ahead of each other as if they were deep
  flip_bit,       // of any field of an instruction
  reserved_bit,   // a bit that belongs to no field
  unknown_code,   // an undefined opcode, memory id or ALU operation
  beyond_image,   // a transfer where there is no memory
  beyond_space,   // a transfer after the last address
  beyond_depth,   // micro-op index, or elements, after the end of a memory on chip
  unmapped_uops,  // micro-ops that were never loaded
};
inline constexpr std::array<std::string_view, 14> kMutationNames{
    "drop_push", "drop_pop",     "drop_token",   "add_push",     "add_pop",      "swap_flags",   "short_queues",
    "flip_bit",  "reserved_bit", "unknown_code", "beyond_image", "beyond_space", "beyond_depth", "unmapped_uops"};

// Makes one random change, or returns nullopt where the program has nothing to change in that way. isa/verify decides
// which fault the result has, if any: a flipped bit may have no effect.
std::optional<Mutation> mutate(GeneratedProgram& program, Random& random);
bool apply(Mutation mutation, GeneratedProgram& program, Random& random);

}  // namespace dovetail::test
