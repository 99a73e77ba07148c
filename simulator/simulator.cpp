#include "simulator/simulator.h"

#include <fmt/format.h>

#include <numeric>

#include "isa/spec/instructions.h"
#include "isa/spec/memories.h"
#include "isa/verify/token_machine.h"

namespace dovetail::simulator {

namespace {

template <std::size_t n>
void add(std::array<std::uint64_t, n>& to, const std::array<std::uint64_t, n>& from) {
  for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
}

}  // namespace

Counters& Counters::operator+=(const Counters& other) {
  add(instructions, other.instructions);
  add(queue_instructions, other.queue_instructions);
  add(bytes_loaded, other.bytes_loaded);
  bytes_stored += other.bytes_stored;
  gemm_uops += other.gemm_uops;
  gemm_reset_uops += other.gemm_reset_uops;
  alu_uops += other.alu_uops;
  add(alu_uops_by_op, other.alu_uops_by_op);
  macs += other.macs;
  tokens += other.tokens;
  nops += other.nops;
  return *this;
}

Json to_json(const Counters& counters) {
  const auto total = [](const auto& values) { return std::accumulate(values.begin(), values.end(), std::uint64_t{0}); };
  Json instructions, queues, bytes_loaded, alu_uops_by_op;
  for (const isa::spec::InstructionSpec& row : isa::spec::kInstructions)
    instructions[std::string(row.name)] = counters.instructions[static_cast<std::size_t>(row.opcode)];
  instructions["total"] = total(counters.instructions);
  for (isa::Queue queue : {isa::Queue::load, isa::Queue::compute, isa::Queue::store})
    queues[std::string(name(queue))] = counters.queue_instructions[isa::index(queue)];
  for (const isa::spec::MemoryInfo& row : isa::spec::kMemories)
    if (row.loadable) bytes_loaded[std::string(row.name)] = counters.bytes_loaded[static_cast<std::size_t>(row.id)];
  bytes_loaded["total"] = total(counters.bytes_loaded);
  for (const isa::spec::AluOpInfo& row : isa::spec::kAluOps)
    alu_uops_by_op[std::string(row.name)] = counters.alu_uops_by_op[static_cast<std::size_t>(row.op)];
  return Json{{"instructions", instructions},
              {"queues", queues},
              {"bytes_loaded", bytes_loaded},
              {"bytes_stored", counters.bytes_stored},
              {"gemm_uops", counters.gemm_uops},
              {"gemm_reset_uops", counters.gemm_reset_uops},
              {"alu_uops", counters.alu_uops},
              {"alu_uops_by_op", alu_uops_by_op},
              {"macs", counters.macs},
              {"tokens", counters.tokens},
              {"nops", counters.nops}};
}

Result<Counters> run_program(Simulator& simulator, const isa::Codec& codec, std::span<const std::byte> program,
                             std::string_view where, std::span<const isa::Launch> launches, Dram& dram) {
  DOVETAIL_ASSIGN(const std::vector<isa::Instruction> instructions, codec.decode_program(program, where));
  const isa::Launch everything{.begin = 0, .count = instructions.size()};
  if (launches.empty()) launches = {&everything, 1};
  Counters sum;
  for (const isa::Launch& launch : launches) {
    if (launch.begin > instructions.size() || launch.count > instructions.size() - launch.begin)
      return Diagnostic{.what = "cannot run a launch",
                        .where = std::string(where),
                        .why = fmt::format("launch {}:{} needs {} instructions, but the program has {}", launch.begin,
                                           launch.count, launch.begin + launch.count, instructions.size()),
                        .hint = "a launch is BEGIN:COUNT, counted in instructions"};
    DOVETAIL_ASSIGN(const Counters counters,
                    simulator.launch(std::span(instructions).subspan(launch.begin, launch.count), dram, launch.begin));
    sum += counters;
  }
  return sum;
}

}  // namespace dovetail::simulator
