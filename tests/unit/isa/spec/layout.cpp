// Bit positions, compared with VTA's own C bit-fields and with the list of its default configuration.
#include <cstring>
#include <map>
#include <string>

#include "isa/spec/layout.h"
#include "tests/catch.h"
#include "tests/unit/isa/random_instruction.h"

using namespace dovetail;
using namespace dovetail::isa;

namespace {

// VTA's hw_spec.h as the compiler lays it out, with the widths (log2 of the depths) as template parameters.
template <int kUop, int kInp, int kWgt, int kAcc>
struct Vta {
  struct Mem {
    std::uint64_t opcode : 3, pop_prev : 1, pop_next : 1, push_prev : 1, push_next : 1, memory : 3, sram_base : 16,
        dram_base : 32;
    std::uint64_t y_size : 16, x_size : 16, x_stride : 16, y_pad_0 : 4, y_pad_1 : 4, x_pad_0 : 4, x_pad_1 : 4;
  };
  struct Gem {
    std::uint64_t opcode : 3, pop_prev : 1, pop_next : 1, push_prev : 1, push_next : 1, reset : 1;
    std::uint64_t uop_begin : kUop, uop_end : kUop + 1, iter_out : 14, iter_in : 14;
    std::uint64_t dst_factor_out : kAcc,
                                   dst_factor_in : kAcc,
                                                   src_factor_out : kInp,
                                                                    src_factor_in : kInp,
                                                                                    wgt_factor_out : kWgt,
                                                                                                     wgt_factor_in
        : kWgt;
  };
  struct AluInsn {
    std::uint64_t opcode : 3, pop_prev : 1, pop_next : 1, push_prev : 1, push_next : 1, reset : 1;
    std::uint64_t uop_begin : kUop, uop_end : kUop + 1, iter_out : 14, iter_in : 14;
    std::uint64_t dst_factor_out : kAcc,
                                   dst_factor_in : kAcc,
                                                   src_factor_out : kAcc,
                                                                    src_factor_in : kAcc,
                                                                                    alu_opcode : 3,
                                                                                    use_imm : 1;
    std::int64_t imm : 16;
  };
  struct MicroOp {
    std::uint32_t dst : kAcc, src : (kAcc > kInp ? kAcc : kInp), wgt : kWgt;
  };
};

// Fills both forms with the same random values and compares the bytes.
template <int kUop, int kInp, int kWgt, int kAcc>
void compare_with_vta(const HardwareConfig& config) {
  using V = Vta<kUop, kInp, kWgt, kAcc>;
  static_assert(sizeof(typename V::Mem) == 16 && sizeof(typename V::MicroOp) == 4);
  REQUIRE(config.encoding() == Encoding::compact);
  const Codec codec(config);
  test::Random random(7);
  const auto check = [&](const Instruction& instruction, const auto& vta) {
    std::byte expected[16] = {};
    static_assert(sizeof vta <= 16);
    std::memcpy(expected, &vta, sizeof vta);
    std::vector<std::byte> bytes;
    REQUIRE(codec.encode(instruction, bytes).ok());
    REQUIRE(bytes.size() == 16);
    CHECK(std::memcmp(bytes.data(), expected, 16) == 0);
  };
  for (int round = 0; round < 300; ++round) {
    const Instruction instruction = test::random_instruction(random, config);
    const auto header = [&](auto& vta) {
      vta.opcode = static_cast<unsigned>(instruction.opcode());
      vta.pop_prev = instruction.flags.pop_prev;
      vta.pop_next = instruction.flags.pop_next;
      vta.push_prev = instruction.flags.push_prev;
      vta.push_next = instruction.flags.push_next;
    };
    const auto loop = [&](auto& vta, const UopLoop& body) {
      vta.uop_begin = body.uop_begin;
      vta.uop_end = body.uop_end;
      vta.iter_out = body.iter_out;
      vta.iter_in = body.iter_in;
      vta.dst_factor_out = body.dst_factor_out;
      vta.dst_factor_in = body.dst_factor_in;
      vta.src_factor_out = body.src_factor_out;
      vta.src_factor_in = body.src_factor_in;
    };
    std::visit(
        [&]<typename Body>(const Body& body) {
          if constexpr (std::is_base_of_v<Transfer, Body>) {
            typename V::Mem vta{};
            header(vta);
            vta.memory = static_cast<unsigned>(body.memory);
            vta.sram_base = body.sram_base;
            vta.dram_base = body.dram_base;
            vta.y_size = body.y_size;
            vta.x_size = body.x_size;
            vta.x_stride = body.x_stride;
            vta.y_pad_0 = body.y_pad_0;
            vta.y_pad_1 = body.y_pad_1;
            vta.x_pad_0 = body.x_pad_0;
            vta.x_pad_1 = body.x_pad_1;
            check(instruction, vta);
          } else if constexpr (std::is_same_v<Body, Gemm>) {
            typename V::Gem vta{};
            header(vta);
            loop(vta, body);
            vta.reset = body.reset;
            vta.wgt_factor_out = body.wgt_factor_out;
            vta.wgt_factor_in = body.wgt_factor_in;
            check(instruction, vta);
          } else if constexpr (std::is_same_v<Body, Alu>) {
            typename V::AluInsn vta{};
            header(vta);
            loop(vta, body);
            vta.reset = body.reset;
            vta.alu_opcode = static_cast<unsigned>(body.op);
            vta.use_imm = body.use_imm;
            vta.imm = body.imm;
            check(instruction, vta);
          } else {
            typename V::Gem vta{};
            header(vta);
            check(instruction, vta);
          }
        },
        instruction.body);

    typename V::MicroOp vta{};
    const Uop uop{static_cast<std::uint32_t>(random() >> 1) & ((1u << kAcc) - 1),
                  static_cast<std::uint32_t>(random() >> 1) & ((1u << (kAcc > kInp ? kAcc : kInp)) - 1),
                  static_cast<std::uint32_t>(random() >> 1) & ((1u << kWgt) - 1)};
    vta.dst = uop.dst;
    vta.src = uop.src;
    vta.wgt = uop.wgt;
    std::vector<std::byte> bytes;
    REQUIRE(codec.encode(uop, bytes).ok());
    REQUIRE(bytes.size() == 4);
    CHECK(std::memcmp(bytes.data(), &vta, 4) == 0);
    CHECK(codec.decode_uop(bytes) == uop);
  }
}

HardwareConfig sized(int batch_log2, int in_log2, int out_log2, int uop_log2, int inp_log2, int wgt_log2,
                     int acc_log2) {
  HardwareConfig config;
  config.batch = 1 << batch_log2;
  config.block_in = 1 << in_log2;
  config.block_out = 1 << out_log2;
  config.uop_buffer_bytes = 1 << uop_log2;
  config.inp_buffer_bytes = 1 << inp_log2;
  config.wgt_buffer_bytes = 1 << wgt_log2;
  config.acc_buffer_bytes = 1 << acc_log2;
  REQUIRE(validate(config).ok());
  return config;
}

}  // namespace

