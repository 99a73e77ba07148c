// merge FIRST SECOND -> MERGED
//
//   for i in 8 { P: A[i] = f(i) }   for j in 8 { C: B[j] = g(A[j]) }
//   ==>   for m in 8 { P: A[m] = f(m)   C: B[m] = g(A[m]) }
//
// Two loops become one: FIRST moves down to SECOND, and each of its iterations runs just before that of SECOND. Legal
// if
//  - both are statements of one sequence, FIRST before SECOND, serial, with as many iterations and equal annotations,
//  - no statement between them writes what FIRST accesses, or accesses what FIRST writes,
//  - for each buffer that one of them writes and the other accesses, different iterations provably access different
//    elements.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/dependence.h"
#include "compiler/schedule/nest.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

constexpr std::string_view kMerge = "merge";

// A buffer that one of the statements writes and the other accesses; null: none.
Buffer find_shared(const Stmt& a, const Stmt& b) {
  for (const auto& [writer, other] : {std::pair(a, b), std::pair(b, a)})
    for (const Buffer& buffer : written_below(writer))
      if (reads(other, buffer.get()) || writes(other, buffer.get())) return buffer;
  return nullptr;
}

Result<void> require_alike(const For& first, const For& second) {
  const std::string &name = first.var->name, &other = second.var->name;
  if (first.extent != second.extent)
    return refuse(kMerge, name,
                  fmt::format("the loop has {} iterations, but {} has {}", first.extent, other, second.extent),
                  "split the longer one first");
  if (first.kind != ForKind::serial || second.kind != ForKind::serial)
    return refuse(kMerge, name,
                  fmt::format("{} is {}, but {} is {}", name, loops::name(first.kind), other, loops::name(second.kind)),
                  "merge loops before steps that change their kind");
  if (first.annotations != second.annotations)
    return refuse(kMerge, name, fmt::format("{} has other annotations", other), "annotate after merge");
  return {};
}

}  // namespace

Result<Program> apply_merge(const Program& program, Step& step, const IntrinsicTable&) {
  const std::string &name = step.arguments[0], &other = step.arguments[1];
  DOVETAIL_ASSIGN(const Path path, require_loop(program, name, kMerge));
  DOVETAIL_ASSIGN(const Path other_path, require_loop(program, other, kMerge));
  const For &first = *as_for(path.back()), &second = *as_for(other_path.back());
  const Stmt around = path.size() < 2 ? nullptr : path[path.size() - 2];
  if (!around || !std::holds_alternative<Sequence>(around->node) || other_path.size() != path.size() ||
      other_path[path.size() - 2] != around)
    return refuse(kMerge, name, fmt::format("{} and {} are not statements of one sequence", name, other),
                  "name consecutive loops inside the same loops");
  std::vector<Stmt> siblings = statements_of(around);
  const auto from = std::ranges::find(siblings, path.back()), to = std::ranges::find(siblings, other_path.back());
  if (from >= to)
    return refuse(kMerge, name, fmt::format("{} does not come before {}", name, other), "name the earlier loop first");
  DOVETAIL_TRY(require_alike(first, second));
  for (auto between = from + 1; between != to; ++between)
    if (const Buffer shared = find_shared(*from, *between))
      return refuse(kMerge, name,
                    fmt::format("a statement between this loop and {} also accesses {}", other, shared->name),
                    "merge the loop with the one that directly follows it");
  if (step.results.empty()) step.results = {name};
  DOVETAIL_TRY(require_new_name(program, step.results[0], kMerge, name, {name, other}));

  For merged = first;
  merged.var = make_var(step.results[0], first.var->dtype);
  merged.body = sequence({substitute(first.body, {{first.var.get(), ref(merged.var)}}),
                          substitute(second.body, {{second.var.get(), ref(merged.var)}})});
  const std::set<std::string> changed = block_names(merged.body);
  std::vector<const For*> outside = loops_of(path);
  outside.back() = &merged;
  for (const Buffer& buffer : written_below(merged.body)) {
    const auto touches = [&](const Stmt& stmt) { return reads(stmt, buffer.get()) || writes(stmt, buffer.get()); };
    if (touches(first.body) && touches(second.body) &&
        !disjoint(accesses(merged.body, buffer.get(), outside), outside, {&merged}))
      return refuse(kMerge, name,
                    fmt::format("an iteration of {} may access elements of {} that another iteration of {} accesses",
                                other, buffer->name, name),
                    "merge loops whose iterations share no elements that either loop writes");
  }
  *to = make_stmt(std::move(merged));
  siblings.erase(from);
  Program result = program;
  result.body = replace(program.body, around, sequence(std::move(siblings)));
  return if_iterators_proven(std::move(result), changed, kMerge, name, "merge loops of plain blocks");
}

}  // namespace dovetail::schedule
