// Random steps for a program: most of them plausible, some not. A primitive's arguments are drawn by its form;
// primitives whose arguments must match to be legal often enough have a function and a row in `kinds`.
#pragma once

#include <algorithm>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/schedule/nest.h"
#include "compiler/schedule/online_softmax.h"
#include "compiler/schedule/schedule.h"

namespace dovetail::schedule::test {

class StepGenerator {
 public:
  // `reductions_commute`: otherwise the order of reductions is not changed.
  StepGenerator(std::uint64_t seed, const loops::IntrinsicTable& intrinsics, bool reductions_commute)
      : random_(seed * 7919 + 1), intrinsics_(intrinsics), reductions_commute_(reductions_commute) {}

  struct Kind {
    std::string_view primitive;
    int weight;  // how often, relative to the others
    Step (StepGenerator::*make)();
  };
  static const std::vector<Kind>& kinds() {
    static const std::vector<Kind> rows{
        {"annotate", 1, &StepGenerator::annotate},
        {"bind", 2, &StepGenerator::bind},
        {"blockize", 2, &StepGenerator::blockize},
        {"cache_read", 2, &StepGenerator::cache_read},
        {"cache_write", 2, &StepGenerator::cache_write},
        {"compute_at", 3, &StepGenerator::compute_at},
        {"decompose_reduction", 2, &StepGenerator::decompose_reduction},
        {"fuse", 2, &StepGenerator::fuse},
        {"inline", 4, &StepGenerator::inline_block},
        {"matrix_form", 9, &StepGenerator::matrix_form},
        {"merge", 3, &StepGenerator::merge},
        {"online_softmax", 1, &StepGenerator::online_softmax},
        {"pad", 2, &StepGenerator::pad},
        {"parallel", 2, &StepGenerator::parallel},
        {"pipeline", 2, &StepGenerator::pipeline},
        {"reindex", 3, &StepGenerator::reindex},
        {"reorder", 2, &StepGenerator::reorder},
        {"reverse_compute_at", 8, &StepGenerator::reverse_compute_at},
        {"reverse_inline", 13, &StepGenerator::reverse_inline},
        {"rfactor", 5, &StepGenerator::rfactor},
        {"sample", 1, &StepGenerator::sample},
        {"set_scope", 3, &StepGenerator::set_scope},
        {"slots", 5, &StepGenerator::slots},
        {"split", 3, &StepGenerator::split},
        {"stream_k", 22, &StepGenerator::stream_k},
        {"tensorize", 2, &StepGenerator::tensorize},
        {"transform_layout", 2, &StepGenerator::transform_layout},
        {"unroll", 2, &StepGenerator::unroll},
        {"vectorize", 2, &StepGenerator::vectorize},
        {"vthread", 2, &StepGenerator::vthread},
    };
    return rows;
  }

  Step next(const loops::Program& program) {
    look_at(program);
    if (planned_.empty() && chance(12)) plan_tensorize();
    if (planned_.empty() && chance(4)) plan_pipeline();
    if (planned_.empty() && chance(45) && weighted_softmax(program)) return online_softmax();
    if (!planned_.empty()) {
      Step step = planned_.back();
      planned_.pop_back();
      return step;
    }
    const std::vector<const Primitive*>& plain = drawn_by_form();
    int total = kFormWeight * static_cast<int>(plain.size());
    for (const Kind& kind : kinds()) total += kind.weight;
    int at = pick(static_cast<std::size_t>(total));
    for (const Kind& kind : kinds()) {
      if (at < kind.weight) return (this->*kind.make)();
      at -= kind.weight;
    }
    return by_form(*plain[static_cast<std::size_t>(at / kFormWeight)]);
  }

 private:
  static constexpr int kFormWeight = 9;

  // The primitives without a row in `kinds`.
  static const std::vector<const Primitive*>& drawn_by_form() {
    static const std::vector<const Primitive*> primitives = [] {
      std::vector<const Primitive*> found;
      for (const Primitive& primitive : all_primitives())
        if (std::ranges::find(kinds(), primitive.name, &Kind::primitive) == kinds().end()) found.push_back(&primitive);
      return found;
    }();
    return primitives;
  }

