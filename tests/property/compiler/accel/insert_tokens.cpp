// Tokens of random streams: isa/verify has no finding, and reports a fault if any token is removed.
#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/target/accel/stream/stream.h"
#include "isa/text.h"
#include "isa/verify/accesses.h"
#include "isa/verify/token_machine.h"
#include "isa/verify/uop_buffer.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"
#include "tests/generator/random.h"

using namespace dovetail;
using dovetail::test::GeneratedProgram;

namespace {

// A serially correct program without its tokens.
accel::Stream stream_of(const GeneratedProgram& program) {
  accel::Stream stream;
  isa::UopBuffer uops(program.config, program.image());
  for (isa::Instruction instruction : program.program) {
    instruction.flags = {};
    if (const auto* load = std::get_if<isa::Load>(&instruction.body); load && load->memory == isa::Memory::uop)
      uops.load(*load);
    int kernel = -1;
    if (const isa::UopLoop* loop = isa::uop_loop(instruction)) {
      const auto contents = uops.kernel(loop->uop_begin, loop->uop_end).value();
      std::vector<isa::Uop> kernel_uops(contents.begin(), contents.end());
      if (isa::has_epilogue(instruction))  // its parameters, which without steps nothing reads
        kernel_uops.push_back(isa::zero_trip(*loop) ? isa::Uop{} : uops[loop->uop_end]);
      kernel = stream.kernel(std::move(kernel_uops));
    }
    stream.instructions.push_back({std::move(instruction), kernel});
  }
  return stream;
}

std::vector<isa::Instruction> program_of(const accel::Stream& stream) {
  std::vector<isa::Instruction> program;
  for (const accel::StreamInstruction& item : stream.instructions) program.push_back(item.instruction);
  return program;
}

std::string findings(const GeneratedProgram& generated, const std::vector<isa::Instruction>& program) {
  const isa::VerifyReport report = isa::verify(generated.config, program, {.dram = generated.image()});
  return report.clean() ? "" : to_string(report.findings.front().diagnostic);
}

// Removes the k-th push of a FIFO, and the matching pop.
std::vector<isa::Instruction> without(std::vector<isa::Instruction> program, isa::TokenFifo fifo, std::size_t k) {
  const bool downwards = isa::producer(fifo) < isa::consumer(fifo);
  std::size_t pushes = 0, pops = 0;
  for (isa::Instruction& instruction : program) {
    const isa::TokenUse use = isa::token_use(instruction);
    if (use.pushes_to(fifo) && pushes++ == k)
      (downwards ? instruction.flags.push_next : instruction.flags.push_prev) = false;
    if (use.pops_from(fifo) && pops++ == k)
      (downwards ? instruction.flags.pop_prev : instruction.flags.pop_next) = false;
  }
  return program;
}

}  // namespace

TEST_CASE("tokens of random streams suffice, and each is needed") {
  std::size_t tokens = 0, relays = 0, made_to_wait = 0, limited = 0, taken_out = 0;
  for (std::uint64_t seed = 0; seed < test::scaled(700); ++seed) {
    isa::HardwareConfig config = test::random_config(seed);
    const GeneratedProgram generated =
        test::generate(config, {.seed = seed, .size = 60, .launches = 1, .extra_percent = 0, .interleave = false});
    accel::Stream stream = stream_of(generated);
    const std::size_t size = stream.instructions.size();
    const accel::TokenStatistics statistics = accel::insert_tokens(stream, config);
    const std::vector<isa::Instruction> program = program_of(stream);
    INFO("seed " << seed << "\n" << isa::format_assembly(config, program));
    REQUIRE(findings(generated, program) == "");
    CHECK(program.size() == size + statistics.relays_by_nop);
    tokens += statistics.all_tokens();
    relays += statistics.relays_by_waiting;
    made_to_wait += statistics.relays_by_made_to_wait;
    limited += statistics.limited_by_depth;
    // A relay that is moved later may imply an ordering that an existing token already gives.
    if (statistics.limited_by_depth || statistics.relays_by_made_to_wait != 0) continue;
    for (const isa::TokenFifo fifo : isa::kAllFifos) {
      const std::size_t there = statistics.tokens[isa::index(fifo)];
      if (there == 0) continue;
      const std::size_t k = seed % there;
      INFO("without token " << k << " of FIFO " << isa::index(fifo));
      CHECK(findings(generated, without(program, fifo, k)) != "");
      ++taken_out;
    }
  }
  INFO(tokens << " tokens, " << relays << " relays, " << made_to_wait << " made to wait, " << limited
              << " limited by depth, " << taken_out << " taken out");
  CHECK(tokens > 1000);
  CHECK(relays > 10);
  CHECK(made_to_wait > 10);
  CHECK(limited > 3);
  CHECK(taken_out > 100);
}
