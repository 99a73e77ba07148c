#include <fmt/format.h>

#include "isa/codec.h"
#include "isa/text.h"
#include "tests/catch.h"
#include "tests/unit/isa/random_instruction.h"

using namespace dovetail;
using namespace dovetail::isa;

namespace {

std::vector<std::byte> bytes_of(const Codec& codec, const Instruction& instruction) {
  std::vector<std::byte> bytes;
  const Result<void> encoded = codec.encode(instruction, bytes);
  INFO(to_string(encoded.errors()));
  REQUIRE(encoded.ok());
  return bytes;
}

void flip(std::vector<std::byte>& bytes, int bit) {
  bytes[static_cast<std::size_t>(bit / 8)] ^= std::byte{1} << (bit % 8);
}

Diagnostic only_error(const Diagnostics& errors) {
  REQUIRE(errors.size() == 1);
  return errors.front();
}

// Each field of Body at 0 and at its extremes, alone and with all other fields at their extremes.
template <typename Body>
void check_extremes(const Codec& codec) {
  const HardwareConfig& config = codec.config();
  test::for_each_present_field<Body>(config, [&](const auto& field, spec::Slot slot) {
    if (field.spec.name == "memory" || field.spec.name.starts_with("alu_opcode")) return;  // not every number is a name
    for (const std::uint64_t bits :
         {std::uint64_t{0}, std::uint64_t{1}, slot.mask() >> 1, (slot.mask() >> 1) + 1, slot.mask()}) {
      Body body;
      if constexpr (std::is_base_of_v<Transfer, Body>)
        body.memory = std::is_same_v<Body, Load> ? Memory::inp : Memory::out;
      using T = std::remove_reference_t<decltype(body.*field.member)>;
      body.*field.member = test::value_of<T>(bits, field.spec, slot);
      const Instruction instruction{{}, body};
      const std::vector<std::byte> bytes = bytes_of(codec, instruction);
      INFO(config.name << " " << field.spec.name << " = " << bits);
      // The value is in its bits, little-endian.
      std::uint64_t word = 0;
      for (std::size_t i = 0; i < 8; ++i)
        word |= std::to_integer<std::uint64_t>(bytes[static_cast<std::size_t>(8 * slot.word()) + i]) << (8 * i);
      CHECK(((word >> slot.shift()) & slot.mask()) == bits);
      const Result<Instruction> decoded = codec.decode(bytes);
      REQUIRE(decoded.ok());
      CHECK(*decoded == instruction);
    }
    // One beyond the extreme does not fit.
    using T = std::remove_reference_t<decltype(std::declval<Body&>().*field.member)>;
    if constexpr (!std::is_same_v<T, bool>) {
      if (slot.width >= static_cast<int>(8 * sizeof(T))) return;
      Body body;
      if constexpr (std::is_base_of_v<Transfer, Body>)
        body.memory = std::is_same_v<Body, Load> ? Memory::inp : Memory::out;
      const std::uint64_t most = field.spec.is_signed ? slot.mask() >> 1 : slot.mask();
      body.*field.member = static_cast<T>(most + 1);
      std::vector<std::byte> bytes;
      const Result<void> encoded = codec.encode(Instruction{{}, body}, bytes);
      const Diagnostic error = only_error(encoded.errors());
      CHECK(bytes.empty());
      CHECK(error.where == field.spec.name);
      CHECK(error.why == fmt::format("the value {} > {}, the largest value of {} bits", most + 1, most, slot.width));
    }
  });
}

}  // namespace

TEST_CASE("every field at its extremes, in every configuration") {
  for (const HardwareConfig& config : test::named_and_random_configs(21, 40)) {
    const Codec codec(config);
    check_extremes<Load>(codec);
    check_extremes<Store>(codec);
    check_extremes<Gemm>(codec);
    check_extremes<Alu>(codec);
    const spec::Layout uop = spec::uop_layout(config, config.encoding());
    std::uint32_t Uop::*const members[] = {&Uop::dst, &Uop::src, &Uop::wgt};
    for (std::size_t i = 0; i < 3; ++i) {
      Uop value;
      value.*members[i] = static_cast<std::uint32_t>(uop.slots[i].mask());
      std::vector<std::byte> bytes;
      REQUIRE(codec.encode(value, bytes).ok());
      CHECK(static_cast<std::int64_t>(bytes.size()) == config.uop_bytes());
      CHECK(codec.decode_uop(bytes) == value);
      value.*members[i] += 1;
      CHECK_FALSE(codec.encode(value, bytes).ok());
    }
  }
}

