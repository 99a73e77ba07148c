// The form of a block that moves or is folded into another: which dimension each iterator indexes, what its predicate
// requires, and how its nest is rebuilt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/nest.h"

namespace dovetail::schedule {

// For each iterator the dimension of an access that it alone indexes, -1 for none; nullopt if an index is neither a
// single spatial iterator, distinct from the others, nor 0 in a dimension of extent 1.
std::optional<std::vector<int>> dimensions_of(const loops::Block& block, const std::vector<loops::Expr>& indices,
                                              const loops::BufferNode& buffer);

// Every spatial iterator of more than one value has a dimension: the access reaches each element at one point.
bool one_to_one(const loops::Block& block, const std::vector<int>& dimensions);

// The iterators of `block` for which an access of those dimensions has `indices`; iterators without a dimension are 0.
loops::VarMap iterators_at(const loops::Block& block, const std::vector<int>& dimensions,
                           const std::vector<loops::Expr>& indices);

// The single target of a block that is a plain store over spatial iterators, without init; else a refusal that
// describes the block.
Result<loops::StoreTarget> require_plain_store(const loops::Block& block, std::string_view primitive);

bool is_allocation(const loops::Program& program, const loops::Buffer& buffer);

// A condition around blocks reads the buffer.
bool in_condition(const loops::Stmt& root, const loops::Buffer& buffer);

// Position in `path`, which ends at a block, of the outermost statement that contains only that block and its loops.
std::size_t own_nest(const Path& path);

// The block is alone in its nest: one serial loop of its extent for each iterator, in their order, and no predicate.
bool is_as_defined(const Path& path);

// The block's predicate without its own loops (those of `path` from `nest` on), which the primitive rebuilds. Terms
// about these loops that are true whenever the iterators are in range are dropped; any other such term is rejected.
Result<loops::Expr> require_free_predicate(const Path& path, std::size_t nest, std::string_view primitive);

// The block inside new loops, one for each iterator of more than one value in `part`, named like the loops of
// `old_nest` if possible. `part`: for each iterator its range of values, in terms of the loops `outside`; a predicate
// masks values beyond the iterator's extent.
loops::Stmt nest_over(const loops::Program& program, loops::Block block, const loops::Stmt& old_nest,
                      const std::vector<loops::RangeExpr>& part, const std::vector<const loops::For*>& outside);

// The statements of a sequence, or the statement itself.
std::vector<loops::Stmt> statements_of(const loops::Stmt& stmt);

// The top-level statement on a path, and its position in the program.
loops::Stmt top_statement(const Path& path);
std::size_t top_position(const loops::Program& program, const Path& path);

}  // namespace dovetail::schedule
