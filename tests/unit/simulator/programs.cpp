#include "tests/unit/simulator/programs.h"

#include "isa/codec.h"
#include "tests/catch.h"
#include "tests/unit/simulator/reference.h"

namespace dovetail::simulator::testing {

namespace {

template <typename Loop>
Loop once(std::uint32_t begin, std::uint32_t end) {
  Loop loop;
  loop.uop_begin = begin;
  loop.uop_end = end;
  loop.iter_out = loop.iter_in = 1;
  return loop;
}

template <typename Body>
Body row(isa::Memory memory, std::uint32_t sram, std::uint64_t dram, std::uint32_t x_size) {
  Body body;
  body.memory = memory;
  body.sram_base = sram;
  body.dram_base = dram;
  body.y_size = 1;
  body.x_size = body.x_stride = x_size;
  return body;
}

isa::HardwareConfig config_of(std::int64_t batch, std::int64_t in, std::int64_t out) {
  isa::HardwareConfig config;
  config.name = std::to_string(batch) + "x" + std::to_string(in) + "x" + std::to_string(out);
  config.batch = batch;
  config.block_in = in;
  config.block_out = out;
  config.uop_buffer_bytes = 1024;
  config.inp_buffer_bytes = 256 * batch * in;
  config.wgt_buffer_bytes = 256 * in * out;
  config.acc_buffer_bytes = 256 * batch * out * 4;
  return config;
}

}  // namespace

isa::Instruction load(isa::Memory memory, std::uint32_t sram, std::uint64_t dram, std::uint32_t x_size,
                      isa::DependencyFlags flags) {
  return {flags, row<isa::Load>(memory, sram, dram, x_size)};
}

isa::Instruction store(std::uint32_t sram, std::uint64_t dram, std::uint32_t x_size, isa::DependencyFlags flags) {
  return {flags, row<isa::Store>(isa::Memory::out, sram, dram, x_size)};
}

isa::Instruction nop(isa::Queue queue, isa::DependencyFlags flags) {
  if (queue == isa::Queue::store) return store(0, 0, 0, flags);
  return load(queue == isa::Queue::load ? isa::Memory::inp : isa::Memory::uop, 0, 0, 0, flags);
}

isa::Instruction finish() { return {{}, isa::Finish{}}; }

isa::Instruction gemm(std::uint32_t begin, std::uint32_t end, isa::DependencyFlags flags) {
  return {flags, once<isa::Gemm>(begin, end)};
}

isa::Instruction reset(std::uint32_t begin, std::uint32_t end, isa::DependencyFlags flags) {
  auto body = once<isa::Gemm>(begin, end);
  body.reset = true;
  return {flags, body};
}

isa::Instruction alu_imm(isa::AluOp op, std::int32_t imm, std::uint32_t begin, std::uint32_t end,
                         isa::DependencyFlags flags) {
  auto body = once<isa::Alu>(begin, end);
  body.op = op;
  body.use_imm = true;
  body.imm = imm;
  return {flags, body};
}

isa::Instruction alu(isa::AluOp op, std::uint32_t begin, std::uint32_t end, isa::DependencyFlags flags) {
  auto body = once<isa::Alu>(begin, end);
  body.op = op;
  return {flags, body};
}

Dram image(const isa::HardwareConfig& config, const std::vector<isa::Uop>& uops, std::size_t extra_bytes,
           std::uint32_t seed) {
  const isa::Codec codec(config);
  Dram dram{.base = kDramBase, .bytes = {}};
  for (const isa::Uop& uop : uops) REQUIRE(codec.encode(uop, dram.bytes).ok());
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < extra_bytes; ++i) dram.bytes.push_back(static_cast<std::byte>(random()));
  return dram;
}

std::uint64_t element_at(const isa::HardwareConfig& config, isa::Memory memory, std::uint64_t offset) {
  const auto size = static_cast<std::uint64_t>(config.element_bytes(memory));
  return (kDramBase + offset + size - 1) / size;
}

std::vector<isa::HardwareConfig> all_configs() {
  std::vector<isa::HardwareConfig> configs = isa::named_configs();
  for (const auto& odd : {config_of(1, 1, 1), config_of(1, 4, 4), config_of(16, 1, 8), config_of(2, 4, 32)}) {
    configs.push_back(odd);
    configs.back().weights4 = odd.block_in * odd.block_out > 1;
  }
  for (const isa::HardwareConfig& config : configs) REQUIRE(isa::validate(config).ok());
  return configs;
}

std::vector<KernelLevel> supported_levels() {
  std::vector<KernelLevel> levels;
  for (KernelLevel level : {KernelLevel::baseline, KernelLevel::avx2, KernelLevel::avx512vnni})
    if (is_supported(level)) levels.push_back(level);
  return levels;
}

FurtherEngines& further_engines() {
  static FurtherEngines engines;
  return engines;
}

Dram check_against_reference(const isa::HardwareConfig& config, const std::vector<isa::Instruction>& program,
                             const Dram& dram) {
  Dram expected = dram;
  Reference(config).run(program, expected);
  for (KernelLevel level : supported_levels()) {
    CAPTURE(config.name, name(level));
    Dram actual = dram;
    const auto counters = make_functional(config, {.kernel_level = level})->launch(program, actual);
    if (!counters.ok()) FAIL(to_string(counters.errors()));
    CHECK(actual.bytes == expected.bytes);
  }
  if (further_engines()) further_engines()(config, program, dram, expected);
  return expected;
}

std::string failure(const isa::HardwareConfig& config, const std::vector<isa::Instruction>& program, Dram dram,
                    std::size_t first_index) {
  const auto counters = make_functional(config)->launch(program, dram, first_index);
  return counters.ok() ? "no failure" : to_string(counters.errors());
}

}  // namespace dovetail::simulator::testing
