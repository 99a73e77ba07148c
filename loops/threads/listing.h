// A kernel's statements one after the other, as run_threads walks through them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "loops/core/core.h"

namespace dovetail::loops {

// A kernel's body as a list: a thread's state is a place in it and the values of its variables.
struct Instruction {
  enum class Kind : std::uint8_t {
    store,
    forget,
    barrier,
    shuffle,
    copy,
    group,
    call,
    call_group,
    fence,
    box,
    signal,
    loop,
    next,
    branch,
    jump
  } kind;
  const CoreNode* node = nullptr;
  std::size_t target = 0;  // next: the loop's first statement; branch: where the condition does not hold
  std::size_t variable = 0;
  std::int64_t extent = 0;
};

class Listing {
 public:
  std::vector<Instruction> code;
  std::unordered_map<const VarNode*, std::size_t> variables;

  std::size_t variable(const Var& var) { return variables.emplace(var.get(), variables.size()).first->second; }

  void add(const Core& core) {
    using Kind = Instruction::Kind;
    if (!core) return;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      const std::size_t var = variable(loop->var);
      code.push_back({Kind::loop, core.get(), 0, var, loop->extent});
      const std::size_t first = code.size();
      add(loop->body);
      code.push_back({Kind::next, core.get(), first, var, loop->extent});
    } else if (const auto* condition = std::get_if<CoreIf>(&core->node)) {
      const std::size_t branch = code.size();
      code.push_back({Kind::branch, core.get()});
      add(condition->then_body);
      const std::size_t jump = code.size();
      code.push_back({Kind::jump});
      code[branch].target = code.size();
      add(condition->else_body);
      code[jump].target = code.size();
    } else if (const auto* sequence = std::get_if<CoreSequence>(&core->node)) {
      for (const Core& part : sequence->body) add(part);
    } else if (std::holds_alternative<CoreBarrier>(core->node)) {
      code.push_back({Kind::barrier, core.get()});
    } else if (std::holds_alternative<CoreAsyncCopy>(core->node)) {
      code.push_back({Kind::copy, core.get()});
    } else if (std::holds_alternative<CoreAsyncGroup>(core->node)) {
      code.push_back({Kind::group, core.get()});
    } else if (std::holds_alternative<CoreCallGroup>(core->node)) {
      code.push_back({Kind::call_group, core.get()});
    } else if (std::holds_alternative<CoreProxyFence>(core->node)) {
      code.push_back({Kind::fence, core.get()});
    } else if (std::holds_alternative<CoreBoxCopy>(core->node)) {
      code.push_back({Kind::box, core.get()});
    } else if (std::holds_alternative<CoreSignal>(core->node)) {
      code.push_back({Kind::signal, core.get()});
    } else if (std::holds_alternative<CoreCall>(core->node)) {
      code.push_back({Kind::call, core.get()});
    } else if (std::holds_alternative<CoreShuffle>(core->node)) {
      code.push_back({Kind::shuffle, core.get()});
    } else if (std::holds_alternative<CoreForget>(core->node)) {
      code.push_back({Kind::forget, core.get()});
    } else {
      code.push_back({Kind::store, core.get()});
    }
  }
};

}  // namespace dovetail::loops
