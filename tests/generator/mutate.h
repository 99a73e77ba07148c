// Wrong programs: a right one with one thing changed.
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
  drop_pop,       // one is left over, or taken by the next pop
  drop_token,     // push and pop: an order less
  add_push,       // left over
  add_pop,        // missing
  swap_flags,     // of two instructions of one queue
  short_queues,   // queues run ahead of each other as if they were deep
  flip_bit,       // of an instruction
  reserved_bit,   // one that no field has
  unknown_code,   // an undefined opcode, memory id or ALU operation
  beyond_image,   // a transfer where there is no memory
  beyond_space,   // a transfer after the last address
  beyond_depth,   // micro-op index, or elements, after the end of a memory on chip
  unmapped_uops,  // micro-ops that nothing has loaded
};
inline constexpr std::array<std::string_view, 14> kMutationNames{
    "drop_push", "drop_pop",     "drop_token",   "add_push",     "add_pop",      "swap_flags",   "short_queues",
    "flip_bit",  "reserved_bit", "unknown_code", "beyond_image", "beyond_space", "beyond_depth", "unmapped_uops"};

// Changes one thing of a random kind, or nothing where the program has nothing of the kind: nullopt. What the result
// is, if not right, isa/verify says: a flipped bit can be one without effect.
std::optional<Mutation> mutate(GeneratedProgram& program, Random& random);
bool apply(Mutation mutation, GeneratedProgram& program, Random& random);

}  // namespace dovetail::test
