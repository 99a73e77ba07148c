#include "compiler/schedule/nest.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <set>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loops/verify.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

// Depth-first; calls `visit` with every statement outside of blocks, and the blocks; stops when it returns true. Then
// `path` leads from there to the root.
template <typename Visit>
bool walk(const Stmt& stmt, const Visit& visit, Path* path = nullptr) {
  if (!stmt) return false;
  bool stops = visit(stmt);
  if (const auto* loop = std::get_if<For>(&stmt->node); loop && !stops) stops = walk(loop->body, visit, path);
  if (const auto* condition = std::get_if<If>(&stmt->node); condition && !stops)
    stops = walk(condition->then_body, visit, path) || walk(condition->else_body, visit, path);
  if (const auto* seq = std::get_if<Sequence>(&stmt->node); seq && !stops)
    stops = std::ranges::any_of(seq->body, [&](const Stmt& inner) { return walk(inner, visit, path); });
  if (stops && path) path->push_back(stmt);
  return stops;
}

template <typename Matches>
std::optional<Path> find(const Stmt& root, const Matches& matches) {
  Path path;
  if (!walk(root, matches, &path)) return std::nullopt;
  std::ranges::reverse(path);
  return path;
}

std::string names_of(const Stmt& root, bool loops) {
  std::vector<std::string> names;
  walk(root, [&](const Stmt& stmt) {
    if (loops && as_for(stmt)) names.push_back(as_for(stmt)->var->name);
    if (!loops && as_block(stmt)) names.push_back(as_block(stmt)->name);
    return false;
  });
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

const For* as_for(const Stmt& stmt) { return stmt ? std::get_if<For>(&stmt->node) : nullptr; }
const Block* as_block(const Stmt& stmt) { return stmt ? std::get_if<Block>(&stmt->node) : nullptr; }

std::optional<Path> find_loop(const Stmt& root, std::string_view name) {
  return find(root, [&](const Stmt& stmt) { return as_for(stmt) && as_for(stmt)->var->name == name; });
}
std::optional<Path> find_block(const Stmt& root, std::string_view name) {
  return find(root, [&](const Stmt& stmt) { return as_block(stmt) && as_block(stmt)->name == name; });
}
Buffer find_buffer(const Program& program, std::string_view name) {
  for (const Parameter& parameter : program.parameters)
    if (parameter.buffer->name == name) return parameter.buffer;
  for (const Buffer& buffer : program.allocations)
    if (buffer->name == name) return buffer;
  return nullptr;
}

Diagnostic refuse(std::string_view primitive, std::string_view object, std::string why, std::string hint) {
  return {fmt::format("cannot {} {}", primitive, object), "schedule", std::move(why), std::move(hint)};
}

namespace {

// A loop or block of that name inside an opaque block: the refusal of a step that names it.
std::optional<Diagnostic> hidden(const Program& program, std::string_view name, std::string_view primitive) {
  std::optional<Diagnostic> refusal;
  for (const Path& path : blocks_below(program.body)) {
    const Block& around = *as_block(path.back());
    visit_stmts(around.body, [&](const Stmt& stmt) {
      const bool loop = as_for(stmt) && as_for(stmt)->var->name == name;
      if (loop || (as_block(stmt) && as_block(stmt)->name == name))
        refusal = refuse(primitive, name,
                         fmt::format("the {} belongs to the body of block {}", loop ? "loop" : "block", around.name),
                         inner_block(around) ? "schedule it before blockize" : "name a loop that encloses a block");
    });
  }
  return refusal;
}

}  // namespace

Result<Path> require_loop(const Program& program, std::string_view name, std::string_view primitive) {
  if (auto path = find_loop(program.body, name)) return *std::move(path);
  if (auto refusal = hidden(program, name, primitive)) return *std::move(refusal);
  return refuse(primitive, name, fmt::format("program {} has no loop of this name", program.name),
                "the loops are " + names_of(program.body, true));
}
Result<Path> require_block(const Program& program, std::string_view name, std::string_view primitive) {
  if (auto path = find_block(program.body, name)) return *std::move(path);
  if (auto refusal = hidden(program, name, primitive)) return *std::move(refusal);
  return refuse(primitive, name, fmt::format("program {} has no block of this name", program.name),
                "the blocks are " + names_of(program.body, false));
}
Result<Buffer> require_buffer(const Program& program, std::string_view name, std::string_view primitive) {
  if (Buffer buffer = find_buffer(program, name)) return buffer;
  std::vector<std::string> names;
  for (const Parameter& parameter : program.parameters) names.push_back(parameter.buffer->name);
  for (const Buffer& buffer : program.allocations) names.push_back(buffer->name);
  return refuse(primitive, name, fmt::format("program {} has no buffer of this name", program.name),
                fmt::format("the buffers are {}", fmt::join(names, ", ")));
}
Result<std::int64_t> require_integer(std::string_view text, std::int64_t min, std::string_view what,
                                     std::string_view primitive) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < min)
    return refuse(primitive, text, fmt::format("{} must be an integer of at least {}", what, min),
                  "give such a number");
  return value;
}

