#include "loops/threads/give_slots.h"

#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "loops/threads/accesses.h"
#include "loops/threads/rewrite_accesses.h"

namespace dovetail::loops {

namespace {

int uses(const Core& core, const Buffer& buffer) {
  int count = 0;
  each_access(core, [&](const Buffer& touched, const auto&, bool) { count += touched == buffer ? 1 : 0; });
  return count;
}

// The innermost loop around all `count` uses of the buffer that is not a loop over threads; null: none.
const CoreLoop* loop_around(const Core& core, const Buffer& buffer, int count) {
  if (!core || uses(core, buffer) != count) return nullptr;
  if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
    const CoreLoop* const inner = loop_around(loop->body, buffer, count);
    return inner != nullptr ? inner : loop->kind == ForKind::thread ? nullptr : loop;
  }
  std::vector<Core> parts;
  if (const auto* n = std::get_if<CoreIf>(&core->node)) parts = {n->then_body, n->else_body};
  if (const auto* n = std::get_if<CoreSequence>(&core->node)) parts = n->body;
  for (const Core& part : parts)
    if (const CoreLoop* const inner = loop_around(part, buffer, count); inner != nullptr) return inner;
  return nullptr;
}

}  // namespace

Result<Core> give_slots(const Core& body, ThreadKernel& kernel, Slots& slots, const std::string& where) {
  Core given = body;
  for (Buffer& shared : kernel.shared) {
    const auto found = slots.find(shared->name);
    if (found == slots.end()) continue;
    const std::int64_t count = found->second;
    slots.erase(found);
    const Buffer buffer = shared;
    const CoreLoop* const loop = loop_around(given, buffer, uses(given, buffer));
    const auto refuse = [&](std::string why, std::string hint) {
      return Diagnostic{"cannot lower to threads", fmt::format("{}, buffer {}", where, buffer->name), std::move(why),
                        std::move(hint)};
    };
    if (loop == nullptr)
      return refuse("the buffer has slots, but no loop except those over threads contains all its uses",
                    "compute_at the block that fills the buffer into such a loop, or remove the step `slots`");
    if (loop->kind == ForKind::pipelined)
      return refuse(fmt::format("the buffer has slots, but loop {} is pipelined, which gives it one slot per stage",
                                loop->var->name),
                    "remove the step `slots` or `pipeline`");
    if (count == 1) continue;
    Shape shape = buffer->shape;
    shape.insert(shape.begin(), count);
    shared = make_buffer(buffer->name, buffer->dtype, std::move(shape), buffer->scope);
    const Expr place = floor_mod(ref(loop->var), count);
    given = rewrite_accesses(
        given, {},
        [&](const Buffer& touched, std::vector<Expr> indices, const auto&) -> std::pair<Buffer, std::vector<Expr>> {
          if (touched != buffer) return {touched, std::move(indices)};
          indices.insert(indices.begin(), place);
          return {shared, std::move(indices)};
        });
  }
  return given;
}

}  // namespace dovetail::loops
