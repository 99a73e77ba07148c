#include "bundle/code/program_summary.h"

#include <string_view>

#include "isa/spec/instructions.h"
#include "isa/spec/memories.h"

namespace dovetail::bundle {

namespace {

struct KindOf {
  std::string operator()(const isa::Load& load) const { return transfer("load.", load); }
  std::string operator()(const isa::Store& store) const { return transfer("store.", store); }
  std::string operator()(const isa::Gemm& gemm) const { return gemm.reset ? "gemm.reset" : "gemm"; }
  std::string operator()(const isa::Window&) const { return "window"; }
  std::string operator()(const isa::GemmQ&) const { return "gemmq"; }
  std::string operator()(const isa::Finish&) const { return "finish"; }
  std::string operator()(const isa::Alu& alu) const { return "alu." + std::string(isa::spec::info(alu.op).name); }

  static std::string transfer(std::string_view verb, const isa::Transfer& transfer) {
    return transfer.x_size == 0 ? "nop" : std::string(verb) + std::string(isa::spec::info(transfer.memory).name);
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
    summary.tokens += static_cast<std::uint64_t>(instruction.flags.push_prev) +
                      static_cast<std::uint64_t>(instruction.flags.push_next);
  }
  return summary;
}

ProgramSummary summarize(const AccelCode& code) {
  ProgramSummary summary = summarize(code.program);
  summary.uops = code.uops;
  return summary;
}

ProgramSummary summarize(const Bundle& bundle) {
  ProgramSummary summary;
  for (const Step& step : bundle.steps) {
    if (step.target == kAccelTarget) summary += summarize(decode_accel(step).value());
    for (const Bundle& program : step.programs) summary += summarize(program);
  }
  return summary;
}

Json to_json(const ProgramSummary& summary) {
  return {{"instructions", summary.instructions},
          {"by_kind", summary.kinds},
          {"tokens", summary.tokens},
          {"uops", summary.uops}};
}

}  // namespace dovetail::bundle
