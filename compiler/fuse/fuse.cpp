#include "compiler/fuse/fuse.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/fuse/by_results.h"
#include "compiler/ops/op.h"
#include "loops/rewrite.h"
#include "loops/verify.h"

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
    if (node.inputs[i].valid() &&
        std::find(compile_time.begin(), compile_time.end(), static_cast<int>(i)) == compile_time.end())
      positions.push_back(i);
  return positions;
}

// Properties of a node for fusion.
struct NodeFacts {
  const ops::OpDef* row = nullptr;
  std::vector<std::size_t> positions;  // of the inputs that are parameters
  std::vector<bool> in_place;          // the parameters' read_in_place
  bool plain_end = false;              // the block that writes the result is elementwise, without reduction
  bool costly = false;                 // contains quotients, exponentials, ...: not to be computed twice
  int operations = 0;                  // per element
};

const Block* block_that_writes(const Program& program, const BufferNode* buffer) {
  const Block* found = nullptr;
  visit_stmts(program.body, [&](const Stmt& stmt) {
    const auto* block = std::get_if<Block>(&stmt->node);
    const auto* store = block == nullptr || !block->body ? nullptr : std::get_if<Store>(&block->body->node);
    if (store != nullptr && store->targets.size() == 1 && store->targets[0].buffer.get() == buffer) found = block;
  });
  return found;
}

bool is_at(const Expr& index, const Iterator& iterator) {
  const auto* n = std::get_if<VarRef>(&index->node);
  const auto* zero = std::get_if<IntImm>(&index->node);
  return (n != nullptr && n->var == iterator.var) || (zero != nullptr && zero->value == 0 && iterator.extent == 1);
}

bool is_plain(const Block& block) {
  const auto* store = std::get_if<Store>(&block.body->node);
  if (block.init || block.predicate || store == nullptr || store->targets.size() != 1 ||
      store->targets[0].indices.size() != block.iterators.size())
    return false;
  for (std::size_t d = 0; d < block.iterators.size(); ++d)
    if (block.iterators[d].kind != IterKind::spatial || !is_at(store->targets[0].indices[d], block.iterators[d]))
      return false;
  return true;
}

int count_blocks(const Program& program) {
  int blocks = 0;
  visit_stmts(program.body, [&](const Stmt& stmt) { blocks += std::holds_alternative<Block>(stmt->node); });
  return blocks;
}

// For each parameter, whether an output element reads only the parameter's element at the same position; false unless
// the program is one elementwise block.
std::vector<bool> read_in_place(const Program& program) {
  std::vector<bool> in_place(program.parameters.size(), false);
  const Block* block = block_that_writes(program, program.parameters.back().buffer.get());
  if (count_blocks(program) != 1 || block == nullptr || !is_plain(*block)) return in_place;
  std::set<const BufferNode*> elsewhere;
  visit_exprs(block->body, [&](const Expr& e) {
    const auto* load = std::get_if<LoadExpr>(&e->node);
    if (load == nullptr) return;
    bool same = load->indices.size() == block->iterators.size();
    for (std::size_t d = 0; same && d < load->indices.size(); ++d) same &= is_at(load->indices[d], block->iterators[d]);
    if (!same) elsewhere.insert(load->buffer.get());
  });
  for (std::size_t p = 0; p < in_place.size(); ++p)
    in_place[p] = elsewhere.count(program.parameters[p].buffer.get()) == 0;
  return in_place;
}

bool is_same(const Region& a, const Region& b) {
  return std::ranges::equal(a.ranges, b.ranges, [](const RangeExpr& x, const RangeExpr& y) {
    return x.extent == y.extent && structurally_equal(x.min, y.min);
  });
}

// A node may read one value through several operands, each at another position (Concat of a value with itself). A block
// declares one region per buffer.
Stmt with_one_region_of_each(const Stmt& stmt) {
  const auto* block = std::get_if<Block>(&stmt->node);
  if (block == nullptr) return stmt;
  for (std::size_t i = 0; i < block->reads.size(); ++i)
    for (std::size_t j = i + 1; j < block->reads.size(); ++j) {
      if (block->reads[i].buffer != block->reads[j].buffer || is_same(block->reads[i], block->reads[j])) continue;
      Block merged = *block;
      merged.reads = infer_regions(*block).reads;
      return make_stmt(std::move(merged));
    }
  return stmt;
}

