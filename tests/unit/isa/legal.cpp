#include "isa/legal.h"

#include "isa/text.h"
#include "tests/catch.h"
#include "tests/unit/isa/random_instruction.h"

using namespace dovetail;
using namespace dovetail::isa;

namespace {

// The errors of one line of assembly; the rules do not check the encoding, so a field may hold more than it encodes.
std::vector<std::string> wrong(const HardwareConfig& config, const Instruction& instruction) {
  std::vector<std::string> texts;
  for (const Diagnostic& error : check_instruction(config, instruction)) {
    CHECK(error.what == "illegal instruction `" + format_instruction(instruction) + "`");
    CHECK_FALSE(error.hint.empty());
    texts.push_back(error.why);
  }
  CHECK(LegalityRules(config).is_legal(instruction) == texts.empty());
  return texts;
}
std::vector<std::string> wrong(std::string_view line, const HardwareConfig& config = {}) {
  const Result<Assembly> assembly = parse_assembly(line, "test.s", config);
  INFO((assembly.ok() ? std::string() : to_string(assembly.errors())));
  REQUIRE(assembly.ok());
  REQUIRE(assembly->program.size() == 1);
  return wrong(config, assembly->program[0]);
}
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("flags for queues that do not exist are illegal") {
  CHECK(wrong("nop.inp pop_next push_next").empty());
  CHECK(wrong("nop.inp pop_prev") ==
        Texts{"pop_prev is set on a load of inp, but the load queue has no previous queue"});
  CHECK(wrong("load.wgt size=1x1 push_prev") ==
        Texts{"push_prev is set on a load of wgt, but the load queue has no previous queue"});
  for (const char* memory : {"uop", "acc", "acc8"})
    CHECK(wrong(std::string("nop.") + memory + " pop_prev pop_next push_prev push_next").empty());
  CHECK(wrong("store.out size=1x1 pop_prev push_prev").empty());
  CHECK(wrong("store.out size=1x1 pop_next") ==
        Texts{"pop_next is set on a store, but the store queue has no next queue"});
  CHECK(wrong("nop.out push_next") == Texts{"push_next is set on a store, but the store queue has no next queue"});
  CHECK(wrong("gemm uop=0:0 pop_prev pop_next push_prev push_next").empty());
  CHECK(wrong("finish pop_prev pop_next push_prev push_next").empty());
}

TEST_CASE("transfers stay within SRAM: legal at the depth, illegal one beyond") {
  CHECK(wrong("load.inp sram=2040 size=1x8").empty());
  CHECK(wrong("load.inp sram=2041 size=1x8") == Texts{"8 elements from 2041 end at 2049 > 2048, the depth of inp"});
  CHECK(wrong("load.wgt sram=1020 size=2x2").empty());
  CHECK(wrong("load.wgt sram=1021 size=2x2") == Texts{"4 elements from 1021 end at 1025 > 1024, the depth of wgt"});
  CHECK(wrong("load.acc8 sram=2012 size=4x4 pad=1,1,1,1").empty());
  CHECK(wrong("load.acc8 sram=2013 size=4x4 pad=1,1,1,1") ==
        Texts{"36 elements from 2013 end at 2049 > 2048, the depth of acc"});
  CHECK(wrong("load.uop sram=8192 size=0x1").empty());
  CHECK(wrong("load.uop sram=8192 size=0x1 pad=1,0,0,0") ==
        Texts{"1 elements from 8192 end at 8193 > 8192, the depth of uop"});
  CHECK(wrong("store.out sram=2047 size=1x1").empty());
  CHECK(wrong("store.out sram=2048 size=1x1") == Texts{"1 elements from 2048 end at 2049 > 2048, the depth of acc"});
  CHECK(wrong("load.inp sram=0 size=65535x65535 stride=0").size() == 1);
  CHECK(wrong("load.inp sram=65535 size=65535x0 pad=15,15,15,15").empty());  // a NOP
}

TEST_CASE("transfers stay below 2^address_bits, in full precision") {
  // 2^32 / 16 bytes = 0x10000000 elements.
  CHECK(wrong("load.inp dram=0xfffffff size=1x1").empty());
  CHECK(wrong("load.inp dram=0x10000000 size=1x1") ==
        Texts{"the transfer ends at DRAM element 268435456 > 268435455, the last one of 16 bytes below address 2^32"});
  CHECK(wrong("load.inp dram=0xffffff0 size=3x2 stride=7").empty());
  CHECK(wrong("load.inp dram=0xffffff1 size=3x2 stride=7") ==
        Texts{"the transfer ends at DRAM element 268435456 > 268435455, the last one of 16 bytes below address 2^32"});
  CHECK(wrong("load.inp dram=0xffffffff size=0x1 pad=1,0,0,0").empty());  // nothing is read
  CHECK(wrong("store.out dram=0xffffffff size=1x1").size() == 1);
  const HardwareConfig wide = *load_config("1x16x16-wide");
  Load load;
  load.memory = Memory::inp;
  load.dram_base = (std::uint64_t{1} << 56) - 1;
  load.y_size = load.x_size = 0xffffff;
  load.x_stride = 0xffffffff;
  CHECK(wrong(wide, {{}, load}).size() == 2);
  // The last row begins at 2^16 * 2^16 = 2^32, which is 0 in 32 bits. (The other error is the size on chip.)
  load.dram_base = 0;
  load.y_size = 0x10001;
  load.x_size = 1;
  load.x_stride = 0x10000;
  HardwareConfig small = wide;
  small.address_bits = 32;
  CHECK(wrong(small, {{}, load}).size() == 2);
}

TEST_CASE("stores have no pads, instructions no foreign memory") {
  CHECK(wrong("store.out size=1x1 pad=0,0,0,1") == Texts{"a store has pads 0,0,0,1: they must be 0"});
  CHECK(wrong("store.out size=1x0 pad=0,0,0,1").empty());
  Load load;
  load.memory = Memory::out;
  load.x_size = 1;
  CHECK(wrong(HardwareConfig{}, {{}, load}) == Texts{"memory id 4 is not valid for load"});
}

TEST_CASE("micro-op ranges are within the buffer") {
  CHECK(wrong("gemm uop=3:3").empty());
  CHECK(wrong("gemm uop=4:3") == Texts{"uop_begin 4 > uop_end 3"});
  CHECK(wrong("alu.add uop=4:3 iter=0x0") == Texts{"uop_begin 4 > uop_end 3"});
  CHECK(wrong("alu.add uop=0:8192").empty());
  CHECK(wrong("alu.add uop=0:8193") ==
        Texts{"the instruction uses micro-op 8192 > 8191, the last one of the micro-op memory"});
  CHECK(wrong("gemm uop=0:8193 iter=0x5").empty());  // no trip, no micro-op
}

TEST_CASE("requant takes no immediate operand") {
  const HardwareConfig config = *load_config("1x16x16-ext");
  CHECK(wrong("alu.requant uop=0:1 zero_point=-3", config).empty());
  CHECK(
      wrong("alu.requant uop=0:1 imm=-3", config) ==
      Texts{"use_imm is 1 and must be 0 for requant: its operands start at acc[src], the immediate is its zero_point"});
}

TEST_CASE("operations of a row take no operand") {
  HardwareConfig config;
  config.requant = config.norm = true;
  CHECK(wrong("alu.rmax uop=0:1", config).empty());
  CHECK(wrong("alu.recip uop=0:1 exponent=-3", config).empty());
  CHECK(wrong("alu.rmax uop=0:1 imm=0", config) ==
        Texts{"use_imm is 1 and must be 0 for rmax: it has no second operand"});
  CHECK(wrong("alu.rsqrt uop=0:1 imm=20", config) ==
        Texts{"use_imm is 1 and must be 0 for rsqrt: it has no second operand"});
}

TEST_CASE("a load of the table is one element without pads") {
  HardwareConfig config;
  config.table = true;
  CHECK(wrong("load.tab dram=0x10 size=1x1", config).empty());
  CHECK(wrong("load.tab size=0x1", config).empty());  // nothing is loaded
  CHECK(wrong("load.tab size=1x0 pad=1,1,1,1", config).empty());
  CHECK(wrong("load.tab size=1x1 pad=0,0,1,0", config) ==
        Texts{"a load of tab has pads 0,0,1,0: they must be 0", "2 elements from 0 end at 2 > 1, the depth of tab"});
  CHECK(wrong("load.tab sram=1 size=1x1", config) == Texts{"1 elements from 1 end at 2 > 1, the depth of tab"});
  CHECK(wrong("load.tab size=1x2", config) == Texts{"2 elements from 0 end at 2 > 1, the depth of tab"});
  CHECK(wrong("load.tab dram=0x800000 size=1x1", config) ==
        Texts{"the transfer ends at DRAM element 8388608 > 8388607, the last one of 512 bytes below address 2^32"});
  Load load;
  load.memory = Memory::tab;
  load.y_size = load.x_size = 1;
  CHECK(wrong(HardwareConfig{}, {{}, load}) == Texts{"memory id 6 is not valid for load"});
}

TEST_CASE("both forms of the check agree on random instructions") {
  test::Random random(51);
  for (const HardwareConfig& config : test::named_and_random_configs(52, 20)) {
    const LegalityRules rules(config);
    for (int i = 0; i < 200; ++i) {
      const Instruction instruction = test::random_instruction(random, config);
      REQUIRE(rules.is_legal(instruction) == rules.check(instruction).empty());
    }
  }
}
