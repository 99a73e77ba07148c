// Random wrong programs on the SystemC platform: its registers must report the code and the instruction that isa/verify
// reports, as the design's registers do (the torture test).
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <systemc>

#include "isa/codec.h"
#include "isa/spec/registers.h"
#include "simulator/cycle/execution.h"
#include "simulator/engine_options.h"
#include "simulator/systemc/accelerator.h"
#include "simulator/systemc/dram.h"
#include "simulator/systemc/host.h"
#include "simulator/systemc/kernel.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"
#include "tests/generator/mutate.h"
#include "tests/generator/random.h"
#include "tests/torture/verdict.h"

namespace dovetail::test {

namespace {

using isa::spec::ErrorCode;

struct Reported {
  ErrorCode code = ErrorCode::none;
  std::uint32_t instruction = 0;
  bool operator==(const Reported&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Reported& reported) {
  return out << "code " << static_cast<int>(reported.code) << " at " << reported.instruction;
}

// The expected contents of the registers; nullopt: which error comes first depends on time, or there is none.
std::optional<Reported> expected(const GeneratedProgram& program) {
  const Judgment judgment = judge(program);
  const auto at = static_cast<std::uint32_t>(judgment.instruction.value_or(program.program.size()));
  switch (judgment.verdict) {
    case Verdict::right: return Reported{};
    case Verdict::illegal:
    case Verdict::undecodable: return Reported{ErrorCode::illegal, at};
    case Verdict::bus_error: return Reported{ErrorCode::decode_error, at};
    case Verdict::leftover:
      return judgment.racing ? std::nullopt : std::optional(Reported{ErrorCode::leftover_tokens, at});
    default: return std::nullopt;
  }
}

// Precondition: one launch.
Reported run_reported(const GeneratedProgram& program) {
  using namespace simulator;
  const isa::Codec codec(program.config);
  std::vector<std::byte> code = codec.encode_program(program.program).value();
  const auto size = static_cast<std::size_t>(program.config.instruction_bytes());
  for (const auto& [at, bytes] : program.patches)
    std::ranges::copy(bytes, code.begin() + static_cast<std::ptrdiff_t>(at * size));
  const std::uint64_t base = program_place(program.config, program.dram_base, program.dram.size(), code.size()).value();
  const std::uint64_t begin = std::min(program.dram_base, base),
                      end = std::max(program.dram_base + program.dram.size(), base + code.size());
  std::vector<std::byte> memory(end - begin);
  std::ranges::copy(program.dram, memory.begin() + static_cast<std::ptrdiff_t>(program.dram_base - begin));
  std::ranges::copy(code, memory.begin() + static_cast<std::ptrdiff_t>(base - begin));
  return systemc::in_fresh_kernel([&] {
    Execution execution(program.config, Values::computed);
    sc_core::sc_signal<bool> interrupt("interrupt");
    systemc::Host host("host", {.program_base = base, .count = static_cast<std::uint32_t>(program.program.size())});
    systemc::Accelerator accelerator(
        "accelerator", {.config = program.config, .image_base = program.dram_base, .image_bytes = program.dram.size()},
        execution);
    systemc::DramModule dram("dram", make_memory(IdealMemory{}, program.config.bus_bytes), begin, std::move(memory));
    host.registers.bind(accelerator.registers);
    host.interrupt.bind(interrupt);
    accelerator.interrupt.bind(interrupt);
    accelerator.memory.bind(dram.port);
    sc_core::sc_start();
    return Reported{static_cast<ErrorCode>(host.status() >> 4 & 0xf), host.error_instruction()};
  });
}

}  // namespace

TEST_CASE("SystemC: the registers report the error and the instruction of random wrong programs") {
  std::map<ErrorCode, int> found;
  for (std::uint64_t seed = 0; seed < scaled(120); ++seed) {
    Random random(seed);
    GeneratedProgram program = generate(random_config(seed), {.seed = seed, .size = 30, .launches = 1});
    if (!mutate(program, random)) continue;
    const auto stop = expected(program);
    if (!stop) continue;
    INFO(describe(program));
    const Reported reported = run_reported(program);
    REQUIRE(reported == *stop);
    ++found[reported.code];
  }
  for (const ErrorCode code : {ErrorCode::illegal, ErrorCode::decode_error, ErrorCode::leftover_tokens}) {
    CAPTURE(static_cast<int>(code));
    CHECK(found[code] > 0);
  }
}

}  // namespace dovetail::test
