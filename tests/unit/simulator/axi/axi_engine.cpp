// The engine on a device: values and cycles, several simulators on one memory, and what it refuses.
#include "simulator/axi/axi_engine.h"

#include <random>

#include "isa/text.h"
#include "simulator/cycle/cycle.h"
#include "simulator/functional/functional.h"
#include "tests/catch.h"
#include "tests/unit/simulator/axi/fake_device.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using simulator::testing::FakeDevice;

namespace {

isa::HardwareConfig named(const std::string& name) { return *isa::load_config(name); }

std::unique_ptr<FakeDevice> fake(const isa::HardwareConfig& config, FakeDevice::Watch* watch,
                                 std::uint64_t base = 0x2000'0000, std::uint64_t bytes = 1 << 20) {
  auto machine = simulator::DrivenMachine::make(
      std::vector{config}, base, bytes,
      [](const isa::HardwareConfig& its) -> Result<std::unique_ptr<simulator::Simulator>> {
        return simulator::make_cycle(its, {});
      });
  REQUIRE(machine.ok());
  return std::make_unique<FakeDevice>(*std::move(machine), base, watch);
}

std::shared_ptr<simulator::SharedAxiDevice> shared_fake(const isa::HardwareConfig& config, FakeDevice::Watch* watch,
                                                        std::uint64_t base = 0x2000'0000,
                                                        std::uint64_t bytes = 1 << 20) {
  auto shared = simulator::share_axi_device(fake(config, watch, base, bytes), config);
  REQUIRE((shared.ok() ? "" : to_string(shared.errors())) == "");
  if (watch != nullptr) *watch = {};
  return *shared;
}

std::vector<isa::Instruction> program_of(const isa::HardwareConfig& config, const std::string& text) {
  const auto assembly = isa::parse_assembly(".config " + config.name + "\n" + text, "program", config);
  REQUIRE((assembly.ok() ? "" : to_string(assembly.errors())) == "");
  return assembly->program;
}

simulator::Dram random_image(std::uint64_t base, std::size_t bytes) {
  simulator::Dram dram{base, std::vector<std::byte>(bytes)};
  std::mt19937 random(7);  // NOLINT: the same data in every run
  for (std::byte& byte : dram.bytes) byte = static_cast<std::byte>(random());
  return dram;
}

// Widens elements to 32 bits and stores them; one row in two, so that between those that it writes there are others.
const std::string kCopy =
    "load.acc8 sram=0 dram=0x12000/acc8.bytes size=4,2 stride=4 push_next\n"
    "store.out sram=0 dram=0x12100/out.bytes size=4,1 stride=2 pop_prev\n";

}  // namespace

