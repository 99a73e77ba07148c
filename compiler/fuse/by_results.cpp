#include "compiler/fuse/by_results.h"

#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "loops/rewrite.h"

namespace dovetail {

using namespace loops;

namespace {

constexpr std::size_t kMostResults = 64;  // per kernel

// The statement's only written buffer, if the statement reads none of the program's results; else null.
const BufferNode* result_of(const Stmt& stmt, const std::set<const BufferNode*>& results) {
  std::set<const BufferNode*> written;
  bool plain = true;
  visit_stmts(stmt, [&](const Stmt& inner) {
    plain &= !std::holds_alternative<IntrinsicCall>(inner->node);
    if (const auto* store = std::get_if<Store>(&inner->node))
      for (const StoreTarget& target : store->targets) written.insert(target.buffer.get());
  });
  visit_exprs(stmt, [&](const Expr& e) {
    if (const auto* load = std::get_if<LoadExpr>(&e->node)) plain &= results.count(load->buffer.get()) == 0;
  });
  return plain && written.size() == 1 && results.count(*written.begin()) != 0 ? *written.begin() : nullptr;
}

}  // namespace

std::vector<FusedGroup> by_results(FusedGroup whole) {
  const auto* statements = whole.program.body ? std::get_if<Sequence>(&whole.program.body->node) : nullptr;
  if (whole.results.size() <= kMostResults || statements == nullptr || !whole.program.allocations.empty())
    return {std::move(whole)};
  std::map<const BufferNode*, std::size_t> position;  // position of a result
  std::set<const BufferNode*> results;
  for (const Parameter& parameter : whole.program.parameters)
    if (parameter.role == ParameterRole::output) {
      position.emplace(parameter.buffer.get(), position.size());
      results.insert(parameter.buffer.get());
    }
  std::vector<std::vector<Stmt>> bodies((whole.results.size() + kMostResults - 1) / kMostResults);
  for (const Stmt& stmt : statements->body) {
    const BufferNode* written = result_of(stmt, results);
    if (written == nullptr) return {std::move(whole)};
    bodies[position.at(written) / kMostResults].push_back(stmt);
  }
  std::vector<FusedGroup> parts;
  for (std::size_t part = 0; part < bodies.size(); ++part) {
    FusedGroup group{whole.nodes, whole.anchor, {}, whole.arguments, whole.constants, {}, {}};
    group.program.name = whole.program.name;
    BufferMap renamed;
    for (const Parameter& parameter : whole.program.parameters) {
      if (parameter.role != ParameterRole::output) {
        group.program.parameters.push_back(parameter);
        continue;
      }
      const std::size_t result = position.at(parameter.buffer.get());
      if (result / kMostResults != part) continue;
      const Buffer own = make_buffer(fmt::format("out{}", group.results.size()), parameter.buffer->dtype,
                                     parameter.buffer->shape, parameter.buffer->scope);
      renamed.emplace(parameter.buffer.get(), own);
      group.program.parameters.push_back({own, ParameterRole::output});
      group.results.push_back(whole.results[result]);
    }
    group.program.body = replace_buffers(sequence(std::move(bodies[part])), renamed);
    parts.push_back(std::move(group));
  }
  return parts;
}

}  // namespace dovetail
