#include "compiler/fuse.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/ops/op.h"
#include "loops/rewrite.h"

namespace dovetail {

using namespace loops;
using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

// Positions of the node's inputs that are parameters of its program, in parameter order.
std::vector<std::size_t> run_time_inputs(const graph::Node& node) {
  const std::vector<int>& compile_time = ops::find(node.op)->compile_time_inputs;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i].valid() && std::find(compile_time.begin(), compile_time.end(), static_cast<int>(i)) == compile_time.end()) positions.push_back(i);
  return positions;
}

// The program is one block that computes each output element from the element of `input` at the same place (and whatever else).
bool elementwise_in(const Program& program, const BufferNode* input) {
  int blocks = 0;
  bool same = true;
  visit_stmts(program.body, [&](const Stmt& stmt) {
    const auto* block = std::get_if<Block>(&stmt->node);
    if (block == nullptr) return;
    ++blocks;
    const auto* store = std::get_if<Store>(&block->body->node);
    if (block->init || block->predicate || store == nullptr || store->targets.size() != 1) {
      same = false;
      return;
    }
    const auto check = [&](const std::vector<Expr>& indices) {
      same &= indices.size() == block->iterators.size();
      for (std::size_t d = 0; same && d < indices.size(); ++d) {
        const auto* n = std::get_if<VarRef>(&indices[d]->node);
        const auto* zero = std::get_if<IntImm>(&indices[d]->node);
        same &= (n != nullptr && n->var == block->iterators[d].var) || (zero != nullptr && zero->value == 0 && block->iterators[d].extent == 1);
      }
    };
    check(store->targets[0].indices);
    visit_exprs(store->targets[0].value, [&](const Expr& e) {
      if (const auto* load = std::get_if<LoadExpr>(&e->node); load && load->buffer.get() == input) check(load->indices);
    });
  });
  return same && blocks == 1;
}

// Names of a program made unique by a prefix: blocks and loops get it, buffers are replaced as `buffers` says.
class Renamer {
 public:
  Renamer(std::string prefix, const BufferMap& buffers) : prefix_(std::move(prefix)), buffers_(buffers) {}

  Stmt rename(const Stmt& stmt) { return stmt ? replace_buffers(walk(stmt, {}), buffers_) : stmt; }

 private:
  Stmt walk(const Stmt& stmt, const VarMap& vars) {
    if (!stmt) return stmt;
    if (const auto* loop = std::get_if<For>(&stmt->node)) {
      For copy = *loop;
      copy.var = make_var(prefix_ + loop->var->name, loop->var->dtype);
      VarMap inner = vars;
      inner[loop->var.get()] = ref(copy.var);
      copy.body = walk(loop->body, inner);
      return make_stmt(std::move(copy));
    }
    if (const auto* sequence = std::get_if<Sequence>(&stmt->node)) {
      Sequence copy;
      for (const Stmt& part : sequence->body) copy.body.push_back(walk(part, vars));
      return make_stmt(std::move(copy));
    }
    if (const auto* condition = std::get_if<If>(&stmt->node))
      return make_stmt(If{substitute(condition->condition, vars), walk(condition->then_body, vars), walk(condition->else_body, vars)});
    if (const auto* block = std::get_if<Block>(&stmt->node)) {
      Block copy = *block;
      copy.name = prefix_ + block->name;
      for (Iterator& iterator : copy.iterators) iterator.binding = substitute(iterator.binding, vars);
      if (copy.predicate) copy.predicate = substitute(copy.predicate, vars);
      return make_stmt(std::move(copy));
    }
    return stmt;
  }

  std::string prefix_;
  const BufferMap& buffers_;
};

class Merger {
 public:
  explicit Merger(const Graph& graph) : graph_(graph) {}

