// A race-free program gives one result: in every execution order, on every kernel level, and by the reference.
#include <random>
#include <vector>

#include "isa/verify.h"
#include "tests/catch.h"
#include "tests/unit/simulator/programs.h"
#include "tests/unit/simulator/reference.h"

namespace dovetail::simulator::testing {

namespace {

// Tiles through two contexts, as in double buffering: loads of one run during the computation of the other.
std::vector<isa::Instruction> double_buffered(const isa::HardwareConfig& config, std::uint64_t data,
                                              std::uint32_t tiles, std::mt19937& random) {
  const std::uint64_t inp = element_at(config, isa::Memory::inp, data),
                      wgt = element_at(config, isa::Memory::wgt, data);
  const std::uint64_t out = element_at(config, isa::Memory::out, data);
  std::vector<isa::Instruction> program{load(isa::Memory::uop, 0, element_at(config, isa::Memory::uop, 0), 4),
                                        nop(isa::Queue::compute, kPushPrev), nop(isa::Queue::compute, kPushPrev),
                                        nop(isa::Queue::store, kPushPrev), nop(isa::Queue::store, kPushPrev)};
  for (std::uint32_t tile = 0; tile < tiles; ++tile) {
    const std::uint32_t context = tile % 2;
    program.push_back(load(isa::Memory::inp, 2 * context, inp + random() % 4, 2, kPopNext));
    program.push_back(load(isa::Memory::wgt, 2 * context, wgt + random() % 2, 2, kPushNext));
    program.push_back(reset(2 * context, 2 * context + 2, {.pop_prev = true, .pop_next = true}));
    program.push_back(gemm(2 * context, 2 * context + 2, kPushPrev));
    program.push_back(
        alu_imm(isa::AluOp::shr, static_cast<std::int32_t>(random() % 8), 2 * context, 2 * context + 2, kPushNext));
    program.push_back(store(2 * context, out + 2 * tile, 2, {.pop_prev = true, .push_prev = true}));
  }
  program.push_back(nop(isa::Queue::load, {.pop_next = true}));
  program.push_back(nop(isa::Queue::load, {.pop_next = true}));
  program.push_back(nop(isa::Queue::compute, kPopNext));
  program.push_back(nop(isa::Queue::compute, kPopNext));
  program.push_back(finish());
  return program;
}

}  // namespace

TEST_CASE("double-buffered programs give one result in every order and on every level") {
  std::mt19937 random(3);
  for (const isa::HardwareConfig& config : all_configs()) {
    if (config.depth(isa::Memory::inp) < 4 || config.depth(isa::Memory::wgt) < 4 || config.depth(isa::Memory::acc) < 4)
      continue;
    // Micro-op i works on element i of every memory; reads are from the front of the data, results overwrite it only
    // where no later tile reads.
    const std::uint64_t data = 4 * static_cast<std::uint64_t>(config.uop_bytes());
    const auto extra = static_cast<std::size_t>(8 * config.element_bytes(isa::Memory::wgt) +
                                                64 * config.element_bytes(isa::Memory::inp) +
                                                64 * config.element_bytes(isa::Memory::out));
    const Dram dram = image(config, {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {3, 3, 3}}, extra);
    std::vector<isa::Instruction> program = double_buffered(config, data, 9, random);
    const std::uint64_t results = element_at(config, isa::Memory::out, data + extra / 2);
    for (isa::Instruction& instruction : program)
      if (auto* body = std::get_if<isa::Store>(&instruction.body); body != nullptr && body->x_size != 0)
        body->dram_base += results - element_at(config, isa::Memory::out, data);
    CAPTURE(config.name);
    const isa::VerifyReport report =
        isa::verify(config, program, {.launches = {}, .dram = isa::DramImage{dram.base, dram.bytes}});
    for (const isa::Finding& finding : report.findings) FAIL(to_string(finding.diagnostic));

    const Dram expected = check_against_reference(config, program, dram);
    for (ExecutionOrder order : {ExecutionOrder::load_first, ExecutionOrder::store_first}) {
      Dram actual = dram;
      REQUIRE(make_functional(config, {.order = order})->launch(program, actual).ok());
      CHECK(actual.bytes == expected.bytes);
    }
  }
}

}  // namespace dovetail::simulator::testing
