// A kernel's statements as a sequential list, in the form that run_threads executes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "loops/core/core.h"
#include "loops/threads/formula.h"

namespace dovetail::loops {

// A kernel's body as a list: a thread's state is a position in it and the values of its variables.
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
  std::size_t target = 0;  // next: the loop's first statement; branch: the target if the condition does not hold
  std::size_t variable = 0;
  std::int64_t extent = 0;
  std::size_t first = 0, count = 0;  // store: its targets; branch: the condition's formula
};

struct Target {
  std::size_t access, value;  // a formula
};

class Listing {
 public:
  std::vector<Instruction> code;
  std::vector<Target> targets;
  Formulas formulas;
  std::vector<const BufferNode*> written;  // buffers written by any statement, including all operands of calls

  std::size_t access(const LoadExpr& place) {
    const auto known = places_.find(&place);
    return known != places_.end()
               ? known->second
               : places_.emplace(&place, formulas.access(*place.buffer, place.indices)).first->second;
  }

  void add(const Core& core) {
    using Kind = Instruction::Kind;
    if (!core) return;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      const std::size_t var = formulas.variable(*loop->var);
      code.push_back({Kind::loop, core.get(), 0, var, loop->extent});
      const std::size_t first = code.size();
      add(loop->body);
      code.push_back({Kind::next, core.get(), first, var, loop->extent});
    } else if (const auto* condition = std::get_if<CoreIf>(&core->node)) {
      const std::size_t branch = code.size();
      code.push_back({.kind = Kind::branch, .node = core.get(), .first = formulas.formula(condition->condition)});
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
    } else if (const auto* copy = std::get_if<CoreAsyncCopy>(&core->node)) {
      written.push_back(copy->to.get());
      code.push_back({Kind::copy, core.get()});
    } else if (std::holds_alternative<CoreAsyncGroup>(core->node)) {
      code.push_back({Kind::group, core.get()});
    } else if (std::holds_alternative<CoreCallGroup>(core->node)) {
      code.push_back({Kind::call_group, core.get()});
    } else if (std::holds_alternative<CoreProxyFence>(core->node)) {
      code.push_back({Kind::fence, core.get()});
    } else if (const auto* box = std::get_if<CoreBoxCopy>(&core->node)) {
      written.insert(written.end(), {box->to.get(), box->signals.get()});
      code.push_back({Kind::box, core.get()});
    } else if (const auto* signal = std::get_if<CoreSignal>(&core->node)) {
      written.push_back(signal->signals.get());
      code.push_back({Kind::signal, core.get()});
    } else if (const auto* call = std::get_if<CoreCall>(&core->node)) {
      for (const IntrinsicOperand& operand : call->operands) written.push_back(operand.buffer.get());
      code.push_back({Kind::call, core.get()});
    } else if (const auto* shuffle = std::get_if<CoreShuffle>(&core->node)) {
      written.push_back(shuffle->to.buffer.get());
      code.push_back({Kind::shuffle, core.get()});
    } else if (const auto* forget = std::get_if<CoreForget>(&core->node)) {
      written.push_back(forget->buffer.get());
      code.push_back({Kind::forget, core.get()});
    } else {
      const auto& store = std::get<CoreStore>(core->node);
      code.push_back({.kind = Kind::store, .node = core.get(), .first = targets.size(), .count = store.targets.size()});
      for (const StoreTarget& target : store.targets) {
        written.push_back(target.buffer.get());
        targets.push_back({formulas.access(*target.buffer, target.indices), formulas.formula(target.value)});
      }
    }
  }

 private:
  std::unordered_map<const LoadExpr*, std::size_t> places_;
};

}  // namespace dovetail::loops