Stmt replace(const Stmt& root, const Stmt& target, Stmt replacement) {
  if (root == target) return replacement;
  if (const auto* loop = std::get_if<For>(&root->node)) {
    Stmt body = replace(loop->body, target, replacement);
    if (body == loop->body) return root;
    if (!body) return nullptr;
    For copy = *loop;
    copy.body = std::move(body);
    return make_stmt(std::move(copy));
  }
  if (const auto* condition = std::get_if<If>(&root->node)) {
    Stmt then_body = replace(condition->then_body, target, replacement);
    Stmt else_body = condition->else_body ? replace(condition->else_body, target, replacement) : nullptr;
    if (then_body == condition->then_body && else_body == condition->else_body) return root;
    if (!then_body) return nullptr;
    return make_stmt(If{condition->condition, std::move(then_body), std::move(else_body)});
  }
  if (const auto* seq = std::get_if<Sequence>(&root->node)) {
    std::vector<Stmt> body;
    bool changed = false;
    for (const Stmt& stmt : seq->body) {
      Stmt copy = replace(stmt, target, replacement);
      changed |= copy != stmt;
      if (copy) body.push_back(std::move(copy));
    }
    if (!changed) return root;
    return body.empty() ? nullptr : sequence(std::move(body));
  }
  if (const auto* block = std::get_if<Block>(&root->node)) {
    Stmt body = replace(block->body, target, replacement);
    if (body == block->body) return root;
    if (!body) return nullptr;
    Block copy = *block;
    copy.body = std::move(body);
    return make_stmt(std::move(copy));
  }
  return root;
}

std::vector<const For*> loops_of(const Path& path) {
  std::vector<const For*> loops;
  for (const Stmt& stmt : path)
    if (const For* loop = as_for(stmt)) loops.push_back(loop);
  return loops;
}

Bounds bounds_of(const std::vector<const For*>& loops) {
  Bounds bounds;
  for (const For* loop : loops) bounds[loop->var.get()] = {0, std::max<std::int64_t>(loop->extent - 1, 0)};
  return bounds;
}

namespace {

void add_blocks(Path& path, std::vector<Path>& blocks) {
  const auto add_child = [&](const Stmt& stmt) {
    if (!stmt) return;
    path.push_back(stmt);
    add_blocks(path, blocks);
    path.pop_back();
  };
  const StmtNode& node = *path.back();
  if (as_block(path.back())) blocks.push_back(path);
  if (const auto* loop = std::get_if<For>(&node.node)) add_child(loop->body);
  if (const auto* condition = std::get_if<If>(&node.node))
    add_child(condition->then_body), add_child(condition->else_body);
  if (const auto* seq = std::get_if<Sequence>(&node.node))
    for (const Stmt& stmt : seq->body) add_child(stmt);
}

}  // namespace

std::vector<Path> blocks_below(const Stmt& root) {
  std::vector<Path> blocks;
  Path path{root};
  if (root) add_blocks(path, blocks);
  return blocks;
}

const Block* only_block(const Stmt& stmt) {
  const Stmt* at = &stmt;
  while (const For* loop = as_for(*at)) at = &loop->body;
  return as_block(*at);
}

const Block* inner_block(const Block& block) { return only_block(block.body); }

Result<void> require_no_inner_block(const Block& block, std::string_view primitive, std::string_view object) {
  if (const Block* inner = inner_block(block))
    return refuse(primitive, object, fmt::format("block {} contains block {}", block.name, inner->name),
                  "apply this step before blockize");
  return {};
}

