#include "compiler/schedule/context.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "compiler/schedule/nest.h"
#include "compiler/schedule/unify.h"

namespace dovetail::schedule {

using namespace loops;

Context::Context(const Task& made_for, Deciding deciding)
    : task(made_for), s(made_for.program, *made_for.intrinsics), deciding_(std::move(deciding)) {}

// ---- Decisions

const std::string* Context::given(const std::string& name, const Space& space) const {
  const auto it = deciding_.given.find(name);
  if (it == deciding_.given.end() || (deciding_.lenient && !space.find(it->second))) return nullptr;
  return &it->second;
}

std::string Context::record(const std::string& name, const Space& space, const std::string& analytic) {
  DOVETAIL_CHECK(space.find(analytic), fmt::format("{}, the choice of {}, is one of {}", analytic, name, space.text));
  const std::string* decided = given(name, space);
  const std::string open = decided || !deciding_.draw ? analytic : space.values[deciding_.draw(space.values.size())];
  s.sample(name, space.rule, space.text, "=", decided ? *decided : open);
  return s.status().ok() ? s.decisions().back().value : analytic;
}

std::int64_t Context::sample(const std::string& name, const std::vector<std::int64_t>& candidates,
                             std::int64_t analytic) {
  return std::stoll(record(name, Space::among(candidates), std::to_string(analytic)));
}

std::string Context::sample(const std::string& name, const std::vector<std::string>& candidates,
                            const std::string& analytic) {
  return record(name, Space::among(candidates), analytic);
}

std::vector<std::int64_t> Context::sample_factors(const std::string& name, std::int64_t extent,
                                                  const std::vector<std::int64_t>& analytic) {
  const std::string decided = record(name, Space::factors(extent, static_cast<int>(analytic.size())),
                                     fmt::format("{}", fmt::join(analytic, ",")));
  std::vector<std::int64_t> factors;
  for (std::size_t begin = 0; factors.size() < analytic.size(); begin = decided.find(',', begin) + 1)
    factors.push_back(std::stoll(decided.substr(begin)));
  return factors;
}

std::vector<std::int64_t> Context::sample(std::span<const Choice> choices,
                                          const std::function<Result<Cost>()>& make_cost) {
  const bool open =
      std::ranges::any_of(choices, [&](const Choice& choice) { return !deciding_.given.contains(choice.name); });
  Cost cost = [](std::span<const std::int64_t>) { return std::optional(0.0); };
  if ((open || deciding_.lenient) && s.status().ok()) {
    auto made = make_cost();
    if (!made.ok()) {
      s.fail(made.errors());
      return {};
    }
    cost = *std::move(made);
  }
  const std::size_t rank = std::exchange(deciding_.rank, 0);
  const std::vector<std::int64_t> decided = deciding_.draw ? drawn(choices, cost) : least(choices, cost, rank);
  cost_ = open && !decided.empty() ? cost(decided) : std::nullopt;
  for (std::size_t i = 0; i < decided.size(); ++i)
    s.sample(choices[i].name, "among", Space::among(choices[i].candidates(std::span(decided).first(i))).text, "=",
             decided[i]);
  return s.status().ok() ? decided : std::vector<std::int64_t>{};
}

std::vector<std::int64_t> Context::least(std::span<const Choice> choices, const Cost& cost, std::size_t rank) {
  struct Costly {
    double cost;
    std::vector<std::int64_t> values;
  };
  std::vector<Costly> best;  // the cheapest first, of equals the first; as many as the rank asks for
  std::vector<std::int64_t> values;
  std::optional<std::pair<std::size_t, Space>> unknown;  // a choice whose given value was not a candidate
  const std::function<void()> decide = [&] {
    if (values.size() == choices.size()) {
      const auto here = cost(values);
      if (!here || (best.size() > rank && *here >= best.back().cost)) return;
      best.insert(std::ranges::upper_bound(best, *here, {}, &Costly::cost), {*here, values});
      if (best.size() > rank + 1) best.pop_back();
      return;
    }
    const Choice& choice = choices[values.size()];
    std::vector<std::int64_t> candidates = choice.candidates(values);
    if (deciding_.given.contains(choice.name)) {
      const Space space = Space::among(candidates);
      if (const std::string* decided = given(choice.name, space)) {
        const auto at = space.find(*decided);
        if (!at) unknown = {values.size(), space};
        candidates = at ? std::vector{candidates[*at]} : std::vector<std::int64_t>{};
      }
    }
    for (const std::int64_t candidate : candidates) {
      values.push_back(candidate);
      decide();
      values.pop_back();
    }
  };
  decide();
  if (best.empty() && unknown)  // the step is refused
    record(choices[unknown->first].name, unknown->second, unknown->second.values.front());
  return best.size() > rank ? std::move(best[rank].values) : std::vector<std::int64_t>{};
}

std::vector<std::int64_t> Context::drawn(std::span<const Choice> choices, const Cost& cost) {
  constexpr int kTries = 256;  // few values fit where buffers are small
  for (int attempt = 0; attempt < kTries; ++attempt) {
    std::vector<std::int64_t> values;
    for (const Choice& choice : choices) {
      const std::vector<std::int64_t> candidates = choice.candidates(values);
      if (candidates.empty()) break;
      const Space space = Space::among(candidates);
      const std::string* decided = given(choice.name, space);
      const auto at = decided ? space.find(*decided) : std::optional(deciding_.draw(candidates.size()));
      if (!at) {
        record(choice.name, space, space.values.front());  // the step is refused
        return {};
      }
      values.push_back(candidates[*at]);
    }
    if (values.size() == choices.size() && cost(values)) return values;
  }
  return {};
}

KeptSteps Context::kept() const {
  KeptSteps kept = s.kept();
  kept.layouts = layouts_;
  kept.follows = follows_;
  return kept;
}

void Context::take(const KeptSteps& kept) {
  s.take(kept);
  layouts_ = kept.layouts;
  follows_ = kept.follows;
}

// ---- Questions

std::vector<std::string> Context::blocks() const {
  std::vector<std::string> names;
  for (const Path& path : blocks_below(s.program().body)) names.push_back(as_block(path.back())->name);
  return names;
}

const Block* Context::block(const std::string& name) const {
  const auto path = find_block(s.program().body, name);
  return path ? as_block(path->back()) : nullptr;
}

std::vector<std::string> Context::loops_of(const std::string& name) const {
  std::vector<std::string> names;
  if (const auto path = find_block(s.program().body, name))
    for (const For* loop : schedule::loops_of(*path)) names.push_back(loop->var->name);
  return names;
}

std::vector<std::string> Context::own_loops(const std::string& name) const {
  std::vector<std::string> names;
  if (const auto path = find_block(s.program().body, name))
    for (const Stmt& stmt : *path)
      if (as_for(stmt) && only_block(stmt)) names.push_back(as_for(stmt)->var->name);
  return names;
}

bool Context::has_loop(const std::string& name) const { return find_loop(s.program().body, name).has_value(); }

std::int64_t Context::extent(const std::string& loop) const {
  const auto path = find_loop(s.program().body, loop);
  return path ? as_for(path->back())->extent : 1;
}

std::vector<std::string> Context::present(const std::vector<std::string>& loops) const {
  std::vector<std::string> there;
  std::ranges::copy_if(loops, std::back_inserter(there), [&](const std::string& loop) { return has_loop(loop); });
  return there;
}

Buffer Context::buffer(const std::string& name) const { return find_buffer(s.program(), name); }

Buffer Context::written_by(const std::string& name) const {
  const Block* found = block(name);
  return found && !found->writes.empty() ? found->writes.front().buffer : nullptr;
}

std::vector<Region> Context::reads_of(const std::string& name) const {
  const Block* found = block(name);
  return found ? found->reads : std::vector<Region>{};
}

// ---- Steps

void Context::replay(const Step& step) {
  if (!s.status().ok()) return;
  constexpr std::size_t kOpen = 3, kDecided = 5;  // words: NAME RULE SPACE, and = VALUE
  const bool samples = step.primitive == "sample";
  if (samples && (step.arguments.size() == kOpen || step.arguments.size() == kDecided)) {
    const auto resolved = resolve(step, s.decisions());
    if (!resolved.ok()) return s.fail(resolved.errors());
    const std::vector<std::string>& words = resolved->arguments;
    const auto space = Space::parse(words[0], words[1], words[2]);
    if (!space.ok()) return s.fail(space.errors());
    const bool kept = words.size() == kDecided && space->find(words.back());
    record(words[0], *space, kept ? words.back() : space->values.front());
    return;
  }
  if (const auto taken = s.apply(step); !taken.ok()) return s.fail(taken.errors());
  const auto resolved = resolve(step, s.decisions());
  if (!resolved.ok()) return s.fail(resolved.errors());
  if (const auto noted = replayed_.take(*resolved, task.program); !noted.ok()) s.fail(noted.errors());
}

bool Context::attempt(const std::string& primitive, std::vector<std::string> arguments,
                      std::vector<std::string> results) {
  return s.status().ok() && s.apply({primitive, std::move(arguments), std::move(results)}).ok();
}

std::pair<std::string, std::string> Context::tile(const std::string& loop, std::int64_t factor) {
  if (factor >= extent(loop)) return {"", loop};
  const std::string outer = loop + "_o", inner = loop + "_i";
  s.split(loop, factor, outer, inner);
  return {outer, inner};
}

void Context::split(const std::string& loop, std::int64_t factor, const std::string& outer, const std::string& inner) {
  if (has_loop(loop)) s.split(loop, factor, outer, inner);
}

std::string Context::vectorize(const std::string& loop, std::int64_t lanes) {
  if (extent(loop) == 1) return "";
  const auto [outer, inner] = tile(loop, lanes);
  s.vectorize(inner);
  return outer;
}

void Context::unroll(const std::string& loop) {
  if (!loop.empty() && extent(loop) > 1) s.unroll(loop);
}

void Context::reorder(std::vector<std::string> loops) {
  std::erase(loops, "");
  if (loops.size() > 1) s.reorder(loops);
}

void Context::move_inside(const std::string& block, const std::vector<std::string>& innermost) {
  const std::vector<std::string> last = present(innermost), nest = own_loops(block);
  std::vector<std::string> order;
  for (const std::string& loop : nest)
    if (std::ranges::find(last, loop) == last.end()) order.push_back(loop);
  order.insert(order.end(), last.begin(), last.end());
  if (order != nest) s.reorder(order);
}

void Context::parallel(const std::vector<std::string>& loops) {
  std::vector<std::string> several;
  for (const std::string& loop : loops)
    if (!loop.empty() && extent(loop) > 1) several.push_back(loop);
  if (several.empty() || !s.status().ok()) return;
  // Fuses all loops into one parallel loop if that can be proven, else parallelizes only the longest.
  const Schedule before = s;
  std::string fused = several.front();
  bool taken = true;
  for (std::size_t i = 1; i < several.size() && taken; ++i) {
    const std::string next = fused + "_" + several[i].substr(several[i].find_last_of('.') + 1);
    taken = attempt("fuse", {fused, several[i]}, {next});
    fused = next;
  }
  if (taken && attempt("parallel", {fused})) return;
  s = before;
  s.parallel(*std::ranges::max_element(
      several, [&](const std::string& a, const std::string& b) { return extent(a) < extent(b); }));
}

void Context::tensorize(const std::string& at) {
  if (!s.status().ok()) return;
  if (task.intrinsics->empty())
    return s.fail({refuse("tensorize", at, "the target has no intrinsics", "remove the step")});
  auto path = find_loop(s.program().body, at);
  if (!path) path = find_block(s.program().body, at);
  std::vector<Path> inside;
  if (path) inside = blocks_below(path->back());
  const Stmt body = inside.size() == 1 ? as_block(inside.front().back())->body : nullptr;
  for (const Intrinsic& intrinsic : *task.intrinsics) {
    // The last one says why none fits.
    const Stmt& pattern = as_block(blocks_below(intrinsic.semantics.body).front().back())->body;
    const bool is_last = &intrinsic == &task.intrinsics->back();
    if (body && !is_last && !are_alike(pattern, body)) continue;
    auto status = s.apply({"tensorize", {at, intrinsic.name}, {}});
    if (status.ok()) return;
    if (is_last) s.fail(status.errors());
  }
}

std::string Context::gather_epilogue(const std::string& main, const std::string& scope) {
  std::vector<std::string> following = blocks();
  following.erase(following.begin(), std::ranges::find(following, main) + 1);
  const std::string result = written_by(main)->name;
  if (following.empty()) {
    const std::string copy = main + ".tile";
    s.cache_write(main, result, scope, copy);
    return copy;
  }
  for (std::size_t i = 0; i + 1 < following.size(); ++i) s.inline_block(following[i]);
  s.set_scope(result, scope);
  return following.back();
}

// ---- Layouts

void Context::lay_out(const std::string& name, const std::string& index_map) {
  if (index_map.empty()) return;
  if (const auto [it, added] = layouts_.emplace(name, index_map); !added) {
    DOVETAIL_CHECK(it->second == index_map, "one layout for " + name);
    return;
  }
  s.transform_layout(name, index_map);
}

void Context::follow_layout(const std::string& parameter) {
  follows_.insert(parameter);
  const auto asked = task.layouts.find(parameter);
  if (asked != task.layouts.end()) lay_out(parameter, asked->second);
}

Result<Scheduled> Context::finish() const {
  DOVETAIL_TRY(s.status());
  if (deciding_.rank > 0)
    return refuse("rank", task.program.name,
                  fmt::format("the sketch of {} {} does not choose numbers jointly", task.target, task.kind),
                  "use the default");
  for (const auto& [name, value] : deciding_.given) {
    if (deciding_.lenient) break;
    if (std::ranges::any_of(s.decisions(), [&, &decided = name](const Decision& d) { return d.name == decided; }))
      continue;
    return refuse("decide", name,
                  fmt::format("the sketch of {} {} does not sample this decision", task.target, task.kind),
                  "remove the decision");
  }
  std::map<std::string, std::string> layouts = layouts_;
  layouts.merge(replayed_.texts());
  return Scheduled{s.program(), s.trace(), {s.decisions().begin(), s.decisions().end()}, std::move(layouts), follows_};
}

}  // namespace dovetail::schedule
