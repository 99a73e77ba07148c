// Plants faults into lowered programs, which run_threads must detect.
#pragma once

#include <functional>
#include <vector>

#include "loops/threads/thread_program.h"

namespace dovetail::test {

using namespace loops;

using Change = std::function<Core(const Core&)>;  // called for each statement, inner ones first; null removes it
inline Core changed(const Core& core, const Change& change) {
  if (!core) return core;
  CoreNode copy = *core;
  if (auto* loop = std::get_if<CoreLoop>(&copy.node)) loop->body = changed(loop->body, change);
  if (auto* condition = std::get_if<CoreIf>(&copy.node)) {
    condition->then_body = changed(condition->then_body, change);
    condition->else_body = changed(condition->else_body, change);
  }
  if (auto* sequence = std::get_if<CoreSequence>(&copy.node)) {
    std::vector<Core> body;
    for (const Core& part : sequence->body) body.push_back(changed(part, change));
    return change(core_sequence(std::move(body)));
  }
  return change(make_core(std::move(copy.node)));
}

inline int count_barriers(const Core& core) {
  int count = 0;
  changed(core, [&](const Core& inner) {
    if (inner && std::holds_alternative<CoreBarrier>(inner->node)) ++count;
    return inner;
  });
  return count;
}

// Returns the program without the barrier of that number.
inline ThreadProgram without_barrier(ThreadProgram program, int number, std::size_t kernel = 0) {
  int at = 0;
  program.kernels[kernel].body = changed(program.kernels[kernel].body, [&](const Core& inner) -> Core {
    return inner && std::holds_alternative<CoreBarrier>(inner->node) && at++ == number ? nullptr : inner;
  });
  return program;
}

}  // namespace dovetail::test