const Block* irregular_block(const Stmt& root) {
  const auto holds = [](const Stmt& stmt, const auto& matches) {
    bool found = false;
    if (stmt) visit_stmts(stmt, [&](const Stmt& inner) { found |= matches(inner); });
    return found;
  };
  const auto is_block = [](const Stmt& stmt) { return as_block(stmt) != nullptr; };
  const Block* irregular = nullptr;
  walk(root, [&](const Stmt& stmt) {
    const Block* block = as_block(stmt);
    if (!block || (!holds(block->init, is_block) && !holds(block->body, is_block))) return false;
    const Block* inner = inner_block(*block);
    const bool plain = inner && !block->init && !inner->init && !inner->predicate && !holds(inner->body, is_block);
    const bool kinds =
        holds(block->body, [](const Stmt& below) { return as_for(below) && as_for(below)->kind != ForKind::serial; });
    if (!plain || kinds) irregular = block;
    return irregular != nullptr;
  });
  return irregular;
}

VarMap bindings_of(const Block& block) {
  VarMap map;
  for (const Iterator& iterator : block.iterators) map[iterator.var.get()] = iterator.binding;
  return map;
}

namespace {

bool any_region(const std::vector<Region>& regions, const BufferNode* buffer) {
  return std::ranges::any_of(regions, [&](const Region& region) { return region.buffer.get() == buffer; });
}

}  // namespace

bool reads(const Stmt& stmt, const BufferNode* buffer) {
  const auto in_condition = [&](const Stmt& inner) {
    bool found = false;
    if (const auto* condition = std::get_if<If>(&inner->node))
      visit_exprs(condition->condition, [&](const Expr& expr) {
        const auto* access = std::get_if<LoadExpr>(&expr->node);
        found |= access && access->buffer.get() == buffer;
      });
    return found;
  };
  if (walk(stmt, [&](const Stmt& at) { return as_block(at) && any_region(as_block(at)->reads, buffer); })) return true;
  bool found = false;
  visit_stmts(stmt, [&](const Stmt& inner) { found |= in_condition(inner); });
  return found;
}
bool writes(const Stmt& stmt, const BufferNode* buffer) {
  return walk(stmt, [&](const Stmt& at) { return as_block(at) && any_region(as_block(at)->writes, buffer); });
}

Block with_inferred_regions(Block block) {
  BlockRegions regions = infer_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  return block;
}

Expr conjunction(Expr a, Expr b) {
  if (!a) return b;
  if (!b) return a;
  return logical_and(std::move(a), std::move(b));
}

bool mentions(const Expr& expr, const Var& var) {
  bool found = false;
  visit_exprs(expr, [&](const Expr& e) {
    if (const auto* reference = std::get_if<VarRef>(&e->node)) found |= reference->var == var;
  });
  return found;
}

bool is_positive_zero(const Expr& expr) {
  if (const auto* n = std::get_if<IntImm>(&expr->node)) return n->value == 0;
  const auto* n = std::get_if<FloatImm>(&expr->node);
  return n != nullptr && n->value == 0 && !std::signbit(n->value);
}

std::vector<Expr> conjuncts(const Expr& predicate) {
  if (!predicate) return {};
  const auto* both = std::get_if<Binary>(&predicate->node);
  if (!both || both->op != BinaryOp::logical_and) return {predicate};
  std::vector<Expr> terms = conjuncts(both->a);
  for (Expr& term : conjuncts(both->b)) terms.push_back(std::move(term));
  return terms;
}

bool tensorized(const Stmt& stmt, const BufferNode* buffer) {
  bool found = false;
  visit_stmts(stmt, [&](const Stmt& inner) {
    if (const auto* intrinsic = std::get_if<IntrinsicCall>(&inner->node))
      for (const IntrinsicOperand& operand : intrinsic->operands) found |= operand.buffer.get() == buffer;
  });
  return found;
}