  Result<FusedGroup> merge(const std::vector<NodeId>& nodes) {
    FusedGroup group;
    group.nodes = nodes;
    std::vector<Stmt> body;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const graph::Node& node = graph_.node(nodes[i]);
      DOVETAIL_ASSIGN(const Program program, ops::define(graph_, nodes[i]));
      const std::string prefix = i == 0 ? "" : fmt::format("e{}.", i);
      BufferMap buffers;
      std::vector<ValueId> values;
      for (const std::size_t position : run_time_inputs(node)) values.push_back(node.inputs[position]);
      for (const ValueId output : node.outputs)
        if (output.valid()) values.push_back(output);
      DOVETAIL_CHECK(values.size() == program.parameters.size(), fmt::format("{}: {} values for {} parameters", node.name, values.size(), program.parameters.size()));
      const bool last = i + 1 == nodes.size();
      for (std::size_t p = 0; p < values.size(); ++p) {
        const Parameter& parameter = program.parameters[p];
        buffers[parameter.buffer.get()] = parameter.role == ParameterRole::output ? (last ? result(group, values[p], parameter) : between(group, values[p], parameter, prefix))
                                                                                  : argument(group, values[p], parameter);
      }
      for (const Buffer& buffer : program.allocations) {
        const Buffer own = make_buffer(prefix + buffer->name, buffer->dtype, buffer->shape, buffer->scope);
        buffers[buffer.get()] = own;
        group.program.allocations.push_back(own);
      }
      body.push_back(Renamer(prefix, buffers).rename(program.body));
      if (i == 0) group.program.name = program.name;
    }
    // Arguments before results, as `arguments` and `results` are.
    group.program.parameters = arguments_;
    group.program.parameters.insert(group.program.parameters.end(), results_.begin(), results_.end());
    std::erase(body, nullptr);
    group.program.body = sequence(std::move(body));
    return group;
  }

 private:
  Buffer argument(FusedGroup& group, ValueId value, const Parameter& parameter) {
    if (const auto it = known_.find(value); it != known_.end()) return it->second;
    const Buffer buffer = make_buffer(fmt::format("in{}", group.arguments.size()), parameter.buffer->dtype, parameter.buffer->shape);
    group.arguments.push_back(value);
    group.constants.push_back(graph_.value(value).constant ? &*graph_.value(value).constant : nullptr);
    arguments_.push_back({buffer, parameter.role});
    return known_[value] = buffer;
  }
  Buffer result(FusedGroup& group, ValueId value, const Parameter& parameter) {
    const Buffer buffer = make_buffer(fmt::format("out{}", group.results.size()), parameter.buffer->dtype, parameter.buffer->shape);
    group.results.push_back(value);
    results_.push_back({buffer, ParameterRole::output});
    return buffer;
  }
  Buffer between(FusedGroup& group, ValueId value, const Parameter& parameter, const std::string& prefix) {
    const Buffer buffer = make_buffer(prefix + "result", parameter.buffer->dtype, parameter.buffer->shape);
    group.program.allocations.push_back(buffer);
    return known_[value] = buffer;
  }

  const Graph& graph_;
  std::map<ValueId, Buffer> known_;
  std::vector<Parameter> arguments_, results_;
};

}  // namespace

Result<std::vector<FusedGroup>> fuse_groups(const Graph& graph, const std::vector<NodeId>& nodes, bool fuse) {
  const std::set<NodeId> own(nodes.begin(), nodes.end());
  std::set<NodeId> taken;
  std::map<NodeId, std::vector<NodeId>> by_last;
  for (const NodeId first : nodes) {
    if (taken.count(first)) continue;
    std::vector<NodeId> chain{first};
    while (fuse) {
      const graph::Node& node = graph.node(chain.back());
      if (node.outputs.size() != 1 || graph.is_output(node.outputs[0]) || ops::find(node.op)->category == ops::Category::opaque) break;
      const std::vector<NodeId> users = graph.users(node.outputs[0]);
      if (users.size() != 1 || !own.count(users[0]) || taken.count(users[0])) break;
      const graph::Node& next = graph.node(users[0]);
      if (next.outputs.size() != 1 || ops::find(next.op)->category != ops::Category::injective) break;
      if (graph.value(next.outputs[0]).type.shape != graph.value(node.outputs[0]).type.shape) break;
      DOVETAIL_ASSIGN(const Program program, ops::define(graph, users[0]));
      const std::vector<std::size_t> positions = run_time_inputs(next);
      bool elementwise = true;
      for (std::size_t p = 0; p < positions.size(); ++p)
        if (next.inputs[positions[p]] == node.outputs[0]) elementwise &= elementwise_in(program, program.parameters[p].buffer.get());
      if (!elementwise) break;
      chain.push_back(users[0]);
    }
    taken.insert(chain.begin(), chain.end());
    by_last[chain.back()] = std::move(chain);
  }
  // A group runs where its last node stands: all it reads is there by then.
  std::vector<FusedGroup> groups;
  for (const NodeId node : nodes) {
    const auto it = by_last.find(node);
    if (it == by_last.end()) continue;
    DOVETAIL_ASSIGN(FusedGroup group, Merger(graph).merge(it->second));
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace dovetail
