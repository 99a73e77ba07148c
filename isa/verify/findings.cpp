#include "isa/verify/findings.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "isa/spec/memories.h"
#include "isa/text.h"
#include "isa/verify/accesses.h"

namespace dovetail::isa {

std::string_view name(FindingKind kind) {
  switch (kind) {
    case FindingKind::illegal: return "illegal";
    case FindingKind::race: return "race";
    case FindingKind::deadlock: return "deadlock";
    case FindingKind::leftover_token: return "leftover token";
    case FindingKind::undefined_read: return "undefined read";
    case FindingKind::uop_overwrite: return "micro-op overwrite";
  }
  return "?";
}

bool FindingSet::Before::operator()(const Finding& a, const Finding& b) const {
  const auto key = [](const Finding& f) {
    return std::tie(f.instruction, f.kind, f.other, f.memory, f.possible, f.extents, f.diagnostic.what,
                    f.diagnostic.why);
  };
  return key(a) < key(b);
}

bool FindingSet::admit(std::size_t instruction) {
  if (findings_.size() < max_findings_ || (!findings_.empty() && instruction <= findings_.rbegin()->instruction))
    return true;
  ++suppressed_;
  return false;
}

void FindingSet::add(Finding finding) {
  if (!findings_.insert(std::move(finding)).second || findings_.size() <= max_findings_) return;
  findings_.erase(std::prev(findings_.end()));
  ++suppressed_;
}

VerifyReport FindingSet::report() && {
  VerifyReport report;
  report.suppressed = suppressed_;
  while (!findings_.empty()) report.findings.push_back(std::move(findings_.extract(findings_.begin()).value()));
  return report;
}

std::string cite(std::span<const Instruction> program, std::size_t instruction) {
  return fmt::format("#{} `{}`", instruction, format_instruction(program[instruction]));
}

std::string describe(std::optional<Memory> memory, std::span<const Extent> extents) {
  constexpr std::size_t kShown = 4;
  const std::string_view label = !memory ? "DRAM bytes " : spec::info(*memory).name;
  if (extents.empty()) return std::string(label);
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, extents.size()); ++i) {
    if (i != 0) text += ", ";
    const std::uint64_t first = extents[i].begin;
    const std::uint64_t last = extents[i].end - 1;
    if (!memory) text += fmt::format("{}{:#x}..{:#x}", i == 0 ? label : "", first, last);
    else if (first == last) text += fmt::format("{}[{}]", label, first);
    else text += fmt::format("{}[{}..{}]", label, first, last);
  }
  const std::size_t rest = extents.size() - std::min(kShown, extents.size());
  if (rest != 0) text += fmt::format(" and {} more range{}", rest, rest == 1 ? "" : "s");
  return text;
}

Finding illegal_finding(std::span<const Instruction> program, std::size_t instruction, std::string why,
                        std::string hint) {
  return {FindingKind::illegal,
          instruction,
          std::nullopt,
          false,
          Diagnostic{"illegal instruction", cite(program, instruction), std::move(why), std::move(hint)},
          std::nullopt,
          {}};
}

Finding undefined_finding(std::span<const Instruction> program, std::size_t instruction, Memory memory,
                          std::vector<Extent> extents) {
  const std::string place = describe(memory, extents);
  return {FindingKind::undefined_read,
          instruction,
          std::nullopt,
          false,
          Diagnostic{"undefined read of " + place, cite(program, instruction),
                     extents.empty()
                         ? "the instruction reads elements of " + place +
                               ", but no instruction has written any of them before, in this launch or an earlier one"
                         : "the instruction reads elements that no instruction has written before, in this launch or "
                           "an earlier one",
                     memory == Memory::acc ? "load, reset or overwrite them first" : "load them first"},
          memory,
          std::move(extents)};
}

Finding token_finding(TokenFault fault) {
  return {fault.kind, fault.instruction, std::nullopt, false, std::move(fault.diagnostic), std::nullopt, {}};
}

Finding uop_overwrite_finding(std::span<const Instruction> program, std::size_t store, std::size_t victim, bool fetched,
                              std::vector<Extent> extents) {
  const std::string why =
      fetched ? fmt::format("the instruction stores over the encoding of {}, which is fetched from there",
                            cite(program, victim))
              : fmt::format(
                    "the instruction stores over micro-ops that {} reads; micro-ops are constants of the memory image",
                    cite(program, victim));
  Diagnostic diagnostic{fetched ? "program overwritten at " + describe(std::nullopt, extents)
                                : "micro-ops overwritten at " + describe(std::nullopt, extents),
                        cite(program, store), why, "move the stored data to other addresses"};
  // A pair is reported in program order; an instruction that stores over itself is not a pair.
  std::optional<std::size_t> other;
  if (store != victim) other = std::min(store, victim);
  return {FindingKind::uop_overwrite, std::max(store, victim), other, false, std::move(diagnostic), std::nullopt,
          std::move(extents)};
}

Finding race_finding(std::span<const Instruction> program, std::size_t a, std::size_t b, std::optional<Memory> memory,
                     Conflict conflict) {
  const std::size_t early = std::min(a, b);
  const std::size_t late = std::max(a, b);
  const Queue early_queue = program[early].queue();
  const Queue late_queue = program[late].queue();
  const std::string place = describe(memory, conflict.extents);
  // Each memory has one writing queue, so the queue determines the writer. ACC and DRAM are shared with the store
  // queue.
  const Queue writer = !memory ? Queue::store : *memory == Memory::acc ? Queue::compute : Queue::load;
  const bool neighbors = early_queue == Queue::compute || late_queue == Queue::compute;
  // Possible accesses are those of a GEMM or ALU with unknown micro-ops.
  const auto verb = [&](std::size_t instruction, Queue queue) {
    const bool may = conflict.possible && uop_loop(program[instruction]) != nullptr;
    return queue == writer ? (may ? "may write" : "writes") : (may ? "may read" : "reads");
  };
  Diagnostic diagnostic;
  diagnostic.what = fmt::format("{}race on {}", conflict.possible ? "possible " : "", place);
  diagnostic.where = fmt::format("{} and {}", cite(program, early), cite(program, late));
  diagnostic.why = fmt::format("#{} ({} queue) {}, #{} ({} queue) {} the same {}, and no token orders the two", early,
                               name(early_queue), verb(early, early_queue), late, name(late_queue),
                               verb(late, late_queue), memory ? "elements" : "bytes");
  if (conflict.possible) diagnostic.why += "; without a memory image GEMM and ALU may access any element";
  if (neighbors) {
    const bool forward = early_queue < late_queue;
    diagnostic.hint = fmt::format("push a {} token at or after #{}, and pop it ({}) at or before #{}",
                                  forward ? "push_next" : "push_prev", early, forward ? "pop_prev" : "pop_next", late);
  } else {
    diagnostic.hint = fmt::format("pass a token from #{} through a compute instruction to #{}", early, late);
  }
  return {FindingKind::race,          late, early, conflict.possible, std::move(diagnostic), memory,
          std::move(conflict.extents)};
}

}  // namespace dovetail::isa