TEST_CASE("decoding inverts encoding") {
  test::Random random(31);
  for (const HardwareConfig& config : test::named_and_random_configs(32, 40)) {
    const Codec codec(config);
    std::vector<Instruction> program;
    for (int i = 0; i < 300; ++i) program.push_back(test::random_instruction(random, config));
    const Result<std::vector<std::byte>> bytes = codec.encode_program(program);
    REQUIRE(bytes.ok());
    CHECK(static_cast<std::int64_t>(bytes->size()) == 300 * config.instruction_bytes());
    const Result<std::vector<Instruction>> decoded = codec.decode_program(*bytes, "");
    REQUIRE(decoded.ok());
    CHECK(*decoded == program);
  }
}

TEST_CASE("encoding inverts decoding of every legal word, and a reserved bit is refused") {
  test::Random random(41);
  for (const HardwareConfig& config : test::named_and_random_configs(42, 40)) {
    const Codec codec(config);
    for (int i = 0; i < 200; ++i) {
      const Instruction instruction = test::random_instruction(random, config);
      std::vector<std::byte> bytes = bytes_of(codec, instruction);
      // Any other word with one bit changed is either refused or round-trips too: no bit is dropped.
      flip(bytes, static_cast<int>(random() % (8 * bytes.size())));
      const Result<Instruction> decoded = codec.decode(bytes);
      if (!decoded.ok()) {
        CHECK(decoded.errors().size() == 1);
        continue;
      }
      CHECK(bytes_of(codec, *decoded) == bytes);
    }
  }
}

TEST_CASE("a NOP keeps any memory id and pads") {
  const Codec codec{HardwareConfig{}};
  for (int id = 0; id < 8; ++id) {
    Load load;
    load.memory = static_cast<Memory>(id);
    load.y_size = 3;
    load.x_pad_1 = 15;
    Store store;
    store.memory = static_cast<Memory>(id);
    store.y_pad_0 = 1;
    for (const Instruction& instruction : {Instruction{{}, load}, Instruction{{}, store}}) {
      const Result<Instruction> decoded = codec.decode(bytes_of(codec, instruction));
      REQUIRE(decoded.ok());
      CHECK(*decoded == instruction);
    }
  }
}

