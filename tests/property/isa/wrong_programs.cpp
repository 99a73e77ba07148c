// Wrong programs: right ones with one change.
#include <cstddef>
#include <vector>

#include "isa/verify.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"
#include "tests/generator/mutate.h"
#include "tests/generator/random.h"

namespace dovetail::test {

TEST_CASE("every mutation of a random program is reported by verify somewhere") {
  for (std::size_t m = 0; m < kMutationNames.size(); ++m) {
    CAPTURE(kMutationNames[m]);
    bool found = false;
    for (std::uint64_t seed = 0; seed < 40 && !found; ++seed) {
      GeneratedProgram program = generate(random_config(seed), {.seed = seed, .size = 40});
      Random random(seed);
      if (!apply(static_cast<Mutation>(m), program, random)) continue;
      found =
          !program.patches.empty() || !isa::verify(program.config, program.program, program.verify_options()).clean();
    }
    CHECK(found);
  }
}

TEST_CASE("undecodable instructions keep their place when a wrong program is minimized") {
  GeneratedProgram program = generate(random_config(5), {.seed = 5, .size = 40});
  const std::size_t at = program.program.size() / 2;
  program.patches[at] = std::vector<std::byte>(static_cast<std::size_t>(program.config.instruction_bytes()));
  const isa::Instruction marked = program.program[at];
  const GeneratedProgram small = shrink(program, [&](const GeneratedProgram& candidate) {
    return candidate.patches.size() == 1 && candidate.program[candidate.patches.begin()->first].body == marked.body;
  });
  CHECK(small.program.size() == 1);
  CHECK(small.patches.begin()->first == 0);
}

}  // namespace dovetail::test
