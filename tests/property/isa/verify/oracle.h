// The oracle that verify is compared with: everything that docs/explanation/verify.md says about order, computed by
// definition. Happens-before is a transitive closure or by enumeration, conflicts are found pair by pair and element by
// element, deadlock by the units of docs/reference/timing.md moving at random or in all ways. O(n^2) and more; for
// small programs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/generator/generator.h"
#include "tests/generator/touches.h"

namespace dovetail::test {

struct OracleReport {
  using Pair = std::pair<std::size_t, std::size_t>;  // program order
  // Memory (0 to 3: kShared, 4: DRAM), and the element or byte.
  using Place = std::pair<std::size_t, std::uint64_t>;
  static constexpr std::size_t kDram = 3;

  std::map<Place, std::set<Pair>> races;
  std::set<std::pair<std::size_t, Place>> undefined;  // instruction, SRAM element
  std::set<std::pair<std::size_t, std::uint64_t>> undefined_uops;
  std::set<std::uint64_t> overwritten;  // bytes of micro-ops that a STORE reaches
  std::set<std::size_t> illegal;        // instructions
  std::size_t leftovers = 0;            // FIFOs with tokens left, over all launches
  // At the configuration's depths: the oldest instruction that never ends.
  std::optional<std::size_t> deadlock;
  bool token_missing = false;  // it would not end with unlimited depths either
};

enum class Orders : std::uint8_t {
  closure,     // happens-before is the transitive closure of queue order and push k -> pop k; one random execution
  enumerated,  // every state of every launch is visited; for launches of some ten instructions
};

// Precondition: LOAD UOPs are within the image; their fields are legal.
OracleReport judge(const GeneratedProgram& program, Orders orders = Orders::closure);

}  // namespace dovetail::test