TEST_CASE("the compact encoding is VTA's, byte for byte") {
  SECTION("1x16x16") { compare_with_vta<13, 11, 10, 11>(HardwareConfig{}); }
  SECTION("4x8x8") { compare_with_vta<13, 11, 10, 11>(*load_config("4x8x8")); }
  SECTION("1x8x8") { compare_with_vta<13, 11, 10, 11>(*load_config("1x8x8")); }
  SECTION("1x32x16: narrower factors") { compare_with_vta<13, 10, 9, 11>(*load_config("1x32x16")); }
  SECTION("1x32x32") { compare_with_vta<13, 11, 9, 11>(*load_config("1x32x32")); }
  SECTION("tiny: factors begin in word 0") { compare_with_vta<4, 4, 3, 4>(*load_config("tiny")); }
  SECTION("INP deeper than ACC") { compare_with_vta<10, 12, 8, 9>(sized(0, 4, 4, 12, 16, 16, 15)); }
  SECTION("UOP so deep that iter_in moves to word 1") { compare_with_vta<14, 8, 8, 7>(sized(0, 4, 4, 16, 12, 16, 13)); }
  SECTION("a factor straddles and moves") { compare_with_vta<11, 5, 7, 6>(sized(0, 4, 4, 13, 9, 15, 12)); }
}

