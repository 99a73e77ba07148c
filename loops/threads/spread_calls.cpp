#include "loops/threads/spread_calls.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "loops/core/instantiate.h"
#include "loops/linear.h"

namespace dovetail::loops {

namespace {

class Spreader {
 public:
  Spreader(const std::vector<WarpOperation>& operations, Bounds& bounds, const std::string& where)
      : operations_(operations), bounds_(bounds), where_(where) {}

  Core walk(const Core& core) {
    if (!core) return core;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      if (const auto* call = std::get_if<CoreCall>(&loop->body->node))
        if (const Core joined = join(*loop, *call)) return joined;
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
  std::int64_t warps = 1;  // number of warps in a block of the kernel: the extent of thread.z

 private:
  Core refuse(const CoreCall& call, std::string why) {
    errors.push_back({"cannot lower to threads", fmt::format("{}, call of {}", where_, call.intrinsic), std::move(why),
                      "remove the tensorize step"});
    return nullptr;
  }

  // A loop around a call of a group of warps continues the numbering of warps if it has as many iterations as the
  // kernel has groups: each group executes one iteration. Null: it is another loop.
  Core join(const CoreLoop& loop, const CoreCall& call) {
    const WarpOperation* const operation = find_operation(operations_, call.intrinsic);
    if (operation == nullptr || loop.kind == ForKind::thread || operation->lanes() == kWarpLanes ||
        warps != loop.extent * kWarpsOfGroup || loop.extent == 1)
      return nullptr;
    // Each group has the sums of one iteration: the sums of two iterations are disjoint.
    const IntrinsicOperand& sums = call.operands[0];
    const std::vector<std::int64_t>& of_warp = sums.steps[operation->operands[0].lanes.front().axis];
    for (std::size_t d = 0; d < sums.indices.size(); ++d) {
      std::int64_t step = 0;
      for (const LinearTerm& term : linear_form(sums.indices[d]).terms)
        if (const auto* n = std::get_if<VarRef>(&term.atom->node); n != nullptr && n->var == loop.var)
          step = term.coefficient;
      if (step != of_warp[d] * kWarpsOfGroup) return nullptr;
    }
    const Core spread = this->spread(call);
    const auto* const of_warps = spread ? std::get_if<CoreLoop>(&spread->node) : nullptr;
    if (of_warps == nullptr) return spread;
    const Var all = make_var(of_warps->var->name);
    bounds_[all.get()] = {0, warps - 1};
    CoreLoop copy = *of_warps;
    copy.var = all;
    copy.extent = warps;
    copy.body = instantiate(of_warps->body,
                            {{loop.var.get(), floor_div(ref(all), kWarpsOfGroup)},
                             {of_warps->var.get(), floor_mod(ref(all), kWarpsOfGroup)}},
                            bounds_);
    return make_core(std::move(copy));
  }

  Core spread(CoreCall call) {
    const WarpOperation* const operation = find_operation(operations_, call.intrinsic);
    if (operation == nullptr) return refuse(call, "there is no warp operation of that name");
    call.later = operation->later;
    // Innermost first, which is the order of numbering of lanes.
    struct Axis {
      const char *axis, *name;
      std::int64_t extent;
      Var var;
    };
    std::vector<Axis> axes{{"thread.x", ".column", kLanesInX, nullptr}, {"thread.y", ".row", kLanesInY, nullptr}};
    if (operation->lanes() > kWarpLanes)
      axes.push_back({"thread.z", ".warp", operation->lanes() / kWarpLanes, nullptr});
    for (Axis& axis : axes) {
      axis.var = make_var(call.intrinsic + axis.name);
      bounds_[axis.var.get()] = {0, axis.extent - 1};
    }
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      IntrinsicOperand& operand = call.operands[i];
      if (operand.buffer->scope != "register") continue;
      const Shape& shape = operation->semantics.parameters[i].buffer->shape;
      const std::vector<LaneMap::Part>& lanes = operation->operands[i].lanes;
      for (std::size_t p = 0; p < lanes.size(); ++p) {
        const LaneMap::Part& part = lanes[p];
        const bool whole = part.divisor == 1 && part.extent == shape[part.axis];
        if (!whole || lanes.size() != axes.size() || part.extent != axes[lanes.size() - 1 - p].extent)
          return refuse(call, fmt::format("the lanes of operand {} are not thread indices", i));
        const Var& coordinate = axes[lanes.size() - 1 - p].var;
        std::vector<std::int64_t>& steps = operand.steps[part.axis];
        for (std::size_t d = 0; d < steps.size(); ++d) {
          if (steps[d] == 0) continue;
          operand.indices[d] = operand.indices[d] + ref(coordinate) * steps[d];
          operand.extents[d] -= steps[d] * (part.extent - 1);
          steps[d] = 0;
        }
      }
    }
    Core result = make_core(std::move(call));
    for (const Axis& axis : axes)
      result = make_core(CoreLoop{axis.var, axis.extent, ForKind::thread, axis.axis, {}, result});
    return result;
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

namespace {

// The extent of the first loop bound to thread.z; 1 if there is none.
std::int64_t warps_of(const Core& core) {
  if (!core) return 1;
  if (const auto* loop = std::get_if<CoreLoop>(&core->node))
    return loop->thread_axis == "thread.z" ? loop->extent : warps_of(loop->body);
  if (const auto* condition = std::get_if<CoreIf>(&core->node))
    return std::max(warps_of(condition->then_body), warps_of(condition->else_body));
  std::int64_t warps = 1;
  if (const auto* sequence = std::get_if<CoreSequence>(&core->node))
    for (const Core& part : sequence->body) warps = std::max(warps, warps_of(part));
  return warps;
}

}  // namespace

Result<Core> spread_calls(const Core& core, const std::vector<WarpOperation>& operations, Bounds& bounds,
                          const std::string& where) {
  if (!has_calls(core)) return core;
  Spreader spreader(operations, bounds, where);
  const auto* nests = std::get_if<CoreSequence>(&core->node);
  std::vector<Core> spread;
  for (const Core& nest : nests != nullptr ? nests->body : std::vector<Core>{core}) {
    spreader.warps = warps_of(nest);
    spread.push_back(spreader.walk(nest));
  }
  if (!spreader.errors.empty()) return std::move(spreader.errors);
  return core_sequence(std::move(spread));
}

}  // namespace dovetail::loops
