#include "driver/loop_counts.h"

#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/overloaded.h"
#include "base/saturating.h"
#include "base/text_table.h"
#include "driver/value_text.h"
#include "loops/rewrite.h"
#include "loops/run_time_checks.h"

namespace dovetail::driver {

namespace {

void count(const loops::Expr& expr, double times, LoopCounts& counts) {
  if (!expr) return;
  const auto operation = [&](std::initializer_list<loops::Expr> operands) {
    counts.operations += times;
    for (const loops::Expr& operand : operands) count(operand, times, counts);
  };
  std::visit(Overloaded{[](const loops::IntImm&) {}, [](const loops::FloatImm&) {}, [](const loops::VarRef&) {},
                        [&](const loops::Unary& node) { operation({node.a}); },
                        [&](const loops::Binary& node) {
                          operation({node.a, node.b});
                        },
                        [&](const loops::Cast& node) { count(node.a, times, counts); },
                        [&](const loops::Bitcast& node) { count(node.a, times, counts); },
                        [&](const loops::Select& node) {
                          for (const loops::Expr& each : {node.condition, node.if_true, node.if_false})
                            count(each, times, counts);
                        },
                        [&](const loops::LoadExpr&) { counts.loads += times; },
                        [&](const loops::Call& node) {
                          counts.operations += times;
                          for (const loops::Expr& each : node.arguments) count(each, times, counts);
                        }},
             expr->node);
}

// `times`: how often the statement runs.
void count(const loops::Stmt& stmt, double times, LoopCounts& counts) {
  if (!stmt) return;
  std::visit(
      Overloaded{[&](const loops::For& node) { count(node.body, times * static_cast<double>(node.extent), counts); },
                 [&](const loops::If& node) {
                   count(node.then_body, times, counts);
                   count(node.else_body, times, counts);
                 },
                 [&](const loops::Sequence& node) {
                   for (const loops::Stmt& each : node.body) count(each, times, counts);
                 },
                 [&](const loops::Block& node) {
                   double reduced = 1;
                   for (const loops::Iterator& iterator : node.iterators)
                     if (iterator.kind == loops::IterKind::reduce) reduced *= static_cast<double>(iterator.extent);
                   count(node.init, reduced == 0 ? 0 : times / reduced, counts);
                   count(node.body, times, counts);
                 },
                 [&](const loops::Store& node) {
                   counts.stores += times * static_cast<double>(node.targets.size());
                   for (const loops::StoreTarget& target : node.targets) count(target.value, times, counts);
                 },
                 [&](const loops::IntrinsicCall&) { counts.calls += times; }},
      stmt->node);
}

std::string number_text(double number) {
  return number < 1e15 ? with_separators(static_cast<std::uint64_t>(number)) : fmt::format("{:.3g}", number);
}

std::string joined_text(const LoopCounts& before, const LoopCounts& after, bool with_equal) {
  std::string text;
  const auto add = [&](double then, double now, const char* what) {
    if (then == now && (now == 0 || !with_equal)) return;
    text += fmt::format("{}{}{} {}", text.empty() || text.ends_with(' ') ? "" : ", ",
                        then == now ? "" : number_text(then) + " -> ", number_text(now), what);
  };
  if (after.depends_on_data && with_equal) text = "at most ";
  add(before.operations, after.operations, "operations");
  add(before.loads, after.loads, "loads");
  add(before.stores, after.stores, "stores");
  add(before.calls, after.calls, "calls");
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> bytes;
  for (const auto& [scope, number] : before.bytes) bytes[scope].first = number;
  for (const auto& [scope, number] : after.bytes) bytes[scope].second = number;
  for (const auto& [scope, pair] : bytes) {
    const auto [then, now] = pair;
    if (then == now && !with_equal) continue;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : "; ", scope, then == now ? "" : bytes_text(then) + " -> ",
                        bytes_text(now));
  }
  return text;
}

}  // namespace

double known_operations(const loops::Program& program) {
  const LoopCounts counts = count_loops(program);
  return counts.depends_on_data ? 0 : counts.operations;
}

std::string rate_text(double operations, double seconds) {
  return operations > 0 && seconds > 0 ? fmt::format(", {:.3g} GOP/s", operations / seconds * 1e-9) : "";
}

LoopCounts count_loops(const loops::Program& program) {
  LoopCounts counts;
  count(program.body, 1, counts);
  const auto note = [&](const loops::Expr& condition) {
    counts.depends_on_data |= condition && loops::holds_load(condition);
  };
  loops::visit_stmts(program.body, [&](const loops::Stmt& stmt) {
    if (const auto* branch = std::get_if<loops::If>(&stmt->node)) note(branch->condition);
    if (const auto* block = std::get_if<loops::Block>(&stmt->node)) note(block->predicate);
    const auto* store = std::get_if<loops::Store>(&stmt->node);
    if (store == nullptr) return;
    for (const loops::StoreTarget& target : store->targets)
      loops::visit_exprs(target.value, [&](const loops::Expr& e) {
        if (const auto* choice = std::get_if<loops::Select>(&e->node)) note(choice->condition);
      });
  });
  const auto add = [&](const loops::Buffer& buffer) {
    std::uint64_t& bytes = counts.bytes[buffer->scope];
    bytes = saturating_sum(bytes, size_bytes(buffer->dtype) * static_cast<std::uint64_t>(element_count(buffer->shape)));
  };
  for (const loops::Parameter& parameter : program.parameters) add(parameter.buffer);
  for (const loops::Buffer& buffer : program.allocations) add(buffer);
  return counts;
}

std::string counts_text(const LoopCounts& counts, const LoopCounts* before) {
  return joined_text(before == nullptr ? counts : *before, counts, true);
}

std::string changes_text(const LoopCounts& before, const LoopCounts& after) {
  return joined_text(before, after, false);
}

Json to_json(const LoopCounts& counts) {
  Json bytes = Json::object();
  for (const auto& [scope, number] : counts.bytes) bytes[scope] = number;
  return {{"operations", counts.operations},
          {"loads", counts.loads},
          {"stores", counts.stores},
          {"calls", counts.calls},
          {"bytes", bytes}};
}

}  // namespace dovetail::driver
