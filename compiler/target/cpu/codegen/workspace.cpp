#include "compiler/target/cpu/codegen/workspace.h"

#include "bundle/bundle.h"
#include "compiler/target/cpu/intrinsics.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr std::int64_t kAlignment = bundle::kTensorAlignment;
constexpr std::int64_t kStackBytes = 16 << 10;  // largest buffer on the stack

// The uses of a buffer: `loop` is the outermost parallel loop around all uses (null: no use is inside one), unless they
// differ.
struct Around {
  const CoreNode* loop;
  bool mixed = false;
};

class Uses {
 public:
  void walk(const Core& core, const CoreNode* parallel) {
    if (!core) return;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      walk(loop->body, parallel == nullptr && loop->kind == ForKind::parallel ? core.get() : parallel);
    } else if (const auto* condition = std::get_if<CoreIf>(&core->node)) {
      note(condition->condition, parallel);
      walk(condition->then_body, parallel);
      walk(condition->else_body, parallel);
    } else if (const auto* sequence = std::get_if<CoreSequence>(&core->node)) {
      for (const Core& part : sequence->body) walk(part, parallel);
    } else if (const auto* store = std::get_if<CoreStore>(&core->node)) {
      for (const StoreTarget& target : store->targets) {
        note(target.buffer.get(), parallel);
        note(target.value, parallel);
        for (const Expr& index : target.indices) note(index, parallel);
      }
    } else if (const auto* call = std::get_if<CoreCall>(&core->node)) {
      for (const IntrinsicOperand& operand : call->operands) {
        note(operand.buffer.get(), parallel);
        for (const Expr& index : operand.indices) note(index, parallel);
      }
      for (const Expr& immediate : call->immediates) note(immediate, parallel);
    }
  }

  const Around* around(const BufferNode* buffer) const {  // null: unused
    const auto it = around_.find(buffer);
    return it == around_.end() ? nullptr : &it->second;
  }

 private:
  void note(const Expr& expr, const CoreNode* parallel) {
    visit_exprs(expr, [&](const Expr& e) {
      if (const auto* load = std::get_if<LoadExpr>(&e->node)) note(load->buffer.get(), parallel);
    });
  }
  void note(const BufferNode* buffer, const CoreNode* parallel) {
    const auto it = around_.emplace(buffer, Around{parallel}).first;
    if (it->second.loop != parallel) it->second.mixed = true;
  }

  std::map<const BufferNode*, Around> around_;
};

}  // namespace

Workspace plan_workspace(const CoreProgram& core, std::int64_t most_stack_bytes) {
  Uses uses;
  uses.walk(core.body, nullptr);
  Workspace result;
  for (const Buffer& buffer : core.temporary) {
    const Around* around = uses.around(buffer.get());
    if (around == nullptr || buffer->scope == kTileScope) continue;
    const std::int64_t bytes = element_count(buffer->shape) * size_bytes(buffer->dtype);
    const bool fits = bytes <= kStackBytes && (most_stack_bytes == 0 || result.stack_bytes + bytes <= most_stack_bytes);
    if (!around->mixed && fits) {
      result.stack_bytes += bytes;
      result.places[buffer.get()] = {Workspace::Kind::stack, 0};
      continue;
    }
    const bool shared = around->mixed || around->loop == nullptr;
    std::int64_t& total = shared ? result.shared_bytes : result.local_bytes;
    result.places[buffer.get()] = {shared ? Workspace::Kind::shared : Workspace::Kind::local, total};
    total += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return result;
}

}  // namespace dovetail::cpu
