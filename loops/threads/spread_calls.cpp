#include "loops/threads/spread_calls.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace dovetail::loops {

namespace {

class Spreader {
 public:
  Spreader(const std::vector<WarpOperation>& operations, Bounds& bounds, const std::string& where)
      : operations_(operations), bounds_(bounds), where_(where) {}

  Core walk(const Core& core) {
    if (!core) return core;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      CoreLoop copy = *loop;
      copy.body = walk(loop->body);
      return make_core(std::move(copy));
    }
    if (const auto* n = std::get_if<CoreIf>(&core->node))
      return core_if(n->condition, walk(n->then_body), walk(n->else_body));
    if (const auto* n = std::get_if<CoreSequence>(&core->node)) {
      std::vector<Core> body;
      for (const Core& part : n->body) body.push_back(walk(part));
      return core_sequence(std::move(body));
    }
    const auto* call = std::get_if<CoreCall>(&core->node);
    return call != nullptr ? spread(*call) : core;
  }

  Diagnostics errors;

 private:
  Core refuse(const CoreCall& call, std::string why) {
    errors.push_back({"cannot lower to threads", fmt::format("{}, call of {}", where_, call.intrinsic), std::move(why),
                      "leave out the tensorize step"});
    return nullptr;
  }

  Core spread(CoreCall call) {
    const WarpOperation* const operation = find_operation(operations_, call.intrinsic);
    if (operation == nullptr) return refuse(call, "no operation of a warp has that name");
    const Var row = make_var(call.intrinsic + ".row"), column = make_var(call.intrinsic + ".column");
    bounds_[row.get()] = {0, kLanesInY - 1};
    bounds_[column.get()] = {0, kLanesInX - 1};
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      IntrinsicOperand& operand = call.operands[i];
      if (operand.buffer->scope != "register") continue;
      const Shape& shape = operation->semantics.parameters[i].buffer->shape;
      for (const LaneMap::Part& part : operation->operands[i].lanes) {
        const bool is_row = part.extent == kLanesInY, whole = part.divisor == 1 && part.extent == shape[part.axis];
        if (!whole || (!is_row && part.extent != kLanesInX) || (is_row && &part != &operation->operands[i].lanes[0]))
          return refuse(call, fmt::format("lanes of its operand {} are no coordinates of threads", i));
        std::vector<std::int64_t>& steps = operand.steps[part.axis];
        for (std::size_t d = 0; d < steps.size(); ++d) {
          if (steps[d] == 0) continue;
          operand.indices[d] = operand.indices[d] + ref(is_row ? row : column) * steps[d];
          operand.extents[d] -= steps[d] * (part.extent - 1);
          steps[d] = 0;
        }
      }
    }
    const Core in_x =
        make_core(CoreLoop{column, kLanesInX, ForKind::thread, "thread.x", {}, make_core(std::move(call))});
    return make_core(CoreLoop{row, kLanesInY, ForKind::thread, "thread.y", {}, in_x});
  }

  const std::vector<WarpOperation>& operations_;
  Bounds& bounds_;
  const std::string& where_;
};

}  // namespace

bool has_calls(const Core& core) {
  if (!core) return false;
  if (const auto* loop = std::get_if<CoreLoop>(&core->node)) return has_calls(loop->body);
  if (const auto* condition = std::get_if<CoreIf>(&core->node))
    return has_calls(condition->then_body) || has_calls(condition->else_body);
  if (const auto* sequence = std::get_if<CoreSequence>(&core->node))
    return std::ranges::any_of(sequence->body, has_calls);
  return std::holds_alternative<CoreCall>(core->node);
}

Result<Core> spread_calls(const Core& core, const std::vector<WarpOperation>& operations, Bounds& bounds,
                          const std::string& where) {
  if (!has_calls(core)) return core;
  Spreader spreader(operations, bounds, where);
  Core result = spreader.walk(core);
  if (!spreader.errors.empty()) return std::move(spreader.errors);
  return result;
}

}  // namespace dovetail::loops