TEST_CASE("engine axi computes what the device's design computes, in its cycles") {
  for (const std::uint64_t base : {0x2000'0000ull, 0x2000'0040ull, 0x2000'1000ull}) {
    for (const std::uint64_t lead : {0ull, 32ull}) {
      INFO("device at " << base << ", image " << lead << " bytes earlier");
      const isa::HardwareConfig config = named("1x16x16");
      FakeDevice::Watch watch;
      const auto axi = simulator::make_axi(config, shared_fake(config, &watch, base));
      const auto cycle = simulator::make_cycle(config, {});
      const auto program = program_of(config, kCopy);
      simulator::Dram expected = random_image(0x12000 - lead, 0x1000), got = expected;
      for (int run = 0; run < 3; ++run) {
        const auto right = cycle->launch(program, expected);
        const auto counters = axi->launch(program, got);
        REQUIRE((counters.ok() ? "" : to_string(counters.errors())) == "");
        CHECK(got.bytes == expected.bytes);
        CHECK(axi->timing()->cycles == cycle->timing()->cycles);
        CHECK(difference(without_time(*right), *counters) == "");
        expected.bytes[lead + 3] = got.bytes[lead + 3] = static_cast<std::byte>(run);  // the next run has another input
      }
      CHECK(watch.launches == 3);
    }
  }
}

TEST_CASE("engine axi writes to the device only what has changed") {
  const isa::HardwareConfig config = named("1x16x16");
  FakeDevice::Watch watch;
  const auto axi = simulator::make_axi(config, shared_fake(config, &watch));
  const auto program = program_of(config, kCopy);
  simulator::Dram dram = random_image(0x12000, 0x1000);
  REQUIRE(axi->launch(program, dram).ok());
  const std::uint64_t first = std::exchange(watch.cleaned, 0);
  REQUIRE(axi->launch(program, dram).ok());
  CHECK(watch.cleaned == program.size() * 16);  // the instructions
  CHECK(first > watch.cleaned);
}

TEST_CASE("engine axi writes again what the device has overwritten") {
  const isa::HardwareConfig config = named("1x16x16");
  const auto axi = simulator::make_axi(config, shared_fake(config, nullptr));
  const auto store = program_of(config, kCopy);
  const auto load = program_of(config,
                               "load.acc8 sram=0 dram=0x12100/acc8.bytes size=4,1 push_next\n"
                               "store.out sram=0 dram=0x12200/out.bytes size=4,1 pop_prev\n");
  simulator::Dram got = random_image(0x12000, 0x1000), expected = got;
  const simulator::Dram before = got;
  const auto functional = simulator::make_functional(config);
  for (const auto* program : {&load, &store, &load}) {
    REQUIRE(functional->launch(*program, expected).ok());
    REQUIRE(axi->launch(*program, got).ok());
    CHECK(got.bytes == expected.bytes);
    // The processor restores what the program stored.
    std::copy_n(before.bytes.begin() + 0x100, 0x100, got.bytes.begin() + 0x100);
    std::copy_n(before.bytes.begin() + 0x100, 0x100, expected.bytes.begin() + 0x100);
  }
}

TEST_CASE("simulators share a device's memory, each with a block, and give it back") {
  const isa::HardwareConfig config = named("1x16x16");
  const auto shared = shared_fake(config, nullptr, 0x2000'0000, 0x10000);
  const auto program = program_of(config, kCopy);
  simulator::Dram one = random_image(0x12000, 0x1000), other = one;
  other.bytes[0] = std::byte{1};
  const simulator::Dram before_one = one, before_other = other;
  const auto first = simulator::make_axi(config, shared);
  {
    const auto second = simulator::make_axi(config, shared);
    for (int run = 0; run < 2; ++run) {
      REQUIRE(first->launch(program, one).ok());
      REQUIRE(second->launch(program, other).ok());
    }
    const auto check = [&](simulator::Dram image, const simulator::Dram& got) {
      REQUIRE(simulator::make_functional(config)->launch(program, image).ok());
      CHECK(got.bytes == image.bytes);
    };
    check(before_one, one);
    check(before_other, other);
    simulator::Dram large = random_image(0x12000, 0xe000);
    const auto third = simulator::make_axi(config, shared);
    const auto refused = third->launch(program, large);
    REQUIRE_FALSE(refused.ok());
    CHECK_THAT(to_string(refused.errors()), ContainsSubstring("too little memory") && ContainsSubstring("65536 bytes"));
    CHECK(refused.errors().front().cause == Cause::resource);
  }
  simulator::Dram large = random_image(0x12000, 0xe000);
  CHECK(simulator::make_axi(config, shared)->launch(program, large).ok());
}

TEST_CASE("simulators on one image share its block") {
  const isa::HardwareConfig config = named("1x16x16");
  const auto shared = shared_fake(config, nullptr, 0x2000'0000, 0x10000);
  const auto program = program_of(config, kCopy);
  simulator::Dram image = random_image(0x12000, 0xc000), expected = image;
  const auto functional = simulator::make_functional(config);
  std::vector<std::unique_ptr<simulator::Simulator>> regions;
  for (int i = 0; i < 3; ++i) {
    regions.push_back(simulator::make_axi(config, shared));
    const auto ran = regions.back()->launch(program, image);
    REQUIRE((ran.ok() ? "" : to_string(ran.errors())) == "");
    REQUIRE(functional->launch(program, expected).ok());
    CHECK(image.bytes == expected.bytes);
    image.bytes[1] = expected.bytes[1] = static_cast<std::byte>(i);
  }
}

TEST_CASE("memory that the accelerator does not reach is refused repeatedly") {
  isa::HardwareConfig config = named("1x16x16");
  config.address_bits = 20;
  const auto device = simulator::share_axi_device(fake(named("1x16x16"), nullptr), config);
  REQUIRE_FALSE(device.ok());
  CHECK_THAT(to_string(device.errors()),
             ContainsSubstring("beyond the 20 address bits") && ContainsSubstring("lower addresses"));
}

TEST_CASE("a launch that still runs is waited for") {
  const isa::HardwareConfig config = named("1x16x16");
  FakeDevice::Watch watch;
  const auto axi = simulator::make_axi(config, shared_fake(config, &watch));
  const auto program = program_of(config, kCopy);
  simulator::Dram dram = random_image(0x12000, 0x1000);
  REQUIRE(axi->launch(program, dram).ok());
  watch.hangs = true;
  watch.on_wait = [&] { watch.hangs = watch.waits < 3; };
  CHECK(axi->launch(program, dram).ok());
  CHECK(watch.waits >= 3);
}

TEST_CASE("a launch of several parts has the micro-ops of the parts before, in every run") {
  const isa::HardwareConfig config = named("1x16x16");
  const auto axi = simulator::make_axi(config, shared_fake(config, nullptr));
  const auto cycle = simulator::make_cycle(config, {});
  const auto program = program_of(config,
                                  "load.uop sram=0 dram=0x12000/uop.bytes size=2,1\n"
                                  "load.acc sram=0 dram=0x12400/acc.bytes size=4,1 push_next\n"
                                  "store.out sram=0 dram=0x12800/out.bytes size=2,1 pop_prev\n"
                                  "alu.add uop=0:2 iter=1,1 imm=3 push_next\n"
                                  "store.out sram=0 dram=0x12800/out.bytes size=2,1 pop_prev\n"
                                  "alu.add uop=0:2 iter=1,1 push_next\n"
                                  "store.out sram=0 dram=0x12800/out.bytes size=2,1 pop_prev\n");
  simulator::Dram expected = random_image(0x12000, 0x1000);
  std::vector<std::byte> uops;  // with one source, so that a vector operand is read once
  for (const std::uint32_t target : {0u, 1u}) REQUIRE(isa::Codec(config).encode(isa::Uop{target, 2, 0}, uops).ok());
  std::ranges::copy(uops, expected.bytes.begin());
  simulator::Dram got = expected;
  // The last part is simulated after parts that are known.
  for (const std::size_t second : {3u, 3u, 5u}) {
    cycle->reset();
    axi->reset();
    for (const auto& [begin, count] : {std::pair<std::size_t, std::size_t>{0, 3}, {second, 2}}) {
      const auto part = std::span(program).subspan(begin, count);
      const auto right = cycle->launch(part, expected, begin);
      REQUIRE(right.ok());
      const auto counters = axi->launch(part, got, begin);
      REQUIRE((counters.ok() ? "" : to_string(counters.errors())) == "");
      CHECK(got.bytes == expected.bytes);
      CHECK(axi->timing()->cycles == cycle->timing()->cycles);
      CHECK(difference(without_time(*right), *counters) == "");
    }
  }
}

TEST_CASE("engine axi has the register OFFSET") {
  const isa::HardwareConfig config = named("1x16x16-g3");
  REQUIRE(config.offset);
  const auto axi = simulator::make_axi(config, shared_fake(config, nullptr));
  const auto functional = simulator::make_functional(config);
  const auto program = program_of(config,
                                  "load.acc8 sram=0 dram=0x12000/acc8.bytes size=2,1 push_next\n"
                                  "store.out sram=0 dram=0x12100/out.bytes size=2,1 offset pop_prev\n");
  simulator::Dram expected = random_image(0x12000, 0x1000), got = expected;
  for (const std::uint64_t offset : {0ull, 64ull, 0x800ull}) {
    axi->set_offset(offset);
    functional->set_offset(offset);
    REQUIRE(functional->launch(program, expected).ok());
    REQUIRE(axi->launch(program, got).ok());
    CHECK(got.bytes == expected.bytes);
  }
}

TEST_CASE("what would hang, or leave the image, never reaches the device") {
  const isa::HardwareConfig config = named("1x16x16");
  FakeDevice::Watch watch;
  const auto axi = simulator::make_axi(config, shared_fake(config, &watch));
  const auto refuses = [&](const std::string& text, const std::string& why) {
    simulator::Dram dram = random_image(0x12000, 0x1000);
    const auto refused = axi->launch(program_of(config, text), dram);
    REQUIRE_FALSE(refused.ok());
    CHECK_THAT(to_string(refused.errors()), ContainsSubstring(why));
  };
  refuses("load.acc8 sram=0 dram=0x12000/acc8.bytes size=4,1 pop_prev\n", "deadlock");
  refuses("load.acc8 sram=0 dram=0x13000/acc8.bytes size=1,1\n", "0x13000");
  refuses(
      "load.acc8 sram=0 dram=0x12000/acc8.bytes size=1,1 push_next\nstore.out sram=0 dram=0x20000/out.bytes size=1,1 "
      "pop_prev\n",
      "0x20000");
  refuses("load.acc8 sram=0 dram=0x12000/acc8.bytes size=1,1 push_next\n", "token");
  CHECK(watch.launches == 0);
}

TEST_CASE("engine axi reports an error of the device, and a device that does not end") {
  const isa::HardwareConfig config = named("1x16x16");
  FakeDevice::Watch watch;
  Work work;
  const auto axi = simulator::make_axi(config, shared_fake(config, &watch), {.work = &work});
  const auto program = program_of(config, kCopy);
  simulator::Dram dram = random_image(0x12000, 0x1000);
  watch.error = static_cast<std::uint32_t>(isa::spec::ErrorCode::slave_error);
  const auto stopped = axi->launch(program, dram);
  REQUIRE_FALSE(stopped.ok());
  CHECK_THAT(to_string(stopped.errors()), ContainsSubstring("the memory port answered SLVERR"));
  CHECK(stopped.errors().front().cause == Cause::work);
  REQUIRE(axi->error());
  CHECK(axi->error()->code == isa::spec::ErrorCode::slave_error);
  CHECK(axi->timing() == nullptr);

  watch.error = 0;
  watch.launches = 0;
  watch.hangs = true;
  watch.on_wait = [&] { work.stop("the test ends it", ""); };
  const auto hung = axi->launch(program, dram);
  REQUIRE_FALSE(hung.ok());
  CHECK_THAT(to_string(hung.errors()),
             ContainsSubstring("did not end within 2 s") && ContainsSubstring("load its bitstream again"));
}

TEST_CASE("a device of other hardware is refused") {
  const isa::HardwareConfig config = named("1x16x16");
  const auto why = [&](const isa::HardwareConfig& expected) {
    const auto shared = simulator::share_axi_device(fake(config, nullptr), expected);
    return shared.ok() ? "" : to_string(shared.errors());
  };
  CHECK(why(config) == "");
  CHECK_THAT(why(named("1x8x8")), ContainsSubstring("CONFIG"));
  // The register does not have these.
  for (const char* buffer : {"uop_buffer_bytes", "inp_buffer_bytes", "wgt_buffer_bytes", "acc_buffer_bytes"})
    for (const bool larger : {false, true}) {
      Json json = isa::config_to_json(config);
      INFO(json.dump());
      REQUIRE(json.contains(buffer));
      json[buffer] = larger ? json[buffer].get<std::int64_t>() * 2 : json[buffer].get<std::int64_t>() / 2;
      const auto other = isa::config_from_json(json, "test");
      REQUIRE(other.ok());
      INFO(buffer << " " << larger);
      CHECK_THAT(why(*other), ContainsSubstring("is not this accelerator"));
    }
}
