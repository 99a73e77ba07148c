// The form of a block that moves or melts into another: which dimension each iterator runs over, what its predicate
// says, and its nest made again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/nest.h"

namespace dovetail::schedule {

// For each iterator the dimension of an access that it alone indexes, -1 for none; nullopt where an index is neither a
// spatial its own iterator nor 0 in a dimension of extent 1.
std::optional<std::vector<int>> dimensions_of(const loops::Block& block, const std::vector<loops::Expr>& indices,
                                              const loops::BufferNode& buffer);

// Every spatial iterator of more than one value has a dimension: the access touches each element at one point.
bool one_to_one(const loops::Block& block, const std::vector<int>& dimensions);

// The iterators of `block` where an access of those dimensions has `indices`; iterators without a dimension are 0.
loops::VarMap iterators_at(const loops::Block& block, const std::vector<int>& dimensions,
                           const std::vector<loops::Expr>& indices);

// The one target of a block that is a plain store over spatial iterators, without init; else a refusal that says what
// it is.
Result<loops::StoreTarget> require_plain_store(const loops::Block& block, std::string_view primitive);

bool is_allocation(const loops::Program& program, const loops::Buffer& buffer);

// A condition around blocks reads the buffer.
bool in_condition(const loops::Stmt& root, const loops::Buffer& buffer);

// Position in `path`, which ends at a block, of the outermost statement that holds nothing but that block and its
// loops.
std::size_t own_nest(const Path& path);

// The block is alone in its nest: a serial loop of its extent for each iterator, in their order, and no predicate.
bool is_as_defined(const Path& path);

// The block's predicate without its own loops (those of `path` from `nest` on), which the primitive makes again. Terms
// about them that hold wherever the iterators are in range are dropped; any other one is refused.
Result<loops::Expr> require_free_predicate(const Path& path, std::size_t nest, std::string_view primitive);

// The block below fresh loops, one for each iterator of more than one value in `part`, named as the loops of `old_nest`
// where it can be. `part`: for each iterator the values that it takes, in the loops `outside`; a predicate masks those
// beyond the iterator's extent.
loops::Stmt nest_over(const loops::Program& program, loops::Block block, const loops::Stmt& old_nest,
                      const std::vector<loops::RangeExpr>& part, const std::vector<const loops::For*>& outside);

// The statements of a sequence, or the statement itself.
std::vector<loops::Stmt> statements_of(const loops::Stmt& stmt);

// The statement of the program's top level on a path, and its position there.
loops::Stmt top_statement(const Path& path);
std::size_t top_position(const loops::Program& program, const Path& path);

}  // namespace dovetail::schedule
