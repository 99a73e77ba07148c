// LOAD and STORE, byte for byte: every memory, pads, strides, wrapping.
#include <algorithm>
#include <tuple>
#include <vector>

#include "tests/catch.h"
#include "tests/unit/simulator/programs.h"

namespace dovetail::simulator::testing {

namespace {

struct Pads {
  std::uint32_t top, bottom, left, right;
};

}  // namespace

TEST_CASE("a load puts zeros around its rows, in every memory and configuration") {
  for (const isa::HardwareConfig& config : all_configs()) {
    for (isa::Memory memory :
         {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc, isa::Memory::acc8, isa::Memory::wgt4}) {
      if (config.depth(memory) == 0) continue;
      for (Pads pads : {Pads{0, 0, 0, 0}, Pads{1, 0, 0, 0}, Pads{0, 1, 0, 0}, Pads{0, 0, 1, 0}, Pads{0, 0, 0, 1},
                        Pads{1, 1, 1, 1}}) {
        for (auto [y_size, x_size, x_stride] :
             {std::tuple{1u, 1u, 1u}, {2u, 1u, 3u}, {1u, 2u, 0u}, {2u, 2u, 5u}, {0u, 2u, 2u}}) {
          const std::uint32_t count = (pads.top + y_size + pads.bottom) * (pads.left + x_size + pads.right);
          const auto depth =
              static_cast<std::uint32_t>(std::min({config.depth(memory), config.depth(isa::Memory::acc),
                                                   config.depth(isa::Memory::inp), config.depth(isa::Memory::wgt)}));
          if (count == 0 || count > depth) continue;
          CAPTURE(static_cast<int>(memory), pads.top, pads.bottom, pads.left, pads.right, y_size, x_size, x_stride);
          std::vector<isa::Uop> uops;
          for (std::uint32_t i = 0; i < count; ++i) uops.push_back({.dst = i, .src = i, .wgt = i});
          const std::int64_t widest =
              std::max(config.element_bytes(isa::Memory::acc), config.element_bytes(isa::Memory::wgt));
          const Dram dram = image(config, uops, 40 * static_cast<std::size_t>(widest));
          const std::uint64_t data = uops.size() * static_cast<std::uint64_t>(config.uop_bytes());

          // Random elements everywhere, then the padded load over them. A GEMM shows the contents of INP and WGT:
          // micro-op i adds the product of INP i and WGT i to ACC i.
          std::vector<isa::Instruction> program{
              load(isa::Memory::uop, 0, element_at(config, isa::Memory::uop, 0), count)};
          for (isa::Memory any : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc})
            program.push_back(load(any, 0, element_at(config, any, data), count));
          isa::Load padded;
          padded.memory = memory;
          padded.dram_base = element_at(config, memory, data);
          padded.y_size = y_size, padded.x_size = x_size, padded.x_stride = x_stride;
          padded.y_pad_0 = pads.top, padded.y_pad_1 = pads.bottom, padded.x_pad_0 = pads.left,
          padded.x_pad_1 = pads.right;
          program.push_back({{}, padded});
          if (memory != isa::Memory::acc && memory != isa::Memory::acc8) program.push_back(gemm(0, count));
          program.push_back(store(0, element_at(config, isa::Memory::out, data), count));
          check_against_reference(config, program, dram);
        }
      }
    }
  }
}

TEST_CASE("micro-ops load in two dimensions, and pads are micro-ops of zeros") {
  for (const isa::HardwareConfig& config : all_configs()) {
    if (config.depth(isa::Memory::acc) < 4) continue;
    // Over A, B, C: two rows of one micro-op out of three, with a zero micro-op to the left: 0, A, 0, C.
    std::vector<isa::Uop> uops{{.dst = 1}, {.dst = 2}, {.dst = 3}};
    const Dram dram = image(config, uops, 64 * static_cast<std::size_t>(config.element_bytes(isa::Memory::acc)));
    isa::Load padded;
    padded.memory = isa::Memory::uop;
    padded.dram_base = element_at(config, isa::Memory::uop, 0);
    padded.y_size = 2, padded.x_size = 1, padded.x_stride = 2, padded.x_pad_0 = 1;
    const std::uint64_t data = 3 * static_cast<std::uint64_t>(config.uop_bytes());
    check_against_reference(config,
                            {load(isa::Memory::uop, 0, padded.dram_base, 3),
                             {{}, padded},
                             load(isa::Memory::acc, 0, element_at(config, isa::Memory::acc, data), 4),
                             alu_imm(isa::AluOp::add, 1, 0, 4),
                             store(0, element_at(config, isa::Memory::out, data), 4)},
                            dram);
  }
}

TEST_CASE("a store keeps the low bits, or saturates where requested") {
  const isa::HardwareConfig config = isa::load_config("1x16x16-ext").value();
  Dram dram = image(config, {}, 4096);
  for (std::size_t i = 0; i < 2048; ++i)
    dram.bytes[i] = static_cast<std::byte>(i % 4 < 2 ? i * 37 : i % 3 == 0 ? 0 : 0xff);
  isa::Instruction wrap = store(3, element_at(config, isa::Memory::out, 2048), 5),
                   saturate = store(3, element_at(config, isa::Memory::out, 3072), 5);
  std::get<isa::Store>(saturate.body).saturate = true;
  check_against_reference(
      config, {load(isa::Memory::acc, 0, element_at(config, isa::Memory::acc, 0), 16), wrap, saturate}, dram);
}

TEST_CASE("a strided store does not write the gaps, and y_size 0 or x_size 0 store nothing") {
  for (const isa::HardwareConfig& config : all_configs()) {
    const auto size = static_cast<std::size_t>(config.element_bytes(isa::Memory::acc));
    const Dram dram = image(config, {}, 32 * size);
    isa::Instruction strided = store(0, element_at(config, isa::Memory::out, 0), 1);
    std::get<isa::Store>(strided.body).y_size = 3;
    std::get<isa::Store>(strided.body).x_stride = 2;
    isa::Instruction no_rows = store(0, element_at(config, isa::Memory::out, 0), 1);
    std::get<isa::Store>(no_rows.body).y_size = 0;
    isa::Instruction no_columns = store(0, element_at(config, isa::Memory::out, 0), 0);
    check_against_reference(
        config,
        {load(isa::Memory::acc, 0, element_at(config, isa::Memory::acc, 8 * size), 4), strided, no_rows, no_columns},
        dram);
  }
}

TEST_CASE("x_size 0 loads nothing, whatever the other fields are") {
  const isa::HardwareConfig config;
  isa::Instruction nothing = load(isa::Memory::acc, 0, 0, 0);  // address 0 is outside the image
  auto& body = std::get<isa::Load>(nothing.body);
  body.y_size = 7, body.y_pad_0 = body.y_pad_1 = body.x_pad_0 = body.x_pad_1 = 3;
  const Dram dram = image(config, {}, 4096);
  const Dram after = check_against_reference(config,
                                             {load(isa::Memory::acc, 0, element_at(config, isa::Memory::acc, 0), 4),
                                              nothing, store(0, element_at(config, isa::Memory::out, 2048), 4)},
                                             dram);
  CHECK(after.bytes[2048] == dram.bytes[0]);
}

}  // namespace dovetail::simulator::testing
