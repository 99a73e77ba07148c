#include "isa/spec/range.h"

#include "base/check.h"
#include "isa/codec.h"
#include "tests/catch.h"

using namespace dovetail::isa;
using spec::FieldRange;
using spec::range_of;

namespace {

HardwareConfig named(std::string_view name) {
  for (const HardwareConfig& config : named_configs())
    if (config.name == name) return config;
  throw dovetail::InternalError(std::string(name));
}

}  // namespace

TEST_CASE("a field's range follows the encoding") {
  const HardwareConfig compact = named("1x16x16"), wide = named("1x16x16-wide");
  CHECK(range_of<Load, &Load::x_pad_0>(compact) == FieldRange{0, 15});
  CHECK(range_of<Load, &Load::x_pad_0>(wide) == FieldRange{0, 255});
  CHECK(range_of<Load, &Load::x_size>(compact) == FieldRange{0, 65535});
  CHECK(range_of<Load, &Load::x_size>(wide) == FieldRange{0, (1 << 24) - 1});
  CHECK(range_of<Gemm, &Gemm::iter_in>(compact) == FieldRange{0, 16383});
  CHECK(range_of<Gemm, &Gemm::iter_in>(wide) == FieldRange{0, 65535});
  CHECK(range_of<Alu, &Alu::imm>(compact) == FieldRange{-32768, 32767});
  CHECK(range_of<Alu, &Alu::imm>(wide) == FieldRange{-32768, 32767});
  CHECK(range_of<Store, &Store::dram_base>(wide) == FieldRange{0, (std::int64_t{1} << 56) - 1});
}

TEST_CASE("a field's range follows buffers and extensions") {
  HardwareConfig config = named("1x16x16");
  CHECK(range_of<Gemm, &Gemm::uop_end>(config).most == 2 * config.depth(Memory::uop) - 1);
  CHECK(range_of<Gemm, &Gemm::wgt_factor_out>(config).most == config.depth(Memory::wgt) - 1);
  CHECK(range_of<Store, &Store::saturate>(config) == FieldRange{});
  config.saturate = true;
  CHECK(range_of<Store, &Store::saturate>(config) == FieldRange{0, 1});
}

TEST_CASE("the codec accepts the ends of a field's range and nothing beyond") {
  for (const HardwareConfig& config : named_configs()) {
    INFO(config.name);
    const Codec codec(config);
    const auto takes = [&](const Instruction& instruction) {
      std::vector<std::byte> bytes;
      return codec.encode(instruction, bytes).ok();
    };
    const auto with_imm = [](std::int64_t value) {
      Alu alu;
      alu.use_imm = true;
      alu.imm = static_cast<std::int32_t>(value);
      return Instruction{{}, alu};
    };
    const auto with_trips = [](std::int64_t value) {
      Gemm gemm;
      gemm.iter_out = static_cast<std::uint32_t>(value);
      return Instruction{{}, gemm};
    };
    const FieldRange imm = range_of<Alu, &Alu::imm>(config), trips = range_of<Gemm, &Gemm::iter_out>(config);
    CHECK(takes(with_imm(imm.least)));
    CHECK(takes(with_imm(imm.most)));
    CHECK(!takes(with_imm(imm.least - 1)));
    CHECK(!takes(with_imm(imm.most + 1)));
    CHECK(takes(with_trips(trips.most)));
    CHECK(!takes(with_trips(trips.most + 1)));
  }
}