// Makes the names of a program unique by a prefix: blocks and loops get it, buffers are replaced according to
// `buffers`.
class Renamer {
 public:
  Renamer(std::string prefix, const BufferMap& buffers) : prefix_(std::move(prefix)), buffers_(buffers) {}

  Stmt rename(const Stmt& stmt) {
    return stmt ? rewrite_stmt(replace_buffers(walk(stmt, {}), buffers_), with_one_region_of_each) : stmt;
  }

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
      return make_stmt(If{substitute(condition->condition, vars), walk(condition->then_body, vars),
                          walk(condition->else_body, vars)});
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

  // Operands of the anchor come before it, everything else after it: schedules treat what follows the anchor as its
  // epilogue.
  Result<FusedGroup> merge(const std::vector<NodeId>& in_order, NodeId anchor) {
    FusedGroup group;
    group.anchor = anchor;
    std::set<NodeId> needed{anchor};
    for (auto node = in_order.rbegin(); node != in_order.rend(); ++node)
      for (const ValueId output : graph_.node(*node).outputs)
        for (const NodeId user : graph_.users(output))
          if (needed.count(user)) needed.insert(*node);
    std::vector<NodeId>& nodes = group.nodes;
    for (const bool first : {true, false})
      for (const NodeId node : in_order)
        if ((needed.count(node) != 0) == first) nodes.push_back(node);
    std::vector<Stmt> body;
    int others = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const graph::Node& node = graph_.node(nodes[i]);
      DOVETAIL_ASSIGN(const Program program, ops::define(graph_, nodes[i]));
      const std::string prefix = nodes[i] == anchor ? "" : fmt::format("e{}.", ++others);
      BufferMap buffers;
      std::vector<ValueId> values;
      for (const std::size_t position : run_time_inputs(node)) values.push_back(node.inputs[position]);
      for (const ValueId output : node.outputs)
        if (output.valid()) values.push_back(output);
      DOVETAIL_CHECK(
          values.size() == program.parameters.size(),
          fmt::format("{}: {} values for {} parameters", node.name, values.size(), program.parameters.size()));
      const bool last = i + 1 == nodes.size();
      const bool elementwise = ops::find(node.op)->category == ops::Category::injective;
      for (std::size_t p = 0; p < values.size(); ++p) {
        const Parameter& parameter = program.parameters[p];
        buffers[parameter.buffer.get()] =
            parameter.role == ParameterRole::output
                ? (last ? result(group, values[p], parameter) : between(group, values[p], parameter, prefix))
                : argument(group, values[p], parameter, !elementwise && given_before(values, p));
      }
      for (const Buffer& buffer : program.allocations) {
        const Buffer own = make_buffer(prefix + buffer->name, buffer->dtype, buffer->shape, buffer->scope);
        buffers[buffer.get()] = own;
        group.program.allocations.push_back(own);
      }
      body.push_back(Renamer(prefix, buffers).rename(program.body));
      if (nodes[i] == anchor) group.program.name = program.name;
    }
    // Arguments before results, in the order of `arguments` and `results`.
    group.program.parameters = arguments_;
    group.program.parameters.insert(group.program.parameters.end(), results_.begin(), results_.end());
    std::erase(body, nullptr);
    group.program.body = sequence(std::move(body));
    return group;
  }

 private:
  static bool given_before(const std::vector<ValueId>& values, std::size_t position) {
    const auto end = values.begin() + static_cast<std::ptrdiff_t>(position);
    return std::find(values.begin(), end, values[position]) != end;
  }

  // A product of a value with itself may need it in two layouts, so each operand is then a separate argument.
  Buffer argument(FusedGroup& group, ValueId value, const Parameter& parameter, bool of_its_own) {
    if (const auto it = known_.find(value); it != known_.end() && !(of_its_own && is_argument(it->second)))
      return it->second;
    const Buffer buffer =
        make_buffer(fmt::format("in{}", group.arguments.size()), parameter.buffer->dtype, parameter.buffer->shape);
    group.arguments.push_back(value);
    group.constants.push_back(graph_.value(value).constant ? &*graph_.value(value).constant : nullptr);
    arguments_.push_back({buffer, parameter.role});
    known_.emplace(value, buffer);
    return buffer;
  }
  bool is_argument(const Buffer& buffer) const {
    return std::ranges::any_of(arguments_, [&](const Parameter& parameter) { return parameter.buffer == buffer; });
  }
  Buffer result(FusedGroup& group, ValueId value, const Parameter& parameter) {
    const Buffer buffer =
        make_buffer(fmt::format("out{}", group.results.size()), parameter.buffer->dtype, parameter.buffer->shape);
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

// The limit of one kernel. Every step of its schedule examines all of it, so the time for a long chain would grow with
// its square; the cost of writing and reading one more result is small compared with so many nodes.
constexpr std::size_t kMostNodes = 64;

struct Group {
  std::vector<NodeId> nodes;  // in execution order; the result of the last one is the group's
  NodeId anchor;
  bool elementwise = false;  // every node computes each element of its result separately, from elements of its operands
  bool alive = true;
};

constexpr std::int64_t kCheapBroadcast =
    16 << 10;  // number of results up to which a few more operations each cost less than a separate kernel
constexpr int kCheapAgain = 4;  // operations that are cheaper to repeat than writing and reading a result

class Fuser {
 public:
  Fuser(const Graph& graph, const std::vector<NodeId>& nodes) : graph_(graph), nodes_(nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) position_[nodes[i]] = i;
  }

  Result<void> run(bool fuse) {
    for (const NodeId id : nodes_) {
      DOVETAIL_TRY(look_at(id));
      const bool elementwise =
          facts_.at(id).row->category == ops::Category::injective && graph_.node(id).outputs.size() == 1;
      group_of_[id] = groups_.size();
      groups_that_hold_[id] = {groups_.size()};
      groups_.push_back({{id}, id, elementwise, true});
    }
    for (const NodeId id : nodes_)
      for (const ValueId output : graph_.node(id).outputs) readers_[output] = graph_.users(output);
    if (!fuse) return {};
    // Fuse with readers first: an anchor gets its epilogue before others may take it.
    for (const NodeId id : nodes_)
      if (!groups_[group_of_.at(id)].elementwise)
        while (join_reader(group_of_.at(id))) {
        }
    for (const NodeId id : nodes_)
      while (join_reader(group_of_.at(id))) {
      }
    for (const NodeId id : nodes_) prepend_to_reader(group_of_.at(id));
    for (const NodeId id : nodes_) compute_again(group_of_.at(id));
    return {};
  }

  // Groups are ordered by their last nodes, so that all inputs of a group are available.
  Result<std::vector<FusedGroup>> merged(bool fuse) const {
    std::map<std::size_t, const Group*> by_last;
    for (const Group& group : groups_)
      if (group.alive) by_last[position_.at(group.nodes.back())] = &group;
    std::vector<FusedGroup> result;
    for (const auto& [position, group] : by_last) {
      DOVETAIL_ASSIGN(FusedGroup made, Merger(graph_).merge(group->nodes, group->anchor));
      const std::vector<std::string> unfused = fuse ? reasons(*group) : std::vector<std::string>{};
      std::vector<FusedGroup> parts = by_results(std::move(made));
      parts.back().unfused = unfused;
      std::ranges::move(parts, std::back_inserter(result));
    }
    return result;
  }

 private:
  Result<void> look_at(NodeId id) {
    const graph::Node& node = graph_.node(id);
    NodeFacts facts;
    DOVETAIL_ASSIGN(const Program program, ops::define(graph_, id));
    facts.row = ops::find(node.op);
    facts.positions = run_time_inputs(node);
    if (!program.parameters.empty()) facts.in_place = read_in_place(program);
    if (node.outputs.size() == 1 && !program.parameters.empty()) {
      const Block* last = block_that_writes(program, program.parameters.back().buffer.get());
      facts.plain_end = last != nullptr && is_plain(*last);
    }
    visit_stmts(program.body, [&](const Stmt& stmt) {
      if (const auto* block = std::get_if<Block>(&stmt->node))
        visit_exprs(block->body, [&](const Expr& e) {
          const auto* unary = std::get_if<Unary>(&e->node);
          const auto* binary = std::get_if<Binary>(&e->node);
          facts.costly |= unary != nullptr && (unary->op >= UnaryOp::exp || unary->op == UnaryOp::sqrt);
          facts.costly |= binary != nullptr &&
                          (binary->op == BinaryOp::div || binary->op == BinaryOp::mod || binary->op == BinaryOp::pow);
          facts.costly |= std::holds_alternative<Call>(e->node);
          facts.operations += (unary != nullptr || binary != nullptr || std::holds_alternative<Select>(e->node)) &&
                              is_floating(e->dtype);
        });
    });
    facts_.emplace(id, std::move(facts));
    return {};
  }

  const Shape& shape(ValueId value) const { return graph_.value(value).type.shape; }
  ValueId result(const Group& group) const { return graph_.node(group.nodes.back()).outputs[0]; }
  bool own(NodeId id) const { return position_.count(id) != 0; }

  // Whether the node reads the value at the same position as the element that it computes.
  bool reads_in_place(NodeId id, ValueId value) const {
    const graph::Node& node = graph_.node(id);
    const NodeFacts& facts = facts_.at(id);
    if (node.outputs.size() != 1 || facts.row->category != ops::Category::injective ||
        shape(node.outputs[0]) != shape(value))
      return false;
    for (std::size_t p = 0; p < facts.positions.size(); ++p)
      if (node.inputs[facts.positions[p]] == value && !facts.in_place[p]) return false;
    return std::any_of(facts.positions.begin(), facts.positions.end(),
                       [&](std::size_t p) { return node.inputs[p] == value; });
  }
  ops::Movement movement(NodeId id) const { return facts_.at(id).row->movement; }
  bool rearranges(NodeId id) const { return movement(id) == ops::Movement::rearranges; }

  // A Reshape that turns values with more dimensions into images, row by row, as after the Transpose of a channel
  // shuffle. Fused with its producer, the kernel writes the images in the order in which they are read; alone the
  // Reshape would be a view, and the images would be copied.
  bool merges_channels(NodeId id) const {
    const graph::Node& node = graph_.node(id);
    const Shape &from = shape(node.inputs[0]), &to = shape(node.outputs[0]);
    return movement(id) == ops::Movement::reshapes && to.size() == 4 && from.size() > 4 &&
           std::equal(to.end() - 2, to.end(), from.end() - 2);
  }

  // Why the group cannot absorb the readers of its result; empty if it can.
  std::string against_reader(const Group& group) const {
    const graph::Node& last = graph_.node(group.nodes.back());
    if (last.outputs.size() != 1) return fmt::format("{} has {} results", last.op, last.outputs.size());
    const ValueId value = last.outputs[0];
    if (graph_.is_output(value)) return "the result is an output of the model";
    const std::vector<NodeId>& readers = readers_.at(value);
    if (readers.size() > 1) return fmt::format("the result has {} readers", readers.size());
    if (readers.empty()) return "the result has no readers";
    const NodeId reader = readers[0];
    if (!own(reader)) return "the node runs on another target";
    const NodeFacts& facts = facts_.at(group.nodes.back());
    const graph::Node& next = graph_.node(reader);
    if (facts.row->category == ops::Category::opaque && !facts.plain_end)
      return fmt::format("{} does not end elementwise", last.op);
    if (facts_.at(reader).row->category != ops::Category::injective)
      return fmt::format("{} is not elementwise", next.op);
    if (next.outputs.size() != 1) return fmt::format("{} has {} results", next.op, next.outputs.size());
    if (group.elementwise && rearranges(reader) && element_count(shape(next.outputs[0])) <= element_count(shape(value)))
      return "";
    if (group.elementwise && rearranges(group.nodes.back()) && merges_channels(reader)) return "";
    if (rearranges(reader)) return fmt::format("{} moves what {} computes", next.op, graph_.node(group.anchor).op);
    if (shape(next.outputs[0]) != shape(value))
      return fmt::format("{} makes {} of {}", next.op, to_string(shape(next.outputs[0])), to_string(shape(value)));
    if (!reads_in_place(reader, value)) return fmt::format("{} does not read the result element by element", next.op);
    return "";
  }

  // Why the two cannot be one kernel, regardless of their nodes' operations; empty if they can.
  std::string against_size(const Group& group, std::size_t other) const {
    const std::size_t sum = group.nodes.size() + groups_[other].nodes.size();
    if (sum <= kMostNodes || &group == &groups_[other]) return "";
    return fmt::format("{} nodes exceed the limit of {} per kernel", sum, kMostNodes);
  }

  bool join_reader(std::size_t index) {
    Group& group = groups_[index];
    if (!group.alive || !against_reader(group).empty()) return false;
    const NodeId reader = readers_.at(result(group))[0];
    const std::size_t other = group_of_.at(reader);
    // If the reader is already in a group with other nodes, this group is prepended to that one.
    if (groups_[other].nodes.front() != reader || !groups_[other].elementwise || other == index ||
        !against_size(group, other).empty())
      return false;
    absorb(index, other);
    return true;
  }

  // Moves the nodes of `from` to `into`.
  void absorb(std::size_t into, std::size_t from) {
    Group &target = groups_[into], &source = groups_[from];
    target.nodes.insert(target.nodes.end(), source.nodes.begin(), source.nodes.end());
    std::sort(target.nodes.begin(), target.nodes.end(),
              [&](NodeId a, NodeId b) { return position_.at(a) < position_.at(b); });
    target.nodes.erase(std::unique(target.nodes.begin(), target.nodes.end()), target.nodes.end());
    target.elementwise &= source.elementwise;
    for (const NodeId node : source.nodes) {
      group_of_[node] = into;
      groups_that_hold_[node].push_back(into);
    }
    source.alive = false;
  }

  bool costly(const Group& group) const {
    return std::any_of(group.nodes.begin(), group.nodes.end(), [&](NodeId id) { return facts_.at(id).costly; });
  }
  int operations(const Group& group) const {
    int sum = 0;
    for (const NodeId id : group.nodes) sum += facts_.at(id).operations;
    return sum;
  }
  // Whether every node computes each element of its result at the same position as in the group's result.
  bool keeps_places(const Group& group) const {
    return std::all_of(group.nodes.begin(), group.nodes.end(), [&](NodeId id) {
      return !rearranges(id) && movement(id) != ops::Movement::joins &&
             shape(graph_.node(id).outputs[0]) == shape(result(group));
    });
  }

  // Why an elementwise group cannot be prepended to the group of its only reader; empty if it can.
  std::string against_prepending(const Group& group) const {
    if (!group.elementwise) return fmt::format("{} is not elementwise", graph_.node(group.anchor).op);
    const ValueId value = result(group);
    if (graph_.is_output(value)) return "the result is an output of the model";
    const std::vector<NodeId>& readers = readers_.at(value);
    if (readers.size() != 1) return fmt::format("the result has {} readers", readers.size());
    const NodeId reader = readers[0];
    if (!own(reader)) return "the node runs on another target";
    const NodeFacts& facts = facts_.at(reader);
    const Group& target = groups_[group_of_.at(reader)];
    const graph::Node& node = graph_.node(reader);
    if (reads_in_place(reader, value))
      return keeps_places(group) ? "" : "operations that move elements are not computed inside another loop";
    if (movement(reader) == ops::Movement::joins)
      return fmt::format("{} would compute every operand for each of its elements", node.op);
    if (facts.row->category == ops::Category::injective && node.outputs.size() == 1) {
      if (shape(node.outputs[0]) == shape(value))
        return fmt::format("{} does not read the result element by element", node.op);
      if (movement(reader) != ops::Movement::none)
        return fmt::format("{} makes {} of {}", node.op, to_string(shape(node.outputs[0])), to_string(shape(value)));
      const std::int64_t times = element_count(shape(node.outputs[0]));
      if (costly(group)) return fmt::format("a costly result is broadcast to {} elements", times);
      if (times > kCheapBroadcast)
        return fmt::format("the result is broadcast to {} elements, beyond {}", times, kCheapBroadcast);
      return keeps_places(group) ? "" : "operations that move elements are not computed inside another loop";
    }
    if (facts.row->category != ops::Category::reduction && !facts.row->takes_prologue)
      return fmt::format("{} reads each element several times", node.op);
    if (target.nodes.size() != 1 && target.anchor != reader)
      return fmt::format("{} is not the first of its kernel", node.op);
    if (costly(group)) return fmt::format("{} would compute costly elements again", node.op);
    if (operations(group) > kCheapAgain)
      return fmt::format("{} operations are too many to compute again", operations(group));
    return keeps_places(group) ? "" : "operations that move elements are not computed inside another loop";
  }

  void prepend_to_reader(std::size_t index) {
    if (!groups_[index].alive || !against_prepending(groups_[index]).empty()) return;
    const std::size_t other = group_of_.at(readers_.at(result(groups_[index]))[0]);
    if (other != index && against_size(groups_[index], other).empty()) absorb(other, index);
  }

  // If all readers read in place, they may recompute one or two cheap nodes.
  std::string against_again(const Group& group) const {
    if (!group.elementwise || group.nodes.size() > 2 || costly(group) || operations(group) > kCheapAgain)
      return "the node is not cheap enough to be computed again";
    const ValueId value = result(group);
    if (graph_.is_output(value)) return "the result is an output of the model";
    std::set<ValueId> read;
    for (const NodeId id : group.nodes)
      for (const std::size_t p : facts_.at(id).positions) {
        const ValueId input = graph_.node(id).inputs[p];
        const NodeId producer = graph_.value(input).producer;
        const bool inside =
            producer.valid() && std::find(group.nodes.begin(), group.nodes.end(), producer) != group.nodes.end();
        if (!graph_.is_constant(input) && !inside) read.insert(input);
      }
    if (read.size() != 1 || shape(*read.begin()) != shape(value))
      return "the node reads more elements than it computes";
    if (!keeps_places(group)) return "operations that move elements are not computed inside another loop";
    for (const NodeId reader : readers_.at(value)) {
      if (!own(reader)) return "the node runs on another target";
      if (!reads_in_place(reader, value))
        return fmt::format("{} does not read the result element by element", graph_.node(reader).op);
    }
    return "";
  }

  void compute_again(std::size_t index) {
    const Group group = groups_[index];
    if (!group.alive || !against_again(group).empty()) return;
    std::set<std::size_t> targets;
    for (const NodeId reader : readers_.at(result(group)))
      for (const std::size_t i : groups_that_hold_.at(reader))
        if (groups_[i].alive && i != index) targets.insert(i);
    if (targets.empty() ||
        std::ranges::any_of(targets, [&](std::size_t target) { return !against_size(group, target).empty(); }))
      return;
    for (const std::size_t target : targets) absorb(target, index);
  }

  std::vector<std::string> reasons(const Group& group) const {
    std::vector<std::string> lines;
    const graph::Node& last = graph_.node(group.nodes.back());
    const std::set<NodeId> inside(group.nodes.begin(), group.nodes.end());
    for (const ValueId value : last.outputs) {
      for (const NodeId reader : readers_.at(value)) {
        if (inside.count(reader)) continue;
        std::string why = against_reader(group);
        const std::string front = against_prepending(group);
        if (why.empty()) why = against_size(group, group_of_.at(reader));
        if (why.empty()) why = "the reader is already in another kernel";
        if (group.elementwise && !front.empty() && front != why) why += "; " + front;
        lines.push_back(fmt::format("{} -> {} not fused: {}", last.name, graph_.node(reader).name, why));
      }
    }
    return lines;
  }

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  std::map<NodeId, std::size_t> position_;
  std::map<NodeId, NodeFacts> facts_;
  std::map<NodeId, std::size_t> group_of_;
  std::map<NodeId, std::vector<std::size_t>> groups_that_hold_;  // includes groups that no longer exist
  std::map<ValueId, std::vector<NodeId>> readers_;
  std::vector<Group> groups_;
};

}  // namespace

Result<std::vector<FusedGroup>> fuse_groups(const Graph& graph, const std::vector<NodeId>& nodes, bool fuse) {
  Fuser fuser(graph, nodes);
  DOVETAIL_TRY(fuser.run(fuse));
  return fuser.merged(fuse);
}

}  // namespace dovetail
