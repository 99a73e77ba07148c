// Accelerators of one system that have different configurations.
#include "isa/accelerators.h"

#include "isa/codec.h"
#include "isa/system.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::isa;
using Catch::Matchers::ContainsSubstring;

namespace {

HardwareConfig config(const char* name) { return load_config(name).value(); }

// An instruction that only accelerators with the extension `saturate` can run.
Instruction clamping() {
  Store store;
  store.memory = Memory::out;
  store.x_size = store.y_size = store.x_stride = 1;
  store.saturate = true;
  return {{}, store};
}

}  // namespace

TEST_CASE("accelerators without others have one configuration, whatever their number") {
  const AcceleratorConfigs same = config("1x16x16");
  CHECK(same.same());
  CHECK(same.size() == 1);
  CHECK(same.has(63));
  CHECK(same[63] == same.first());
  CHECK(same.kind(5) == 0);
}

TEST_CASE("accelerators that differ have a configuration each, and equal ones are of one kind") {
  const AcceleratorConfigs configs(config("1x16x16"), {config("1x8x8"), config("1x16x16"), config("1x8x8")});
  CHECK_FALSE(configs.same());
  CHECK(configs.size() == 4);
  CHECK(configs.has(3));
  CHECK_FALSE(configs.has(4));
  CHECK(configs[1].name == "1x8x8");
  CHECK(configs.kind(2) == 0);
  CHECK(configs.kind(3) == 1);
  CHECK(name_of(configs) == "1x16x16+1x8x8+1x16x16+1x8x8");
  CHECK(name_of(AcceleratorConfigs(config("1x16x16"), {config("1x8x8"), config("1x8x8")})) == "1x16x16+2*1x8x8");
}

TEST_CASE("accelerators on one memory have the same batch, ports, addresses and form of instructions") {
  const auto problem = [](const char* first, const char* other) {
    const auto common = check_common({config(first), {config(other)}});
    return common.ok() ? "" : to_string(common.errors());
  };
  CHECK(problem("1x16x16", "1x8x8") == "");
  CHECK(problem("1x32x32", "1x16x16-ext,bus_bytes=16") == "");
  CHECK_THAT(problem("1x16x16", "2x16x16"), ContainsSubstring("their `batch` are 1 and 2"));
  CHECK_THAT(problem("1x32x32", "1x16x16-ext"),
             ContainsSubstring("their `bus_bytes` are 16 and 8") && ContainsSubstring("1x16x16-ext,bus_bytes=16"));
  CHECK_THAT(problem("1x16x16", "tiny"), ContainsSubstring("their `address_bits` are 32 and 20"));
  CHECK_THAT(problem("1x16x16", "1x16x16,acc_buffer_bytes=2097152"), ContainsSubstring("bytes of an instruction"));
}

TEST_CASE("instructions belong to the accelerator of their launch") {
  CHECK(accelerators_of(6, std::vector<Launch>{{1, 2, 3, false}, {3, 2, 1, true}}) ==
        std::vector<std::size_t>{0, 3, 3, 1, 1, 0});
  CHECK(accelerators_of(2, std::vector<Launch>{{0, 1, 2, false}, {0, 2, 1, false}}) == std::vector<std::size_t>{2, 1});
  CHECK(accelerators_of(2, std::vector<Launch>{{1, 9, 1, false}}) == std::vector<std::size_t>{0, 1});
}

TEST_CASE("a program is encoded for the accelerators of its launches") {
  const AcceleratorConfigs configs(config("1x16x16"), {config("1x16x16-ext")});
  const std::vector<Instruction> program{{{}, Finish{}}, clamping(), {{}, Finish{}}};
  const std::vector<Launch> launches{{0, 1, 0, false}, {1, 2, 1, true}};
  const auto bytes = encode_program(configs, program, launches);
  REQUIRE(bytes.ok());
  const auto again = decode_program(configs, *bytes, launches, "program");
  REQUIRE(again.ok());
  CHECK(*again == program);
  // The first accelerator has no such instruction.
  const std::vector<Launch> swapped{{0, 1, 1, false}, {1, 2, 0, true}};
  CHECK_FALSE(encode_program(configs, program, swapped).ok());
  const auto wrong = decode_program(configs, *bytes, swapped, "program");
  REQUIRE_FALSE(wrong.ok());
  CHECK_THAT(to_string(wrong.errors()), ContainsSubstring("program, instructions from 1"));
}

TEST_CASE("OFFSET moves the transfers of each accelerator by its own elements") {
  const AcceleratorConfigs configs(config("1x16x16-g3"), {config("1x16x16-g3,block_in=32,window=false")});
  Load load;
  load.memory = Memory::inp;
  load.x_size = load.y_size = load.x_stride = 1;
  load.offset = true;
  const std::vector<Instruction> program{{{}, load}, {{}, load}};
  const std::vector<Instruction> moved =
      at_offset(configs, program, std::vector<Launch>{{0, 1, 0, false}, {1, 1, 1, false}}, 64);
  CHECK(std::get<Load>(moved[0].body).dram_base == 4);
  CHECK(std::get<Load>(moved[1].body).dram_base == 2);
}
