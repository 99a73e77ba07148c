#include "loops/threads/complete_calls.h"

#include <algorithm>
#include <vector>

#include "loops/threads/accesses.h"

namespace dovetail::loops {

namespace {

using Step = CoreCallGroup::Step;

// Whether the statement is a nest of loops that contains only asynchronous calls.
bool is_nest(const Core& core) {
  if (const auto* loop = std::get_if<CoreLoop>(&core->node)) return is_nest(loop->body);
  if (const auto* sequence = std::get_if<CoreSequence>(&core->node))
    return std::ranges::all_of(sequence->body, is_nest);
  const auto* call = std::get_if<CoreCall>(&core->node);
  return call != nullptr && call->later;
}

// The number of statements in the result of completed().
constexpr std::size_t kCompletedParts = 4;
Core completed(const Core& nest) {
  return core_sequence({make_core(CoreCallGroup{Step::arrive, 0}), nest, make_core(CoreCallGroup{Step::commit, 0}),
                        make_core(CoreCallGroup{Step::wait, 0})});
}

bool is_step(const Core& core, Step step) {
  const auto* group = std::get_if<CoreCallGroup>(&core->node);
  return group != nullptr && group->step == step;
}

}  // namespace

bool has_later_calls(const Core& core) {
  bool found = false;
  each_call(core, [&](const CoreCall& call) { found |= call.later; });
  return found;
}

Core complete_calls(const Core& core) {
  if (!core || !has_later_calls(core)) return core;
  if (is_nest(core)) return completed(core);
  if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
    CoreLoop copy = *loop;
    copy.body = complete_calls(loop->body);
    return make_core(std::move(copy));
  }
  if (const auto* n = std::get_if<CoreIf>(&core->node))
    return core_if(n->condition, complete_calls(n->then_body), complete_calls(n->else_body));
  std::vector<Core> body;
  for (const Core& part : std::get<CoreSequence>(core->node).body) body.push_back(complete_calls(part));
  return core_sequence(std::move(body));
}

std::optional<Core> with_calls_under_way(const Core& core) {
  const auto* sequence = core ? std::get_if<CoreSequence>(&core->node) : nullptr;
  if (sequence == nullptr) return std::nullopt;
  std::vector<Core> body;
  bool found = false;
  for (std::size_t i = 0; i < sequence->body.size(); ++i) {
    const Core& part = sequence->body[i];
    if (!found && i + kCompletedParts <= sequence->body.size() && is_step(part, Step::arrive) &&
        is_nest(sequence->body[i + 1]) && is_step(sequence->body[i + 2], Step::commit) &&
        is_step(sequence->body[i + 3], Step::wait)) {
      found = true;
      for (std::size_t kept = 0; kept + 1 < kCompletedParts; ++kept) body.push_back(sequence->body[i + kept]);
      i += kCompletedParts - 1;
      continue;
    }
    const auto* condition = std::get_if<CoreIf>(&part->node);
    if (condition == nullptr || condition->else_body || has_later_calls(part)) return std::nullopt;
    body.push_back(
        core_if(condition->condition, core_sequence({make_core(CoreCallGroup{Step::wait, 0}), condition->then_body})));
  }
  return found ? std::optional(core_sequence(std::move(body))) : std::nullopt;
}

}  // namespace dovetail::loops
