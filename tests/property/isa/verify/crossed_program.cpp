#include "tests/property/isa/verify/crossed_program.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "isa/spec/timing.h"
#include "tests/generator/random.h"

namespace dovetail::test {
namespace {

constexpr std::uint64_t kImageBytes = 1 << 15;

class Drawer {
 public:
  Drawer(const isa::HardwareConfig& config, std::uint64_t seed)
      : config_(config), random_(seed), compute_kind_(random_.below(4)) {}

  std::vector<isa::Instruction> launch() {
    const bool loads = random_.chance(70);
    first_ = loads ? isa::Queue::load : isa::Queue::compute;
    second_ = loads ? isa::Queue::compute : isa::Queue::store;
    const auto tokens = static_cast<std::uint64_t>(config_.token_queue_depth);
    // For the first queue about as many instructions as its unit can hold, and for the second more than have room.
    const std::uint64_t in_flight = most_in_flight(first_) + random_.below(3);
    const std::uint64_t waiting = random_.between(1, std::min<std::uint64_t>(in_flight, 3));
    const std::uint64_t pushes = tokens + waiting, answers = tokens + random_.between(1, 2);
    std::vector<isa::Instruction> first_stream, second_stream;
    for (std::uint64_t i = 0; i < pushes; ++i) first_stream.push_back(instruction(first_, {.push_next = true}));
    for (std::uint64_t i = waiting; i < in_flight; ++i) first_stream.push_back(instruction(first_, {}));
    for (std::uint64_t i = 0; i < answers; ++i) first_stream.push_back(instruction(first_, {.pop_next = true}));
    for (std::uint64_t i = 0; i < answers; ++i) second_stream.push_back(instruction(second_, {.push_prev = true}));
    for (std::uint64_t i = 0; i < pushes; ++i) second_stream.push_back(instruction(second_, {.pop_prev = true}));
    return merged(first_stream, second_stream);
  }

 private:
  static std::uint64_t most_in_flight(isa::Queue queue) {
    return static_cast<std::uint64_t>(queue == isa::Queue::load ? isa::spec::kLoadWaiting.value
                                                                : isa::spec::kComputeInFlight.value - 1);
  }

  isa::Instruction instruction(isa::Queue queue, isa::DependencyFlags flags) {
    switch (queue) {
      case isa::Queue::load: return {flags, load(random_.pick({isa::Memory::inp, isa::Memory::wgt}))};
      case isa::Queue::store: return {flags, isa::Store{{.memory = isa::Memory::out}, false}};
      case isa::Queue::compute: break;
    }
    // Mostly one kind, since different kinds do not overlap.
    switch (random_.chance(95) ? compute_kind_ : random_.below(4)) {
      case 0: return {flags, isa::Finish{}};
      case 1: return {flags, isa::Gemm{}};
      case 2: return {flags, isa::Alu{{}, false, isa::AluOp::add, true, 1}};
      default: return {flags, isa::Alu{{}, false, isa::AluOp::mul, true, 1}};
    }
  }

  isa::Load load(isa::Memory memory) {
    isa::Load load{{.memory = memory}};
    if (random_.chance(60)) return load;
    const auto depth = static_cast<std::uint64_t>(config_.depth(memory));
    const auto element = static_cast<std::uint64_t>(config_.element_bytes(memory));
    load.y_size = static_cast<std::uint32_t>(random_.between(1, 2));
    load.x_size = static_cast<std::uint32_t>(random_.between(1, std::min<std::uint64_t>(4, depth / load.y_size)));
    load.x_stride = load.x_size + static_cast<std::uint32_t>(random_.below(3));
    load.dram_base = random_.below(kImageBytes / element - 16);
    return load;
  }

  // Merges two streams, each in its order.
  std::vector<isa::Instruction> merged(const std::vector<isa::Instruction>& x, const std::vector<isa::Instruction>& y) {
    const std::uint64_t most = x.size() + y.size(), lead = random_.below(most);
    std::vector<std::pair<std::uint64_t, isa::Instruction>> keyed;
    for (std::size_t i = 0; i < x.size(); ++i) keyed.push_back({2 * i, x[i]});
    for (std::size_t i = 0; i < y.size(); ++i) keyed.push_back({2 * i + lead, y[i]});
    std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<isa::Instruction> all;
    for (const auto& [key, each] : keyed) all.push_back(each);
    return all;
  }

  const isa::HardwareConfig& config_;
  Random random_;
  std::uint64_t compute_kind_;
  isa::Queue first_ = isa::Queue::load, second_ = isa::Queue::compute;
};

}  // namespace

GeneratedProgram crossed_program(const isa::HardwareConfig& config, std::uint64_t seed) {
  GeneratedProgram program;
  program.config = config;
  program.program = Drawer(config, seed).launch();
  program.launches = {{0, program.program.size()}};
  program.dram.resize(kImageBytes);
  program.seed = seed;
  return program;
}

}  // namespace dovetail::test