TEST_CASE("decoding names the error") {
  const Codec codec{HardwareConfig{}};
  std::vector<std::byte> bytes = bytes_of(codec, {{}, Finish{}});
  SECTION("opcode") {
    bytes[0] = std::byte{7};
    CHECK(to_string(codec.decode(bytes).errors()) ==
          "error: cannot decode an instruction: opcode 7 > 6, the last one. Hint: check that the file is a "
          "program with this configuration's instruction size");
  }
  SECTION("reserved bit") {
    flip(bytes, 100);
    CHECK(only_error(codec.decode(bytes).errors()).why == "bit 100 of finish is 1 and reserved: it must be 0");
  }
  SECTION("reserved bits of loads and stores") {
    for (int bit = 58; bit < 63; ++bit) {
      bytes = bytes_of(codec, {{}, Load{}});
      flip(bytes, bit);
      CHECK(only_error(codec.decode(bytes).errors()).why ==
            fmt::format("bit {} of load is 1 and reserved: it must be 0", bit));
    }
  }
  SECTION("extension bits of disabled extensions") {
    bytes = bytes_of(codec, {{}, Gemm{}});
    flip(bytes, 63);
    CHECK(to_string(codec.decode(bytes).errors()) ==
          "error: cannot decode an instruction: bit 63 of gemm is `overwrite` of the extension `overwrite`, which is "
          "off. Hint: set \"overwrite\": "
          "true in the configuration, or clear the bit");
    bytes = bytes_of(codec, {{}, Store{{.memory = Memory::out}}});
    flip(bytes, 58);
    CHECK(only_error(codec.decode(bytes).errors()).why ==
          "bit 58 of store is `saturate` of the extension `saturate`, which is off");
  }
  SECTION("the same bits of enabled extensions") {
    const Codec extended(*load_config("1x16x16-ext"));
    bytes = bytes_of(codec, {{}, Gemm{}});
    flip(bytes, 63);
    REQUIRE(extended.decode(bytes).ok());
    CHECK(std::get<Gemm>(extended.decode(bytes)->body).overwrite);
    bytes = bytes_of(codec, {{}, Store{{.memory = Memory::out}}});
    flip(bytes, 58);
    REQUIRE(extended.decode(bytes).ok());
    CHECK(std::get<Store>(extended.decode(bytes)->body).saturate);
  }
  SECTION("ALU operation") {
    bytes = bytes_of(codec, {{}, Alu{{}, false, AluOp::add}});
    bytes[13] = std::byte{0x70};  // 108-110
    CHECK(only_error(codec.decode(bytes).errors()).why ==
          "ALU operation 7 (tableu) belongs to the extension `table`, which is off");
    bytes[13] = std::byte{0x50};
    CHECK(only_error(codec.decode(bytes).errors()).why ==
          "ALU operation 5 (requant) belongs to the extension `requant`, which is off");
    flip(bytes, 63);
    CHECK(only_error(codec.decode(bytes).errors()).why ==
          "bit 63 of alu is `alu_opcode_high` of the extension `norm`, which is off");
    HardwareConfig config;
    config.requant = config.norm = true;
    REQUIRE(Codec(config).decode(bytes).ok());
    CHECK(std::get<Alu>(Codec(config).decode(bytes)->body).op == AluOp::rsqrt);
    bytes[13] = std::byte{0x60};
    CHECK(only_error(Codec(config).decode(bytes).errors()).why == "ALU operation 14 > 13, the last one");
  }
  SECTION("memory id") {
    Load load;
    load.x_size = 1;
    bytes = bytes_of(codec, {{}, load});
    bytes[0] = std::byte{0};
    bytes[1] = std::byte{2};  // 4 in bits 7-9: OUT
    CHECK(only_error(codec.decode(bytes).errors()).why ==
          "memory id 4 (out) is not valid for load, which accepts 0 (uop), 1 (wgt), 2 (inp), 3 (acc), 5 (acc8)");
    Store store;
    store.memory = Memory::out;
    store.x_size = 1;
    bytes = bytes_of(codec, {{}, store});
    bytes[1] = std::byte{3};
    bytes[0] = std::byte{0x81};  // 7
    CHECK(only_error(codec.decode(bytes).errors()).why ==
          "memory id 7 (wgt4) is not valid for store, which accepts 4 (out)");
    bytes = bytes_of(codec, {{}, load});
    bytes[0] = std::byte{0x80};
    bytes[1] = std::byte{3};  // 7 in bits 7-9
    CHECK(only_error(codec.decode(bytes).errors()).why ==
          "memory id 7 (wgt4) belongs to the extension `weights4`, which is off");
    HardwareConfig config;
    config.weights4 = true;
    CHECK(std::get<Load>(Codec(config).decode(bytes)->body).memory == Memory::wgt4);
  }
  SECTION("offset") {
    HardwareConfig config;
    config.offset = true;
    for (const Instruction& instruction : {Instruction{{}, Load{}}, Instruction{{}, Store{}}}) {
      bytes = bytes_of(codec, instruction);
      flip(bytes, 63);
      CHECK(only_error(codec.decode(bytes).errors()).why ==
            fmt::format("bit 63 of {} is `offset` of the extension `offset`, which is off",
                        spec::info(instruction.opcode()).name));
      const Instruction decoded = *Codec(config).decode(bytes);
      CHECK(std::visit(
          [](const auto& body) {
            if constexpr (requires { body.offset; }) return body.offset;
            else return false;
          },
          decoded.body));
    }
  }
  SECTION("size") {
    bytes.pop_back();
    CHECK(only_error(codec.decode(bytes).errors()).why == "15 bytes were given, but an instruction of 1x16x16 has 16");
    CHECK(only_error(codec.decode_program(bytes, "p.bin").errors()).why ==
          "15 bytes are not a multiple of 16, the size of an instruction of 1x16x16");
  }
}

