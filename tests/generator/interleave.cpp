#include <algorithm>
#include <array>
#include <span>

#include "base/check.h"
#include "isa/verify/token_machine.h"
#include "tests/generator/builder.h"

namespace dovetail::test {
namespace {

bool completes(std::span<const isa::Instruction> launch, const isa::HardwareConfig& config) {
  return isa::TokenMachine(launch, isa::queue_depths(config)).run();
}

}  // namespace

// Each queue's stream runs ahead of the others, or after them, by a drawn number of instructions, with some noise. Only
// the queue depths can prevent an order, as tokens constrain the order within queues; then the streams are moved closer
// to each other, in the end to serial order.
void interleave(GeneratedProgram& program, Random& random) {
  for (const isa::Launch& launch : program.launches) {
    const auto begin = program.program.begin() + static_cast<std::ptrdiff_t>(launch.begin);
    const std::vector<isa::Instruction> serial(begin, begin + static_cast<std::ptrdiff_t>(launch.count));
    for (std::uint64_t skew = random.pick({0u, 2u, 8u, 30u, 200u});; skew /= 2) {
      const std::array<std::uint64_t, isa::kQueues> lag = {random.below(skew + 1), random.below(skew + 1),
                                                           random.below(skew + 1)};
      struct Key {
        std::uint64_t at;
        std::size_t serial;
      };
      std::vector<Key> keys;
      std::array<std::uint64_t, isa::kQueues> last{};
      for (std::size_t i = 0; i < serial.size(); ++i) {
        const std::size_t queue = isa::index(serial[i].queue());
        last[queue] = std::max(last[queue], i + lag[queue] + random.below(skew / 4 + 1));
        keys.push_back({last[queue], i});
      }
      std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) { return a.at < b.at; });
      std::vector<isa::Instruction> mixed;
      for (const Key& key : keys) mixed.push_back(serial[key.serial]);
      if (completes(mixed, program.config)) {
        std::copy(mixed.begin(), mixed.end(), begin);
        break;
      }
      DOVETAIL_CHECK(skew != 0, "a generated program deadlocks in serial order");
    }
  }
}

}  // namespace dovetail::test
