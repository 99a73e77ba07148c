// Random integer operators through the whole compiler and the functional simulator, compared with the reference on
// naive loop programs: bit for bit, on every configuration. Seeds are printed with every failure.
#include <cstdlib>

#include <fmt/format.h>

#include "compiler/pipeline.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/property/compiler/random_int8_graph.h"
#include "tests/targets.h"

using namespace dovetail;
using dovetail::test::RandomInt8Graph;

namespace {

int scale_of_tests() {
  const char* scale = std::getenv("DOVETAIL_TEST_SCALE");
  return scale ? std::max(1, std::atoi(scale)) : 1;
}

void check(const isa::HardwareConfig& config, const RandomInt8Graph& random, std::uint64_t seed, int& accelerated,
           int& host) {
  INFO("seed " << seed << " on " << config.name << "\n" << graph::to_string(random.graph));
  CompileOptions options;
  options.available = test::kit_targets(config);
  options.targets = {"accel"};
  auto compiled = compile({random.graph, {}}, options);
  INFO((compiled.ok() ? "" : to_string(compiled.errors())));
  REQUIRE(compiled.ok());
  for (const NodePlacement& row : compiled->placement) (row.target == "host" ? host : accelerated) += 1;

  const auto [inputs, expected] = test::expected_values(random, seed);
  for (const char* engine : {"functional", "cycle"}) {
    INFO(engine);
    auto factory = runtime::simulator_factory(engine);
    REQUIRE(factory.ok());
    auto executor = runtime::Executor::make(compiled->bundle, *factory);
    INFO((executor.ok() ? "" : to_string(executor.errors())));
    REQUIRE(executor.ok());
    const auto result = executor->run(inputs);
    INFO((result.ok() ? "" : to_string(result.errors())));
    REQUIRE(result.ok());
    for (const auto& [name, array] : result->outputs) {
      INFO("output " << name);
      REQUIRE(array.shape() == expected.at(name).shape());
      const auto got = array.data<std::int8_t>(), exact = expected.at(name).data<std::int8_t>();
      std::int64_t different = 0;
      for (std::size_t i = 0; i < got.size(); ++i) different += got[i] != exact[i];
      CHECK(different == 0);
    }
  }
}

void check(const isa::HardwareConfig& config, std::uint64_t seed, int& accelerated, int& host,
           test::Forms forms = test::Forms::accelerated) {
  // Base hardware computes powers of two by shifts and other scales by limbs.
  RandomInt8Graph random(seed, !config.requant && seed % 2 == 0, forms);
  random.build(static_cast<int>(1 + seed % 5));
  check(config, random, seed, accelerated, host);
}

// Machines that hold at least small tiles of most operators.
isa::HardwareConfig random_machine(std::uint64_t seed) {
  test::Draw draw(seed);
  isa::HardwareConfig config;
  config.name = fmt::format("random{}", seed);
  config.block_in = config.block_out = std::int64_t{1} << draw.between(2, 5);
  config.batch = std::int64_t{1} << (draw.coin() ? 0 : draw.between(1, 2));
  if (config.batch == 1 && draw.one_in(2)) config.block_out = std::int64_t{1} << draw.between(2, 5);
  const auto elements = [&](std::int64_t least) { return std::int64_t{1} << draw.between(least, least + 4); };
  config.inp_buffer_bytes = elements(6) * config.batch * config.block_in;
  config.wgt_buffer_bytes = elements(5) * config.block_out * config.block_in;
  config.acc_buffer_bytes = elements(6) * config.batch * config.block_out * 4;
  config.uop_buffer_bytes = elements(5) * 8;
  config.bus_bytes = std::int64_t{1} << draw.between(2, 5);
  config.command_queue_depth = std::int64_t{1} << draw.between(2, 7);
  config.token_queue_depth = std::int64_t{1} << draw.between(2, 6);
  config.requant = draw.coin();
  config.saturate = draw.coin();
  config.overwrite = draw.coin();
  config.window = config.block_in == config.block_out && draw.coin();
  config.table = draw.coin();
  config.epilogue = config.requant && config.block_in >= 16 && draw.coin();
  config.norm = config.requant && draw.coin();
  config.weights4 = draw.coin();
  return config;
}

}  // namespace

TEST_CASE("random operators equal the reference on random configurations") {
  int accelerated = 0, host = 0, machines = 0;
  for (int i = 0; i < 40 * scale_of_tests(); ++i) {
    const isa::HardwareConfig config = random_machine(static_cast<std::uint64_t>(300 + i));
    if (!isa::validate(config).ok()) continue;  // the encoding is too narrow for it
    ++machines;
    check(config, static_cast<std::uint64_t>(3000 + i), accelerated, host);
  }
  INFO(accelerated << " nodes on the accelerator or folded, " << host << " on the host, " << machines << " machines");
  CHECK(machines > 20);
  CHECK(accelerated > host);
}

