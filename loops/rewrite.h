// Traversal and substitution over expressions and statements, used by every pass and primitive. A node with several
// parents in a statement is visited and rewritten once: shared nodes stay shared.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "loops/ir.h"

namespace dovetail::loops {

using VarMap = std::map<const VarNode*, Expr>;
using BufferMap = std::map<const BufferNode*, Buffer>;

Expr substitute(const Expr& expr, const VarMap& vars);
Stmt substitute(const Stmt& stmt,
                const VarMap& vars);  // bound occurrences (loop variables, iterators) are not replaced
Stmt replace_buffers(const Stmt& stmt, const BufferMap& buffers);  // shapes must agree in rank

// The node with each child replaced by fn(child); the node itself if none changed. A recursive caller must cache
// results of shared nodes (loops/sharing.h).
Expr map_children(const Expr& expr, const std::function<Expr(const Expr&)>& fn);
void each_operand(const Expr& expr, const std::function<void(const Expr&)>& fn);  // its children, in evaluation order

// Bottom-up rewriting: `rewrite` sees each node after its children were rewritten and returns it or a replacement.
Expr rewrite_expr(const Expr& expr, const std::function<Expr(const Expr&)>& rewrite);
// Applies `rewrite_exprs` to every expression, then `rewrite_stmt` to every statement bottom-up; a null result removes
// the statement. Either may be empty.
Stmt rewrite_stmt(const Stmt& stmt, const std::function<Stmt(const Stmt&)>& rewrite_stmt,
                  const std::function<Expr(const Expr&)>& rewrite_exprs = {});

// Pre-order visits.
void visit_exprs(const Expr& expr, const std::function<void(const Expr&)>& visit);
void visit_exprs(const Stmt& stmt,
                 const std::function<void(const Expr&)>& visit);  // every expression node at any depth
void visit_stmts(const Stmt& stmt, const std::function<void(const Stmt&)>& visit);

bool structurally_equal(const Expr& a, const Expr& b);  // same variables and buffers by identity

}  // namespace dovetail::loops