TEST_CASE("errors of a program name the instruction") {
  const Codec codec{HardwareConfig{}};
  std::vector<std::byte> bytes(64 * 16);
  for (std::size_t i = 0; i < 64; ++i) bytes[16 * i] = std::byte{3};
  bytes[16 * 5] = std::byte{7};
  bytes[16 * 9 + 15] = std::byte{0x80};
  const Diagnostics errors = codec.decode_program(bytes, "p.bin").errors();
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].where == "p.bin, instruction 5");
  CHECK(errors[0].why == "opcode 7 > 6, the last one");
  CHECK(errors[1].where == "p.bin, instruction 9");
  CHECK(errors[1].why == "bit 127 of finish is 1 and reserved: it must be 0");

  Gemm gemm;
  gemm.iter_in = 16384;
  const Diagnostics encoding = codec.encode_program(std::vector<Instruction>{{{}, Finish{}}, {{}, gemm}}).errors();
  REQUIRE(encoding.size() == 1);
  CHECK(to_string(encoding[0]) ==
        "error: cannot encode `gemm uop=0:0 iter=0x16384` (instruction 1, iter_in): the value 16384 > 16383, the "
        "largest value of 14 bits. Hint: split the "
        "instruction, or choose a configuration with wider fields");
}

TEST_CASE("an instruction of a disabled extension cannot be encoded") {
  const Codec codec{HardwareConfig{}};
  std::vector<std::byte> bytes;
  Gemm gemm;
  gemm.overwrite = true;
  CHECK(only_error(codec.encode({{}, gemm}, bytes).errors()).why ==
        "the field belongs to the extension `overwrite`, which is off");
  Alu alu;
  alu.op = AluOp::requant;
  CHECK(only_error(codec.encode({{}, alu}, bytes).errors()).why ==
        "ALU operation 5 (requant) belongs to the extension `requant`, which is off");
  alu.op = AluOp::radd;
  CHECK(only_error(codec.encode({{}, alu}, bytes).errors()).why ==
        "ALU operation 11 (radd) belongs to the extension `norm`, which is off");
  alu.op = static_cast<AluOp>(16);
  CHECK(only_error(codec.encode({{}, alu}, bytes).errors()).why == "ALU operation 16 > 13, the last one");
  Load load;
  load.memory = Memory::out;
  load.x_size = 1;
  CHECK(only_error(codec.encode({{}, load}, bytes).errors()).why ==
        "memory id 4 (out) is not valid for load, which accepts 0 (uop), 1 (wgt), 2 (inp), 3 (acc), 5 (acc8)");
  CHECK(bytes.empty());
}

TEST_CASE("an instruction goes to the queue of its unit") {
  const auto queue = [](Memory memory) {
    Load load;
    load.memory = memory;
    return Instruction{{}, load}.queue();
  };
  CHECK(queue(Memory::inp) == Queue::load);
  CHECK(queue(Memory::wgt) == Queue::load);
  CHECK(queue(Memory::uop) == Queue::compute);
  CHECK(queue(Memory::acc) == Queue::compute);
  CHECK(queue(Memory::acc8) == Queue::compute);
  CHECK(queue(Memory::wgt4) == Queue::compute);  // a NOP
  CHECK(Instruction{{}, Load{{.memory = Memory::wgt4, .y_size = 1, .x_size = 1}}}.queue() == Queue::load);
  CHECK(Instruction{{}, Store{}}.queue() == Queue::store);
  CHECK(Instruction{{}, Gemm{}}.queue() == Queue::compute);
  CHECK(Instruction{{}, Alu{}}.queue() == Queue::compute);
  CHECK(Instruction{{}, Finish{}}.queue() == Queue::compute);
}
