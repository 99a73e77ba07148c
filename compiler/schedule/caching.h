// Copies of buffers next to the nest of a block: shared by cache_read, cache_write and reindex.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/nest.h"
#include "compiler/schedule/schedule.h"

namespace dovetail::schedule {

struct CachePlace {
  Path path;        // path to the block
  loops::Stmt top;  // the top-level statement that contains it
  loops::Buffer buffer;
};

// The use of a buffer by a block, both given by name. The names of the copy's loops over `rank` dimensions, derived
// from `step.results[0]` (the default name if it is left open), must be free, and no intrinsic of the block may use the
// buffer.
Result<CachePlace> find_cache_place(const loops::Program& program, const std::string& block, const std::string& buffer,
                                    std::string_view primitive);
Result<void> name_copy(const loops::Program& program, Step& step, const std::string& default_name, std::size_t rank,
                       std::string_view primitive);

// Whether all of the buffer is written before the given statement: by the caller, or by one top-level block.
bool is_whole(const loops::Program& program, const CachePlace& place);

// A copy nest: for each iterator a loop "<name>.<d>", around block <name>: to[to_indices] = value, or
// from[from_indices]. The iterators' bindings are set here.
loops::Stmt compute_nest(const std::string& name, std::vector<loops::Iterator> iterators, const loops::Buffer& to,
                         const std::vector<loops::Expr>& to_indices, loops::Expr value);
loops::Stmt copy_nest(const std::string& name, std::vector<loops::Iterator> iterators, const loops::Buffer& to,
                      const std::vector<loops::Expr>& to_indices, const loops::Buffer& from,
                      const std::vector<loops::Expr>& from_indices);

}  // namespace dovetail::schedule
