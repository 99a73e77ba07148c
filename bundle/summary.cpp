#include "bundle/summary.h"

#include <array>
#include <string_view>

namespace dovetail::bundle {

namespace {

std::string_view memory_name(isa::Memory memory) {
  constexpr std::array<std::string_view, 6> kNames{"uop", "wgt", "inp", "acc", "out", "acc8"};
  return kNames[static_cast<std::size_t>(memory)];
}
std::string_view alu_name(isa::AluOp op) {
  constexpr std::array<std::string_view, 6> kNames{"min", "max", "add", "shr", "mul", "requant"};
  return kNames[static_cast<std::size_t>(op)];
}

struct KindOf {
  std::string operator()(const isa::Load& load) const { return transfer("load.", load); }
  std::string operator()(const isa::Store& store) const { return transfer("store.", store); }
  std::string operator()(const isa::Gemm& gemm) const { return gemm.reset ? "gemm.reset" : "gemm"; }
  std::string operator()(const isa::Finish&) const { return "finish"; }
  std::string operator()(const isa::Alu& alu) const { return "alu." + std::string(alu_name(alu.op)); }

  static std::string transfer(std::string_view verb, const isa::Transfer& transfer) {
    return transfer.x_size == 0 ? "nop" : std::string(verb) + std::string(memory_name(transfer.memory));
  }
};

}  // namespace

std::string kind_of(const isa::Instruction& instruction) { return std::visit(KindOf{}, instruction.body); }

ProgramSummary& ProgramSummary::operator+=(const ProgramSummary& other) {
  for (const auto& [kind, count] : other.kinds) kinds[kind] += count;
  instructions += other.instructions;
  tokens += other.tokens;
  uops += other.uops;
  return *this;
}

ProgramSummary summarize(std::span<const isa::Instruction> program) {
  ProgramSummary summary;
  summary.instructions = program.size();
  for (const isa::Instruction& instruction : program) {
    ++summary.kinds[kind_of(instruction)];
    summary.tokens += static_cast<std::uint64_t>(instruction.flags.push_prev) + static_cast<std::uint64_t>(instruction.flags.push_next);
  }
  return summary;
}

ProgramSummary summarize(const AccelStep& step) {
  ProgramSummary summary = summarize(step.program);
  summary.uops = step.uops;
  return summary;
}

ProgramSummary summarize(const Bundle& bundle) {
  ProgramSummary summary;
  for (const Step& step : bundle.steps)
    if (const auto* accel = std::get_if<AccelStep>(&step)) summary += summarize(*accel);
  return summary;
}

Json to_json(const ProgramSummary& summary) {
  return {{"instructions", summary.instructions}, {"by_kind", summary.kinds}, {"tokens", summary.tokens}, {"uops", summary.uops}};
}

}  // namespace dovetail::bundle