TEST_CASE("random operators equal the reference on every named configuration") {
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    DYNAMIC_SECTION(config.name) {
      int accelerated = 0, host = 0;
      for (int i = 0; i < 12 * scale_of_tests(); ++i)
        check(config, static_cast<std::uint64_t>(1000 + i), accelerated, host);
      // Most nodes must have run on the accelerator.
      INFO(accelerated << " nodes on the accelerator or folded, " << host << " on the host");
      CHECK(accelerated > 2 * host);
    }
  }
}

// The other forms run on the host, between accelerator regions: borders, layouts and zero points must agree.
TEST_CASE("random graphs of every integer form equal the reference on every named configuration") {
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    DYNAMIC_SECTION(config.name) {
      int accelerated = 0, host = 0;
      for (const std::uint64_t first : {7000U, 7100U})
        for (int i = 0; i < 8 * scale_of_tests(); ++i)
          check(config, first + static_cast<std::uint64_t>(i), accelerated, host, test::Forms::all);
      INFO(accelerated << " nodes on the accelerator or folded, " << host << " on the host");
      CHECK(accelerated > 0);
      CHECK(host > 0);
    }
  }
}

TEST_CASE("random convolutions with max-poolings after them equal the reference on random and named configurations") {
  int accelerated = 0, host = 0;
  std::vector<isa::HardwareConfig> machines;
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (int i = 0; i < 3 * scale_of_tests(); ++i) machines.push_back(config);
  for (int i = 0; i < 20 * scale_of_tests(); ++i)
    if (const auto config = random_machine(static_cast<std::uint64_t>(600 + i)); isa::validate(config).ok())
      machines.push_back(config);
  std::uint64_t seed = 5000;
  for (const isa::HardwareConfig& config : machines) {
    ++seed;
    RandomInt8Graph random(seed, !config.requant && seed % 2 == 0);
    random.build_of_poolings(static_cast<int>(1 + seed % 3));
    check(config, random, seed, accelerated, host);
  }
  INFO(accelerated << " nodes on the accelerator or folded, " << host << " on the host");
  CHECK(accelerated > host);
}

// An element of INP holds several of OUT, or of OUT several of INP: products of activations, transpositions, and rows
// of softmax and normalizations work as with equal blocks.
TEST_CASE("random transformers equal the reference where blocks of inputs and outputs differ") {
  int accelerated = 0, host = 0;
  for (int i = 0; i < 20 * scale_of_tests(); ++i) {
    const auto seed = static_cast<std::uint64_t>(9500 + i);
    test::Draw draw(seed);
    isa::HardwareConfig config = *isa::load_config(draw.coin() ? "1x16x16-g2" : "1x16x16");
    const std::int64_t in = draw.between(1, 5), other = draw.between(0, 4), out = other < in ? other : other + 1;
    config.window = config.epilogue = false;
    config.block_in = std::int64_t{1} << in;
    config.block_out = std::int64_t{1} << out;
    config.name = fmt::format("1x{}x{}", config.block_in, config.block_out);
    REQUIRE(isa::validate(config).ok());
    RandomInt8Graph random(seed, !config.requant && seed % 2 == 0);
    random.build_of_tokens(static_cast<int>(1 + seed % 3));
    check(config, random, seed, accelerated, host);
  }
  INFO(accelerated << " nodes on the accelerator or folded, " << host << " on the host");
  CHECK(accelerated > 2 * host);
}

TEST_CASE("random transformers equal the reference on random and named configurations") {
  int accelerated = 0, host = 0;
  std::vector<isa::HardwareConfig> machines;
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (int i = 0; i < scale_of_tests(); ++i) machines.push_back(config);
  for (int i = 0; i < 6 * scale_of_tests(); ++i)
    if (const auto config = random_machine(static_cast<std::uint64_t>(900 + i)); isa::validate(config).ok())
      machines.push_back(config);
  std::uint64_t seed = 9000;
  for (const isa::HardwareConfig& config : machines) {
    ++seed;
    RandomInt8Graph random(seed, !config.requant && seed % 2 == 0);
    random.build_of_tokens(static_cast<int>(1 + seed % 3));
    check(config, random, seed, accelerated, host);
  }
  INFO(accelerated << " nodes on the accelerator or folded, " << host << " on the host");
  CHECK(accelerated > host);
}