namespace {

// The names of all items in the program.
void visit_names(const Program& program, const std::function<void(std::string_view)>& visit) {
  for (const Parameter& parameter : program.parameters) visit(parameter.buffer->name);
  for (const Buffer& buffer : program.allocations) visit(buffer->name);
  visit_stmts(program.body, [&](const Stmt& stmt) {
    if (const For* loop = as_for(stmt)) visit(loop->var->name);
    if (const Block* block = as_block(stmt)) {
      visit(block->name);
      for (const Iterator& iterator : block->iterators) visit(iterator.var->name);
    }
  });
}

bool is_taken(const Program& program, std::string_view name) {
  bool taken = false;
  visit_names(program, [&](std::string_view other) { taken |= other == name; });
  return taken;
}

// A word of the text form; other reserved words are reported when the text is parsed.
bool is_word(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; });
}

}  // namespace

Result<void> require_new_name(const Program& program, std::string_view name, std::string_view primitive,
                              std::string_view object, const std::vector<std::string>& freed) {
  if (!is_word(name))
    return refuse(primitive, object, fmt::format("«{}» is not a name", name),
                  "use letters, digits, _ and .; begin with a letter or _");
  if (std::find(freed.begin(), freed.end(), name) != freed.end()) return {};
  if (is_taken(program, name))
    return refuse(primitive, object, fmt::format("the name {} is already used", name), "choose another name");
  return {};
}

std::string free_name(const Program& program, const std::string& stem, const std::vector<std::string>& taken) {
  std::unordered_set<std::string_view> names(taken.begin(), taken.end());
  visit_names(program, [&](std::string_view name) {
    if (name.starts_with(stem)) names.insert(name);
  });
  if (!names.contains(stem)) return stem;
  for (int i = 1;; ++i)
    if (std::string name = fmt::format("{}_{}", stem, i); !names.contains(name)) return name;
}

std::set<std::string> block_names(const Stmt& root) {
  std::set<std::string> names;
  walk(root, [&](const Stmt& stmt) {
    if (const Block* block = as_block(stmt)) names.insert(block->name);
    return false;
  });
  return names;
}

namespace {

// `stmt` restricted to the blocks for which `keep` is true; null if there are none.
Stmt around(const Stmt& stmt, const std::function<bool(const Block&)>& keep) {
  if (const Block* block = as_block(stmt)) return keep(*block) ? stmt : nullptr;
  if (const For* loop = as_for(stmt)) {
    Stmt body = around(loop->body, keep);
    if (!body || body == loop->body) return body ? stmt : nullptr;
    For copy{loop->var, loop->extent, loop->kind, loop->thread_axis, loop->annotations, std::move(body)};
    return make_stmt(std::move(copy));
  }
  if (const auto* condition = std::get_if<If>(&stmt->node)) {
    Stmt then_body = condition->then_body ? around(condition->then_body, keep) : nullptr;
    Stmt else_body = condition->else_body ? around(condition->else_body, keep) : nullptr;
    if (!then_body && !else_body) return nullptr;
    if (!then_body) then_body = make_stmt(Sequence{});
    return make_stmt(If{condition->condition, std::move(then_body), std::move(else_body)});
  }
  const auto* siblings = std::get_if<Sequence>(&stmt->node);
  if (!siblings) return stmt;
  std::vector<Stmt> body;
  for (const Stmt& sibling : siblings->body)
    if (Stmt kept = around(sibling, keep)) body.push_back(std::move(kept));
  return body.empty() ? nullptr : make_stmt(Sequence{std::move(body)});
}

// The program restricted to the named blocks, with the statements around and inside them.
Program with_blocks(Program program, const std::set<std::string>& names) {
  program.body = around(program.body, [&](const Block& block) { return names.contains(block.name); });
  if (!program.body) program.body = make_stmt(Sequence{});
  return program;
}

}  // namespace

Result<Program> if_proven(Program result, const std::set<std::string>& changed, const IntrinsicTable& intrinsics,
                          std::string_view primitive, std::string_view object, std::string hint) {
  if (const auto verified = verify(with_blocks(result, changed), intrinsics); !verified.ok())
    return refuse(primitive, object, "afterwards, " + verified.errors()[0].why, std::move(hint));
  return result;
}

Result<Program> if_iterators_proven(Program result, const std::set<std::string>& changed, std::string_view primitive,
                                    std::string_view object, std::string hint) {
  if (const auto verified = verify_iterators(with_blocks(result, changed)); !verified.ok())
    return refuse(primitive, object, "afterwards, " + verified.errors()[0].why, std::move(hint));
  return result;
}

}  // namespace dovetail::schedule
