// Finding and rewriting parts of a loop program: shared by all primitives.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"
#include "loops/rewrite.h"
#include "loops/simplify.h"

namespace dovetail::schedule {

// A statement with its ancestors: path.front() is the program's body, path.back() the statement itself. A block is
// opaque: the functions below that return paths do not find its contents, and a step that names them is refused.
using Path = std::vector<loops::Stmt>;

std::optional<Path> find_loop(const loops::Stmt& root, std::string_view name);
std::optional<Path> find_block(const loops::Stmt& root, std::string_view name);
loops::Buffer find_buffer(const loops::Program& program, std::string_view name);  // null if unknown

// The same, with a diagnostic that lists the existing names.
Result<Path> require_loop(const loops::Program& program, std::string_view name, std::string_view primitive);
Result<Path> require_block(const loops::Program& program, std::string_view name, std::string_view primitive);
Result<loops::Buffer> require_buffer(const loops::Program& program, std::string_view name, std::string_view primitive);
Result<std::int64_t> require_integer(std::string_view text, std::int64_t min, std::string_view what,
                                     std::string_view primitive);

const loops::For* as_for(const loops::Stmt& stmt);  // null for another statement
const loops::Block* as_block(const loops::Stmt& stmt);

// `root` with the one statement `target` (by identity) replaced; a null replacement removes it, and also loops and
// conditions that become empty.
loops::Stmt replace(const loops::Stmt& root, const loops::Stmt& target, loops::Stmt replacement);

// The loops on a path, outermost first, and the bounds of their variables.
std::vector<const loops::For*> loops_of(const Path& path);
loops::Bounds bounds_of(const std::vector<const loops::For*>& loops);

// All blocks below a statement in program order, each with its path from there.
std::vector<Path> blocks_below(const loops::Stmt& root);

// The only block below `stmt`, reached through loops alone; null if there are several or another statement in between.
const loops::Block* only_block(const loops::Stmt& stmt);

// The block of the nest that blockize made the body of `block`; null if the block is a plain one.
const loops::Block* inner_block(const loops::Block& block);
// Error if the block contains another one: checked first by steps that rewrite or move the inside of a block.
Result<void> require_no_inner_block(const loops::Block& block, std::string_view primitive, std::string_view object);
// A block that contains others in any form other than blockize's: a nest of serial loops over one block without
// predicate, and no init; null: none.
const loops::Block* irregular_block(const loops::Stmt& root);

// Iterators replaced by their bindings, simplified under the loops' bounds: expressions in loop variables.
loops::VarMap bindings_of(const loops::Block& block);

// Buffers read and written by the blocks below a statement; conditions around blocks read too.
bool reads(const loops::Stmt& stmt, const loops::BufferNode* buffer);
bool writes(const loops::Stmt& stmt, const loops::BufferNode* buffer);

// The block with regions recomputed from its body.
loops::Block with_inferred_regions(loops::Block block);

// `a` and `b`, either of which may be null.
loops::Expr conjunction(loops::Expr a, loops::Expr b);

bool mentions(const loops::Expr& expr, const loops::Var& var);

bool is_positive_zero(const loops::Expr& expr);  // a literal; for integers 0

// The terms of a conjunction; none for null.
std::vector<loops::Expr> conjuncts(const loops::Expr& predicate);

// Whether a call of a tensor intrinsic inside `stmt` has the buffer as an operand.
bool tensorized(const loops::Stmt& stmt, const loops::BufferNode* buffer);

// A name for a new item: a word of the text form that no loop, iterator, block or buffer has, except those in `freed`,
// which the step removes.
Result<void> require_new_name(const loops::Program& program, std::string_view name, std::string_view primitive,
                              std::string_view object, const std::vector<std::string>& freed = {});
// `stem`, or the first of stem_1, stem_2, ... that is free in that sense and not in `taken`.
std::string free_name(const loops::Program& program, const std::string& stem,
                      const std::vector<std::string>& taken = {});

// `result` itself if the verifier still proves all ranges and indices of the blocks that the step `changed` (by name);
// else a refusal with the first that it cannot prove. Other blocks are unchanged.
Result<loops::Program> if_proven(loops::Program result, const std::set<std::string>& changed,
                                 const loops::IntrinsicTable& intrinsics, std::string_view primitive,
                                 std::string_view object, std::string hint);

// The same for a step that changed the loops around these blocks, their iterators and predicates, but nothing inside.
Result<loops::Program> if_iterators_proven(loops::Program result, const std::set<std::string>& changed,
                                           std::string_view primitive, std::string_view object, std::string hint);

std::set<std::string> block_names(const loops::Stmt& root);
Diagnostic refuse(std::string_view primitive, std::string_view object, std::string why, std::string hint);

}  // namespace dovetail::schedule
