#include "tests/torture/verdict.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/check.h"
#include "isa/legal.h"
#include "isa/text.h"
#include "isa/verify.h"
#include "isa/verify/command_queues.h"
#include "simulator/token_errors.h"

namespace dovetail::test {

namespace {

std::size_t launch_of(const GeneratedProgram& program, std::size_t instruction) {
  for (std::size_t i = 0; i < program.launches.size(); ++i)
    if (instruction < program.launches[i].begin + program.launches[i].count) return i;
  return program.launches.size();
}

Verdict verdict_of(const GeneratedProgram& program, const isa::LegalityRules& rules, const isa::Finding& finding) {
  switch (finding.kind) {
    case isa::FindingKind::race:
    case isa::FindingKind::uop_overwrite: return Verdict::race;
    case isa::FindingKind::undefined_read: return Verdict::undefined;
    case isa::FindingKind::deadlock: return Verdict::deadlock;
    case isa::FindingKind::leftover_token: return Verdict::leftover;
    case isa::FindingKind::illegal: break;
  }
  const isa::Instruction& instruction = program.program[finding.instruction];
  if (!rules.is_legal(instruction)) return Verdict::illegal;
  const bool transfer = instruction.opcode() == isa::Opcode::load || instruction.opcode() == isa::Opcode::store;
  return transfer ? Verdict::bus_error : Verdict::bad_index;
}

// The fault that stops the launch first: others follow from it. nullopt: more than one fault could be first.
std::optional<Verdict> first_of(const std::array<bool, kVerdictNames.size()>& found) {
  const auto is = [&](Verdict verdict) { return found[static_cast<std::size_t>(verdict)]; };
  for (const Verdict verdict : {Verdict::illegal, Verdict::bus_error, Verdict::bad_index}) {
    if (!is(verdict)) continue;
    if (is(Verdict::deadlock)) return std::nullopt;
    return verdict;
  }
  // Undefined values and races change values, but no tokens.
  for (const Verdict verdict : {Verdict::deadlock, Verdict::leftover, Verdict::undefined, Verdict::race})
    if (is(verdict)) return verdict;
  return Verdict::right;
}

// Whether a later instruction may start although `offender` has not: it is in another queue, and no token holds it
// back.
bool starts_without(const GeneratedProgram& program, const isa::Launch& launch, std::size_t offender,
                    std::size_t later) {
  const auto instructions = std::span(program.program).subspan(launch.begin, launch.count);
  isa::CommandQueues queues(isa::queue_depths(program.config));
  queues.begin(instructions);
  std::size_t next = 0;
  for (bool moving = true; moving;) {
    moving = false;
    for (; next < instructions.size(); ++next, moving = true) {
      const isa::TokenUse use = isa::token_use(instructions[next]);
      if (!queues.has_room(use.queue)) break;
      queues.fetch(next, use);
    }
    for (const isa::Queue queue : isa::kAllQueues) {
      while (queues.end(queue)) moving = true;
      const auto head = queues.ready(queue);
      if (!head || launch.begin + *head == offender) continue;
      if (launch.begin + *head == later) return true;
      queues.start(queue);
      moving = true;
    }
  }
  return false;
}

}  // namespace

std::string_view name(Verdict verdict) { return kVerdictNames[static_cast<std::size_t>(verdict)]; }

Judgment judge(const GeneratedProgram& program) {
  if (!program.patches.empty()) {
    const std::size_t at = program.patches.begin()->first;
    return {.verdict = Verdict::undecodable, .instruction = at, .launch = launch_of(program, at)};
  }
  isa::VerifyOptions options = program.verify_options();
  options.max_findings = SIZE_MAX;
  const isa::VerifyReport report = isa::verify(program.config, program.program, options);
  if (report.clean()) return {};
  const isa::LegalityRules rules(program.config);
  std::size_t launch = SIZE_MAX;
  for (const isa::Finding& finding : report.findings)
    launch = std::min(launch, launch_of(program, finding.instruction));
  std::array<bool, kVerdictNames.size()> found{};
  std::array<std::size_t, kVerdictNames.size()> first;
  first.fill(SIZE_MAX);
  bool uops_unknown = false;
  for (const isa::Finding& finding : report.findings) {
    if (launch_of(program, finding.instruction) != launch) continue;
    const auto kind = static_cast<std::size_t>(verdict_of(program, rules, finding));
    found[kind] = true;
    first[kind] = std::min(first[kind], finding.instruction);
    uops_unknown |= finding.kind == isa::FindingKind::uop_overwrite || finding.memory == isa::Memory::uop;
  }
  const auto is = [&](Verdict verdict) { return found[static_cast<std::size_t>(verdict)]; };
  const auto at = [&](Verdict verdict) { return first[static_cast<std::size_t>(verdict)]; };
  Judgment result{
      .launch = launch, .racing = is(Verdict::race) || is(Verdict::undefined), .uops_unknown = uops_unknown};
  const auto verdict = first_of(found);
  const bool by_uops = uops_unknown && (verdict == Verdict::race || verdict == Verdict::bad_index);
  const bool one_stops = verdict == Verdict::illegal || verdict == Verdict::bus_error || verdict == Verdict::bad_index;
  // Later instructions read the elements that it leaves undefined, and some of them need not wait for it.
  const bool undefined_before =
      one_stops && std::ranges::any_of(report.findings, [&](const isa::Finding& finding) {
        return finding.kind == isa::FindingKind::undefined_read && launch_of(program, finding.instruction) == launch &&
               (finding.instruction < at(*verdict) ||
                starts_without(program, program.launches[launch], at(*verdict), finding.instruction));
      });
  result.verdict = !verdict || by_uops || undefined_before ? Verdict::several : *verdict;
  if (result.verdict != Verdict::several && result.verdict != Verdict::leftover)
    result.instruction = at(result.verdict);
  return result;
}

bool confirms(const Diagnostics& errors, const GeneratedProgram& program, const Judgment& judgment) {
  if (errors.empty()) return false;
  const isa::Launch& launch = program.launches[*judgment.launch];
  const auto is_at = [&](std::size_t instruction) {
    return errors.front().where == fmt::format("instruction {}", instruction);
  };
  const auto cannot_execute = [&](std::size_t instruction) {
    const std::string what = fmt::format("cannot execute `{}`", isa::format_instruction(program.program[instruction]));
    return is_at(instruction) && errors.front().what == what;
  };
  switch (judgment.verdict) {
    case Verdict::deadlock:
      if (!is_at(*judgment.instruction)) return false;
      [[fallthrough]];
    case Verdict::leftover:
      return errors == simulator::token_errors(program.config,
                                               std::span(program.program).subspan(launch.begin, launch.count),
                                               launch.begin);
    case Verdict::illegal: {
      const Diagnostics legality = isa::LegalityRules(program.config).check(program.program[*judgment.instruction]);
      return is_at(*judgment.instruction) && errors.front().what == legality.front().what;
    }
    case Verdict::bus_error:
    case Verdict::bad_index: return cannot_execute(*judgment.instruction);
    case Verdict::undefined:  // the program alone does not determine which of several comes first
      for (std::size_t i = launch.begin; i < launch.begin + launch.count; ++i)
        if (is_at(i)) return cannot_execute(i);
      return false;
    default: throw InternalError("no engine stops at verdict " + std::string(name(judgment.verdict)));
  }
}

}  // namespace dovetail::test
