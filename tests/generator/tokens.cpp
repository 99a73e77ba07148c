#include "tests/generator/tokens.h"

#include <algorithm>
#include <array>
#include <utility>

#include "isa/verify/token_use.h"
#include "tests/generator/random.h"

namespace dovetail::test {
namespace {

constexpr std::uint64_t kImageBytes = 1 << 15;

class Drawer {
 public:
  Drawer(const isa::HardwareConfig& config, std::uint64_t seed) : config_(config), random_(seed) {
    // One queue or one kind of instruction often dominates, so that units fill up.
    for (unsigned& weight : queue_weights_) weight = random_.pick({1u, 2u, 6u});
    for (unsigned& weight : compute_weights_) weight = random_.pick({1u, 1u, 8u});
  }

  std::vector<isa::Instruction> launch(std::size_t size) {
    std::vector<isa::Instruction> program;
    for (std::size_t i = 0; i < size; ++i) program.push_back(instruction());
    for (std::uint64_t pairs = random_.between(size / 3, 2 * size); pairs > 0; --pairs) pair(program);
    mix(program);
    if (random_.chance(50))
      for (std::uint64_t i = random_.between(1, 3); i > 0 && !program.empty(); --i) spoil(program);
    return program;
  }
  bool chance(unsigned percent) { return random_.chance(percent); }
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }

 private:
  template <std::size_t n>
  std::size_t weighted(const std::array<unsigned, n>& weights) {
    unsigned sum = 0;
    for (const unsigned weight : weights) sum += weight;
    std::uint64_t at = random_.below(sum);
    for (std::size_t i = 0; i < n; ++i) {
      if (at < weights[i]) return i;
      at -= weights[i];
    }
    return n - 1;
  }

  isa::Instruction instruction() {
    switch (static_cast<isa::Queue>(weighted(queue_weights_))) {
      case isa::Queue::load: return {{}, transfer(random_.pick({isa::Memory::inp, isa::Memory::wgt}))};
      case isa::Queue::store: return {{}, isa::Store{{.memory = isa::Memory::out}, false}};
      case isa::Queue::compute: break;
    }
    switch (weighted(compute_weights_)) {
      case 0: return {{}, isa::Finish{}};
      case 1: return {{}, transfer(isa::Memory::acc)};
      case 2: return {{}, isa::Gemm{}};
      case 3: return {{}, isa::Alu{{}, false, isa::AluOp::add, true, 1}};
      default: return {{}, isa::Alu{{}, false, isa::AluOp::mul, true, 1}};
    }
  }

  isa::Load transfer(isa::Memory memory) {
    isa::Load load{{.memory = memory}};
    if (random_.chance(50)) return load;
    // At most half of INP, all of the smallest WGT.
    load.x_size = load.x_stride = static_cast<std::uint32_t>(random_.between(1, config_.depth(memory) < 8 ? 2 : 4));
    load.y_size = static_cast<std::uint32_t>(random_.between(0, 2));
    const auto element = static_cast<std::uint64_t>(config_.element_bytes(memory));
    load.dram_base = random_.below(kImageBytes / element - 8);
    return load;
  }

  // Adds a token from one instruction to a later one of a neighboring queue, if both have the flag free.
  void pair(std::vector<isa::Instruction>& program) {
    const std::size_t a = random_.below(program.size()), b = random_.below(program.size());
    isa::Instruction &from = program[std::min(a, b)], &to = program[std::max(a, b)];
    const int step = static_cast<int>(to.queue()) - static_cast<int>(from.queue());
    if (step != 1 && step != -1) return;
    bool& push = step == 1 ? from.flags.push_next : from.flags.push_prev;
    bool& pop = step == 1 ? to.flags.pop_prev : to.flags.pop_next;
    if (push || pop) return;
    push = pop = true;
  }

  // Each queue keeps its order, and runs ahead of the others or after them.
  void mix(std::vector<isa::Instruction>& program) {
    const std::uint64_t skew = random_.pick({0u, 2u, 6u, 16u});
    std::array<std::uint64_t, isa::kQueues> lag{};
    for (std::uint64_t& each : lag) each = random_.below(skew + 1);
    std::vector<std::pair<std::uint64_t, isa::Instruction>> keyed;
    for (std::size_t i = 0; i < program.size(); ++i)
      keyed.push_back({i + lag[isa::index(program[i].queue())], program[i]});
    std::stable_sort(keyed.begin(), keyed.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    for (std::size_t i = 0; i < program.size(); ++i) program[i] = keyed[i].second;
  }

  void spoil(std::vector<isa::Instruction>& program) {
    const std::size_t i = random_.below(program.size());
    switch (random_.below(4)) {
      case 0: program.erase(program.begin() + static_cast<std::ptrdiff_t>(i)); return;
      case 1: std::swap(program[i], program[random_.below(program.size())]); return;
      default: break;
    }
    isa::DependencyFlags& flags = program[i].flags;
    const isa::Queue queue = program[i].queue();
    const bool prev = queue == isa::Queue::store || (queue == isa::Queue::compute && random_.chance(50));
    bool& flag = prev ? (random_.chance(50) ? flags.pop_prev : flags.push_prev)
                      : (random_.chance(50) ? flags.pop_next : flags.push_next);
    flag = !flag;
  }

  const isa::HardwareConfig& config_;
  Random random_;
  std::array<unsigned, isa::kQueues> queue_weights_{};
  std::array<unsigned, 5> compute_weights_{};
};

}  // namespace

isa::HardwareConfig shallow_config(std::uint64_t seed) {
  Random random(seed ^ 0x7e57);
  isa::HardwareConfig config = isa::load_config("tiny").value();
  config.name = "shallow";
  config.command_queue_depth = random.pick({1, 2, 3, 4, 16});
  config.token_queue_depth = random.pick({1, 1, 2, 3});
  config.bus_bytes = random.pick({4, 8, 16});
  config.burst_beats = random.pick({1, 2, 4});
  config.outstanding_beats = random.pick({1, 2, 4, 8});
  return config;
}

GeneratedProgram token_program(const isa::HardwareConfig& config, std::uint64_t seed, std::size_t size) {
  Drawer draw(config, seed);
  GeneratedProgram program;
  program.config = config;
  program.dram.resize(kImageBytes);
  program.seed = seed;
  for (std::byte& byte : program.dram) byte = static_cast<std::byte>(draw.below(256));
  for (std::size_t left = size / 2 + draw.below(size / 2 + 1); left > 0;) {
    const std::size_t count = program.launches.empty() && draw.chance(30) ? (left + 1) / 2 : left;
    const std::vector<isa::Instruction> launch = draw.launch(count);
    program.launches.push_back({program.program.size(), launch.size()});
    program.program.insert(program.program.end(), launch.begin(), launch.end());
    left -= count;
  }
  return program;
}

}  // namespace dovetail::test