TEST_CASE("the default configuration has VTA's published positions") {
  const HardwareConfig config;
  const auto places = [&](Opcode opcode) {
    std::map<std::string, std::string> found;
    const spec::Layout layout = spec::instruction_layout(opcode, config, Encoding::compact);
    const auto fields = spec::info(opcode).fields;
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (layout.slots[i].width > 0)
        found[std::string(fields[i].name)] =
            std::to_string(layout.slots[i].bit) + "-" + std::to_string(layout.slots[i].bit + layout.slots[i].width - 1);
    return found;
  };
  using Places = std::map<std::string, std::string>;
  const Places transfer{{"memory", "7-9"},      {"sram_base", "10-25"}, {"dram_base", "26-57"}, {"y_size", "64-79"},
                        {"x_size", "80-95"},    {"x_stride", "96-111"}, {"y_pad_0", "112-115"}, {"y_pad_1", "116-119"},
                        {"x_pad_0", "120-123"}, {"x_pad_1", "124-127"}};
  CHECK(places(Opcode::load) == transfer);
  CHECK(places(Opcode::store) == transfer);
  CHECK(places(Opcode::gemm) == Places{{"reset", "7-7"},
                                       {"uop_begin", "8-20"},
                                       {"uop_end", "21-34"},
                                       {"iter_out", "35-48"},
                                       {"iter_in", "49-62"},
                                       {"dst_factor_out", "64-74"},
                                       {"dst_factor_in", "75-85"},
                                       {"src_factor_out", "86-96"},
                                       {"src_factor_in", "97-107"},
                                       {"wgt_factor_out", "108-117"},
                                       {"wgt_factor_in", "118-127"}});
  CHECK(places(Opcode::alu) == Places{{"reset", "7-7"},
                                      {"uop_begin", "8-20"},
                                      {"uop_end", "21-34"},
                                      {"iter_out", "35-48"},
                                      {"iter_in", "49-62"},
                                      {"dst_factor_out", "64-74"},
                                      {"dst_factor_in", "75-85"},
                                      {"src_factor_out", "86-96"},
                                      {"src_factor_in", "97-107"},
                                      {"alu_opcode", "108-110"},
                                      {"use_imm", "111-111"},
                                      {"imm", "112-127"}});
  const spec::Layout uop = spec::uop_layout(config, Encoding::compact);
  CHECK(uop.slots[0] == spec::Slot{0, 11});
  CHECK(uop.slots[1] == spec::Slot{11, 11});
  CHECK(uop.slots[2] == spec::Slot{22, 10});
}

TEST_CASE("extension bits have the designed positions") {
  const HardwareConfig config = *load_config("1x16x16-ext");
  const auto slot = [&](Opcode opcode, std::string_view name) {
    const auto fields = spec::info(opcode).fields;
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (fields[i].name == name) return spec::instruction_layout(opcode, config, config.encoding()).slots[i];
    return spec::Slot{};
  };
  CHECK(slot(Opcode::store, "saturate") == spec::Slot{58, 1});
  CHECK(slot(Opcode::gemm, "overwrite") == spec::Slot{63, 1});
}

TEST_CASE("a packed field makes room for the bit of an enabled extension") {
  HardwareConfig config = *load_config("tiny");  // wgt_factor_out is in bits 61-63 without the extension
  config.overwrite = true;
  REQUIRE(validate(config).ok());
  const spec::Layout layout = spec::instruction_layout(Opcode::gemm, config, config.encoding());
  const auto fields = spec::info(Opcode::gemm).fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == "wgt_factor_out") CHECK(layout.slots[i] == spec::Slot{64, 3});
    if (fields[i].name == "overwrite") CHECK(layout.slots[i] == spec::Slot{63, 1});
  }
}

TEST_CASE("no field overlaps another, straddles a word or leaves its instruction") {
  for (const HardwareConfig& config : test::named_and_random_configs(11, 200)) {
    const Encoding encoding = config.encoding();
    for (const spec::InstructionSpec& instruction : spec::kInstructions) {
      INFO(config_to_json(config).dump() << " " << instruction.name);
      const spec::Layout layout = spec::instruction_layout(instruction.opcode, config, encoding);
      std::array<std::uint64_t, spec::kMaxWords> used{(1u << spec::kHeaderBits) - 1};
      for (const spec::Slot slot : layout.slots) {
        if (slot.width == 0) continue;
        REQUIRE(slot.shift() + slot.width <= 64);
        REQUIRE(slot.bit + slot.width <= 8 * config.instruction_bytes());
        const std::uint64_t bits = slot.mask() << slot.shift();
        REQUIRE((used[static_cast<std::size_t>(slot.word())] & bits) == 0);
        used[static_cast<std::size_t>(slot.word())] |= bits;
      }
    }
    REQUIRE(spec::uop_layout(config, encoding).end <= 8 * config.uop_bytes());
  }
}

TEST_CASE("a configuration without room in the compact form is wide") {
  HardwareConfig config;
  CHECK(config.encoding() == Encoding::compact);
  SECTION("micro-ops of 33 bits") { config.wgt_buffer_bytes *= 2; }
  SECTION("addresses beyond dram_base: 2^34 micro-ops of 4 bytes") { config.address_bits = 35; }
  SECTION("ALU word 1: 4 factors of 12 bits and 20 more") {
    config.acc_buffer_bytes *= 2, config.wgt_buffer_bytes /= 16;
  }
  REQUIRE(validate(config).ok());
  if (config == HardwareConfig{}) return;  // the run without a section
  CHECK(config.encoding() == Encoding::wide);
  CHECK(config.instruction_bytes() == 32);
  CHECK(config.uop_bytes() == 8);
  CHECK(config.depth(Memory::uop) == 4096);
}
