// Greedy minimization: each pass tries smaller programs, and keeps one whenever the predicate still holds.
#include <algorithm>
#include <map>
#include <utility>

#include "isa/verify/token_machine.h"
#include "tests/generator/generator.h"

namespace dovetail::test {
namespace {

using Predicate = std::function<bool(const GeneratedProgram&)>;

bool keep_if_failing(GeneratedProgram& program, GeneratedProgram candidate, const Predicate& fails) {
  if (!fails(candidate)) return false;
  program = std::move(candidate);
  return true;
}

bool& push_flag(isa::Instruction& instruction, std::size_t fifo) {
  const bool next =
      fifo == isa::index(isa::TokenFifo::load_to_compute) || fifo == isa::index(isa::TokenFifo::compute_to_store);
  return next ? instruction.flags.push_next : instruction.flags.push_prev;
}
bool& pop_flag(isa::Instruction& instruction, std::size_t fifo) {
  const bool prev =
      fifo == isa::index(isa::TokenFifo::load_to_compute) || fifo == isa::index(isa::TokenFifo::compute_to_store);
  return prev ? instruction.flags.pop_prev : instruction.flags.pop_next;
}

// Removes instructions [begin, end) and the partners of their tokens.
GeneratedProgram without(GeneratedProgram program, std::size_t begin, std::size_t end) {
  for (const TokenPair& token : token_pairs(program))
    if ((token.push >= begin && token.push < end) || (token.pop >= begin && token.pop < end))
      drop_token(program, token);
  program.program.erase(program.program.begin() + static_cast<std::ptrdiff_t>(begin),
                        program.program.begin() + static_cast<std::ptrdiff_t>(end));
  std::map<std::size_t, std::vector<std::byte>> patches;
  for (auto& [at, bytes] : program.patches)
    if (at < begin || at >= end) patches[at < begin ? at : at - (end - begin)] = std::move(bytes);
  program.patches = std::move(patches);
  std::vector<isa::Launch> launches;
  std::size_t at = 0;
  for (const isa::Launch& launch : program.launches) {
    const std::size_t lost_begin = std::max(begin, launch.begin);
    const std::size_t lost_end = std::min(end, launch.begin + launch.count);
    const std::size_t count = launch.count - (lost_begin < lost_end ? lost_end - lost_begin : 0);
    if (count != 0) launches.push_back({at, count});
    at += count;
  }
  program.launches = std::move(launches);
  return program;
}

bool drop_instructions(GeneratedProgram& program, const Predicate& fails) {
  bool changed = false;
  for (std::size_t chunk = std::max<std::size_t>(1, program.program.size() / 2); chunk > 0; chunk /= 2)
    for (std::size_t end = program.program.size(); end > 0;) {
      const std::size_t begin = end > chunk ? end - chunk : 0;
      if (program.program.size() > end - begin)
        changed |= keep_if_failing(program, without(program, begin, end), fails);
      end = std::min(begin, program.program.size());
    }
  return changed;
}

bool drop_tokens(GeneratedProgram& program, const Predicate& fails) {
  bool changed = false;
  std::vector<TokenPair> tokens = token_pairs(program);
  for (auto token = tokens.rbegin(); token != tokens.rend(); ++token) {
    GeneratedProgram candidate = program;
    drop_token(candidate, *token);
    changed |= keep_if_failing(program, std::move(candidate), fails);
  }
  return changed;
}

// Drops single flags, for programs whose tokens do not match.
bool drop_flags(GeneratedProgram& program, const Predicate& fails) {
  bool changed = false;
  for (std::size_t i = 0; i < program.program.size(); ++i)
    for (auto flag : {&isa::DependencyFlags::pop_prev, &isa::DependencyFlags::pop_next,
                      &isa::DependencyFlags::push_prev, &isa::DependencyFlags::push_next}) {
      if (!(program.program[i].flags.*flag)) continue;
      GeneratedProgram candidate = program;
      candidate.program[i].flags.*flag = false;
      changed |= keep_if_failing(program, std::move(candidate), fails);
    }
  return changed;
}

// Each numeric field is tried at its simplest value.
bool simplify_fields(GeneratedProgram& program, const Predicate& fails) {
  bool changed = false;
  const auto attempt = [&](std::size_t i, auto&& simplify) {
    GeneratedProgram candidate = program;
    simplify(candidate.program[i]);
    if (candidate.program[i] == program.program[i]) return;
    changed |= keep_if_failing(program, std::move(candidate), fails);
  };
  for (std::size_t i = 0; i < program.program.size(); ++i) {
    attempt(i, [](isa::Instruction& instruction) {  // no longer does anything, but keeps its tokens
      if (auto* load = std::get_if<isa::Load>(&instruction.body)) load->x_size = 0;
      else if (auto* store = std::get_if<isa::Store>(&instruction.body)) store->x_size = 0;
      else if (instruction.opcode() != isa::Opcode::finish) instruction.body = isa::Finish{};
    });
    for (auto field :
         {&isa::Transfer::y_pad_0, &isa::Transfer::y_pad_1, &isa::Transfer::x_pad_0, &isa::Transfer::x_pad_1,
          &isa::Transfer::y_size, &isa::Transfer::x_size, &isa::Transfer::x_stride})
      attempt(i, [&](isa::Instruction& instruction) {
        const std::uint32_t simplest = field == &isa::Transfer::y_size || field == &isa::Transfer::x_size ? 1 : 0;
        if (auto* load = std::get_if<isa::Load>(&instruction.body)) load->*field = std::min(load->*field, simplest);
        if (auto* store = std::get_if<isa::Store>(&instruction.body)) store->*field = std::min(store->*field, simplest);
      });
    for (auto field : {&isa::UopLoop::iter_out, &isa::UopLoop::iter_in, &isa::UopLoop::dst_factor_out,
                       &isa::UopLoop::dst_factor_in, &isa::UopLoop::src_factor_out, &isa::UopLoop::src_factor_in})
      attempt(i, [&](isa::Instruction& instruction) {
        const std::uint32_t simplest = field == &isa::UopLoop::iter_out || field == &isa::UopLoop::iter_in ? 1 : 0;
        if (isa::UopLoop* loop = isa::uop_loop(instruction)) loop->*field = std::min(loop->*field, simplest);
      });
    attempt(i, [](isa::Instruction& instruction) {  // one micro-op
      if (isa::UopLoop* loop = isa::uop_loop(instruction)) loop->uop_end = std::min(loop->uop_end, loop->uop_begin + 1);
    });
  }
  return changed;
}

}  // namespace

std::vector<TokenPair> token_pairs(const GeneratedProgram& program) {
  std::vector<TokenPair> pairs;
  for (const isa::Launch& launch : program.launches)
    for (std::size_t f = 0; f < isa::kTokenFifos; ++f) {
      const auto fifo = static_cast<isa::TokenFifo>(f);
      std::vector<std::size_t> pushes, pops;
      for (std::size_t i = launch.begin; i < launch.begin + launch.count; ++i) {
        const isa::TokenUse use = isa::token_use(program.program[i]);
        if (use.pushes_to(fifo)) pushes.push_back(i);
        if (use.pops_from(fifo)) pops.push_back(i);
      }
      for (std::size_t k = 0; k < std::min(pushes.size(), pops.size()); ++k) pairs.push_back({pushes[k], pops[k], f});
    }
  return pairs;
}

void drop_token(GeneratedProgram& program, const TokenPair& token) {
  push_flag(program.program[token.push], token.fifo) = false;
  pop_flag(program.program[token.pop], token.fifo) = false;
}

GeneratedProgram shrink(GeneratedProgram program, const Predicate& fails) {
  for (std::size_t i = program.launches.size(); i-- > 0;) {
    if (program.launches.size() == 1) break;
    const isa::Launch launch = program.launches[i];
    keep_if_failing(program, without(program, launch.begin, launch.begin + launch.count), fails);
  }
  for (bool changed = true; changed;) {
    changed = drop_instructions(program, fails);
    changed |= drop_tokens(program, fails);
    changed |= drop_flags(program, fails);
    changed |= simplify_fields(program, fails);
  }
  return program;
}

}  // namespace dovetail::test
