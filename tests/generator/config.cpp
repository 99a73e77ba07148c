#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/check.h"
#include "isa/spec/config.h"
#include "isa/text.h"
#include "tests/generator/generator.h"
#include "tests/generator/random.h"

namespace dovetail::test {

isa::HardwareConfig random_config(std::uint64_t seed) {
  Random random(seed ^ 0x5eed);
  isa::HardwareConfig config;
  config.name = fmt::format("random-{}", seed);
  for (const isa::spec::Parameter& row : isa::spec::kParameters) config.*row.member = 0;
  config.batch = random.pick({1, 1, 2, 4});
  config.block_in = random.pick({1, 2, 4, 8, 16, 16, 32});
  config.block_out = random.pick({1, 2, 4, 8, 16, 16, 32});
  config.window = random.chance(40);
  if (config.window) config.block_out = config.block_in = std::max<std::int64_t>(2, config.block_in);
  const bool wide = random.chance(30);
  // A depth above 2^11 leaves no room in 32-bit micro-ops, whatever the other parameters are.
  const auto depth = [&](std::initializer_list<int> choices) {
    return static_cast<std::int64_t>(random.pick(choices));
  };
  config.inp_buffer_bytes = depth({8, 16, 32, 64, 128}) * config.batch * config.block_in;
  config.wgt_buffer_bytes = depth({4, 8, 16, 64}) * config.block_out * config.block_in;
  config.acc_buffer_bytes = (wide ? 4096 : depth({8, 16, 32, 64, 256})) * config.batch * config.block_out * 4;
  config.uop_buffer_bytes = depth({8, 16, 64, 256}) * 8;
  config.command_queue_depth = random.pick({1, 2, 3, 4, 8, 16, 128});
  config.token_queue_depth = random.pick({1, 2, 3, 4, 8, 64});
  config.address_bits = random.pick({17, 20, 24, 32, 40});
  config.bus_bytes = random.pick({4, 8, 16, 64});
  config.burst_beats = random.pick({1, 4, 32});
  config.outstanding_beats = random.pick({32, 128});
  config.requant = random.chance(50);
  config.saturate = random.chance(50);
  config.overwrite = random.chance(50);
  config.table = random.chance(50);
  config.epilogue = config.requant && config.block_in >= 16 && random.chance(60);
  config.norm = config.requant && random.chance(60);
  config.weights4 = config.block_in * config.block_out > 1 && random.chance(40);
  config.offset = random.chance(40);
  // Parameters that are not set above.
  for (const isa::spec::Parameter& row : isa::spec::kParameters)
    if (config.*row.member == 0)
      config.*row.member = std::clamp<std::int64_t>(random.pick({1, 2, 4, 8}), row.minimum, row.maximum);
  const auto valid = isa::validate(config);
  DOVETAIL_CHECK(valid.ok(), to_string(valid.errors()));
  return config;
}

std::size_t scaled(std::size_t cases) {
  const char* scale = std::getenv("DOVETAIL_TEST_SCALE");
  return scale == nullptr ? cases : static_cast<std::size_t>(static_cast<double>(cases) * std::atof(scale));
}

std::string describe(const GeneratedProgram& program) {
  std::string text = fmt::format("seed {}, {} instructions, launches", program.seed, program.program.size());
  for (const isa::Launch& launch : program.launches) text += fmt::format(" {}:{}", launch.begin, launch.count);
  return text + "\n" + isa::format_assembly(program.config, program.program);
}

}  // namespace dovetail::test