  // A loop for LOOP, a buffer for BUFFER, new names for the results, small numbers for other words; for BLOCK a block,
  // usually one that reads the result of another.
  Step by_form(const Primitive& primitive) {
    Step step{std::string(primitive.name), {}, {}};
    std::istringstream words{std::string(primitive.text.substr(primitive.name.size()))};
    for (std::string word; words >> word && word != "->";)
      step.arguments.push_back(word == "LOOP"     ? loop()
                               : word == "BLOCK"  ? reader()
                               : word == "BUFFER" ? buffer()
                                                  : std::to_string(pick(5)));
    for (std::size_t i = 0; i < primitive.results; ++i) step.results.push_back(fresh());
    return step;
  }

  int pick(std::size_t n) { return static_cast<int>(random_() % n); }
  bool chance(int percent) { return pick(100) < percent; }
  template <typename T>
  const T& one_of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(pick(values.size()))];
  }

  void look_at(const loops::Program& program) {
    program_ = program;
    loops_.clear(), blocks_.clear(), reductions_.clear(), buffers_.clear(), nests_.clear(), plain_nests_.clear(),
        edges_.clear(), sequences_.clear(), twins_.clear();
    for (const Path& path : blocks_below(program.body)) {
      blocks_.push_back(as_block(path.back())->name);
      if (as_block(path.back())->init) reductions_.push_back(blocks_.back());
      std::vector<std::string> nest;
      for (const loops::For* loop : loops_of(path)) nest.push_back(loop->var->name);
      if (!nest.empty()) nests_.push_back(nest);
      const loops::Block& block = *as_block(path.back());
      if (!nest.empty() && !block.init && !block.predicate && !inner_block(block)) plain_nests_.push_back(nest);
    }
    for (const Path& from : blocks_below(program.body))
      for (const Path& to : blocks_below(program.body))
        for (const loops::Region& region : as_block(from.back())->writes)
          if (from.back() != to.back() && reads(to.back(), region.buffer.get())) edges_.push_back({from, to});
    loops::visit_stmts(program.body, [&](const loops::Stmt& stmt) {
      if (const auto* statements = std::get_if<loops::Sequence>(&stmt->node)) look_for_twins(statements->body);
      const loops::For* loop = as_for(stmt);
      if (!loop) return;
      loops_.push_back(loop->var->name);
      if (std::holds_alternative<loops::Sequence>(loop->body->node)) sequences_.push_back(loop->var->name);
    });
    for (const loops::Parameter& parameter : program.parameters) buffers_.push_back(parameter.buffer);
    for (const loops::Buffer& buffer : program.allocations) buffers_.push_back(buffer);
    if (loops_.empty()) loops_.push_back("none");
    if (nests_.empty()) nests_.push_back({"none", "none"});
  }

  void look_for_twins(const std::vector<loops::Stmt>& statements) {
    for (auto first = statements.begin(); first != statements.end(); ++first)
      for (auto second = first + 1; second != statements.end(); ++second)
        if (as_for(*first) && as_for(*second) && as_for(*first)->extent == as_for(*second)->extent)
          twins_.emplace_back(as_for(*first)->var->name, as_for(*second)->var->name);
  }

  std::string fresh() {
    return chance(3) ? (chance(50) ? one_of(loops_) : one_of(blocks_)) : "n" + std::to_string(next_name_++);
  }
  std::string loop() { return chance(2) ? "nowhere" : one_of(loops_); }
  std::string innermost() { return chance(80) ? one_of(nests_).back() : loop(); }
  std::string outermost() { return chance(70) ? one_of(nests_).front() : loop(); }
  std::string block() { return chance(2) ? "nowhere" : one_of(blocks_); }
  std::string buffer() { return chance(2) ? "nowhere" : one_of(buffers_)->name; }

  std::string reader() { return edges_.empty() || chance(10) ? block() : name_of(one_of(edges_).consumer); }

  // A buffer that the block reads or writes.
  std::string buffer_of(const std::string& name, bool written) {
    const auto path = find_block(program_.body, name);
    if (!path || chance(10)) return buffer();
    const auto& regions = written ? as_block(path->back())->writes : as_block(path->back())->reads;
    return regions.empty() ? buffer() : one_of(regions).buffer->name;
  }

  // A loop around the block at `path`.
  std::string loop_around(const Path& path) {
    const auto around = loops_of(path);
    return around.empty() || chance(10) ? loop() : one_of(around)->var->name;
  }
  static std::string name_of(const Path& block) { return as_block(block.back())->name; }

  Step annotate() {
    return {"annotate", {chance(7) ? "nowhere" : chance(50) ? loop() : block(), "note", std::to_string(pick(9))}, {}};
  }
  Step bind() {
    static const std::vector<std::string> axes{"block.x",  "block.y",  "block.x", "thread.x",
                                               "thread.y", "thread.x", "thread.w"};
    return {"bind", {outermost(), one_of(axes)}, {}};
  }
  Step blockize() {
    return {"blockize", {plain_nests_.empty() || chance(15) ? innermost() : one_of(one_of(plain_nests_))}, {fresh()}};
  }
  Step cache_read() {
    const std::string name = block();
    return {"cache_read", {name, buffer_of(name, false), "local"}, {fresh()}};
  }
  Step cache_write() {
    const std::string name = block();
    return {"cache_write", {name, buffer_of(name, true), "local"}, {fresh()}};
  }
  // Whether the step may make the loops of the block again, which changes the order of its reduction.
  bool may_reduce_anew(const std::string& name) {
    const auto path = find_block(program_.body, name);
    if (reductions_commute_ || !path) return true;
    const auto& iterators = as_block(path->back())->iterators;
    return std::all_of(iterators.begin(), iterators.end(),
                       [](const loops::Iterator& i) { return i.kind == loops::IterKind::spatial; });
  }
  Step compute_at() {
    std::string name = block(), at = loop();
    if (!edges_.empty() && !chance(10)) {
      const Edge& edge = one_of(edges_);
      name = name_of(edge.producer), at = loop_around(edge.consumer);
    }
    return may_reduce_anew(name) ? Step{"compute_at", {name, at}, {}} : annotate();
  }
  Step decompose_reduction() {
    const std::string name = reductions_.empty() || chance(10) ? block() : one_of(reductions_);
    const auto path = find_block(program_.body, name);
    return {"decompose_reduction", {name, path ? loop_around(*path) : loop()}, {fresh()}};
  }
  Step fuse() {
    const auto& nest = one_of(nests_);
    const auto at = static_cast<std::size_t>(pick(nest.size()));
    return {"fuse", {nest[at], chance(90) ? nest[std::min(at + 1, nest.size() - 1)] : loop()}, {fresh()}};
  }
  Step inline_block() {
    return {"inline", {edges_.empty() || chance(10) ? block() : name_of(one_of(edges_).producer)}, {}};
  }
  Step merge() {
    if (twins_.empty() || chance(10)) return {"merge", {loop(), loop()}, {fresh()}};
    const auto& [first, second] = one_of(twins_);
    return {"merge", {first, second}, {fresh()}};
  }
  Step parallel() { return {"parallel", {outermost()}, {}}; }
  Step pipeline() {
    return {
        "pipeline", {sequences_.empty() || chance(20) ? loop() : one_of(sequences_), std::to_string(1 + pick(3))}, {}};
  }
  Step reorder() {
    if (!reductions_commute_) return annotate();
    std::vector<std::string> order = one_of(nests_);
    std::shuffle(order.begin(), order.end(), random_);
    order.resize(std::min(order.size(), static_cast<std::size_t>(2 + pick(3))));
    if (order.size() < 2) order.push_back(loop());
    return {"reorder", order, {}};
  }
  Step reverse_compute_at() {
    if (edges_.empty() || chance(10)) return {"reverse_compute_at", {block(), loop()}, {}};
    const Edge& edge = one_of(edges_);
    return {"reverse_compute_at", {name_of(edge.consumer), loop_around(edge.producer)}, {}};
  }
  Step reverse_inline() { return {"reverse_inline", {reader()}, {}}; }
  Step matrix_form() {
    const std::string name = reductions_.empty() || chance(20) ? block() : one_of(reductions_);
    const auto multiple = [&] { return std::to_string(pick(20) == 0 ? 0 : 1 + pick(5)); };
    return {"matrix_form", {name, multiple(), multiple(), multiple()}, {fresh(), fresh(), fresh(), fresh()}};
  }
  Step stream_k() {
    const std::string name = reductions_.empty() || chance(20) ? block() : one_of(reductions_);
    // Borders of floats may be large: their products are rounded differently in each order.
    const auto path = find_block(program_.body, name);
    if (!reductions_commute_ || (path && is_floating(as_block(path->back())->writes.front().buffer->dtype)))
      return annotate();
    const auto number = [&] { return std::to_string(pick(20) == 0 ? 0 : 1 + pick(5)); };
    // Several pieces of a tile for several workers: otherwise nothing is shared.
    const std::string depth = std::to_string(1 + pick(2)), workers = std::to_string(pick(20) == 0 ? 0 : 2 + pick(6));
    return {"stream_k",
            {name, number(), number(), depth, workers},
            {fresh(), fresh(), fresh(), fresh(), fresh(), fresh(), fresh(), fresh()}};
  }
  // A product of a softmax that no step has changed; empty where there is none.
  static std::optional<std::string> weighted_softmax(const loops::Program& program) {
    for (const Path& path : blocks_below(program.body))
      if (const std::string& name = as_block(path.back())->name; require_weighted_softmax(program, name, "test").ok())
        return name;
    return std::nullopt;
  }
  Step online_softmax() {
    const int lanes = 1 + pick(3), vector = 1 + pick(2), times = 1 + pick(2);
    const auto size = [&] { return std::to_string(pick(20) == 0 ? 0 : 1 + pick(4)); };
    const std::string columns = std::to_string(chance(5) ? 1 + pick(5) : lanes * vector * times);
    return {"online_softmax",
            {weighted_softmax(program_).value_or(block()), size(), columns, size(), std::to_string(lanes),
             std::to_string(vector)},
            {}};
  }
  Step pad() {
    const std::string name = block();
    const auto path = find_block(program_.body, name);
    const bool any = path && !as_block(path->back())->iterators.empty() && !chance(5);
    return {
        "pad", {name, any ? one_of(as_block(path->back())->iterators).var->name : "q", std::to_string(pick(6))}, {}};
  }
  Step reindex() {
    const std::string name = block();
    return {"reindex", {name, buffer_of(name, false)}, {fresh()}};
  }
  Step rfactor() {
    if (!reductions_commute_) return annotate();
    const std::string name = reductions_.empty() || chance(10) ? block() : one_of(reductions_);
    const auto path = find_block(program_.body, name);
    return {"rfactor", {name, path ? loop_around(*path) : loop()}, {fresh()}};
  }
  Step sample() {
    std::string name = chance(90)           ? "d" + std::to_string(next_name_++)
                       : decisions_.empty() ? "d,1"
                                            : one_of(decisions_);
    decisions_.push_back(name);
    if (chance(30)) return {"sample", {name, "among", "2,3"}, {}};
    return {"sample", {name, "among", "2,3,4", "=", std::to_string(2 + pick(4))}, {}};
  }
  Step set_scope() { return {"set_scope", {buffer(), chance(50) ? "local" : "shared"}, {}}; }
  // Usually of a buffer that is computed and read within one loop.
  Step slots() {
    std::vector<std::string> within;
    for (const Edge& edge : edges_) {
      const auto fork = std::ranges::mismatch(edge.producer, edge.consumer).in1;
      if (std::any_of(edge.producer.begin(), fork, [](const loops::Stmt& stmt) { return as_for(stmt) != nullptr; }))
        within.push_back(as_block(edge.producer.back())->writes.front().buffer->name);
    }
    return {"slots", {within.empty() || chance(10) ? buffer() : one_of(within), std::to_string(pick(4))}, {}};
  }
  Step split() {
    const std::string factor = decisions_.empty() || chance(50) ? std::to_string(pick(5)) : "$" + one_of(decisions_);
    return {"split", {loop(), factor}, {fresh(), fresh()}};
  }
  Step tensorize() {
    return {"tensorize", {chance(80) ? one_of(one_of(nests_)) : block(), one_of(intrinsics_).name}, {}};
  }
  Step transform_layout() { return {"transform_layout", layout(), {}}; }
  Step unroll() { return {"unroll", {innermost()}, {}}; }
  Step vectorize() { return {"vectorize", {innermost()}, {}}; }
  Step vthread() { return {"vthread", {outermost()}, {}}; }

  // Steps that lead to an intrinsic: single steps seldom do.
  void plan_tensorize() {
    const auto& nest = one_of(nests_);
    const auto split = [&](const std::string& loop) {
      const std::string outer = fresh(), inner = fresh();
      planned_.push_back({"split", {loop, "2"}, {outer, inner}});
      return std::pair(outer, inner);
    };
    if (nest.size() == 3 && !reductions_.empty() && reductions_commute_ && chance(50)) {
      const std::string& name = one_of(reductions_);
      planned_.push_back({"decompose_reduction", {name, nest[0]}, {}});
      std::vector<std::string> outer, inner;
      for (const std::string& loop : nest) {
        const auto [o, i] = split(loop);
        outer.push_back(o), inner.push_back(i);
      }
      outer.insert(outer.end(), inner.begin(), inner.end());
      planned_.push_back({"reorder", outer, {}});
      planned_.push_back({"tensorize", {inner[0], "t.gemm"}, {}});
    } else {
      const std::string inner = split(nest.back()).second;
      for (const loops::Intrinsic& intrinsic : intrinsics_)
        if (intrinsic.name != "t.gemm") planned_.push_back({"tensorize", {inner, intrinsic.name}, {}});
    }
    std::reverse(planned_.begin(), planned_.end());
  }

  // A producer computed in a loop of its consumer, and the loop pipelined.
  void plan_pipeline() {
    if (edges_.empty()) return;
    const Edge& edge = one_of(edges_);
    const std::string loop = loop_around(edge.consumer);
    if (!may_reduce_anew(name_of(edge.producer))) return;
    planned_ = {{"pipeline", {loop, "2"}, {}}, {"compute_at", {name_of(edge.producer), loop}, {}}};
  }

  std::vector<std::string> layout() {
    const loops::Buffer& target = one_of(buffers_);
    std::vector<std::string> parts;
    for (std::size_t d = 0; d < target->shape.size(); ++d) {
      const std::string index = "i" + std::to_string(d);
      const std::int64_t by = 2 + pick(3);
      if (chance(60) && (target->shape[d] % by == 0 || chance(10))) {
        parts.push_back(index + "/" + std::to_string(by));
        parts.push_back(index + "%" + std::to_string(by));
      } else if (!chance(5)) {
        parts.push_back(index);
      }
    }
    if (chance(50)) std::shuffle(parts.begin(), parts.end(), random_);
    if (!parts.empty() && target->shape.size() > 1 && chance(20))
      parts[static_cast<std::size_t>(pick(parts.size()))] +=
          "^i" + std::to_string(pick(target->shape.size())) + "%" + std::to_string(2 << pick(2));
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
    return {target->name, text.empty() ? "i9" : text};
  }

  std::mt19937_64 random_;
  const loops::IntrinsicTable& intrinsics_;
  bool reductions_commute_;
  loops::Program program_;
  int next_name_ = 0;
  std::vector<Step> planned_;  // last first
  std::vector<std::string> loops_, blocks_, reductions_;
  std::vector<std::string> sequences_;                      // loops that hold several statements
  std::vector<std::pair<std::string, std::string>> twins_;  // loops of one sequence, with as many iterations
  std::vector<std::string> decisions_;                      // names, decided or not
  std::vector<std::vector<std::string>> nests_,
      plain_nests_;  // plain: of blocks without init, predicate and blocks inside
  std::vector<loops::Buffer> buffers_;
  struct Edge {
    Path producer, consumer;  // a block, and a block that reads its results
  };
  std::vector<Edge> edges_;
};

}  // namespace dovetail::schedule::test
