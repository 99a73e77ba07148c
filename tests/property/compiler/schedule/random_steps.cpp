// Random steps on random programs: what a primitive accepts verifies and computes the same values, what it refuses changes nothing.
// DOVETAIL_TEST_SCALE multiplies the number of programs and the minima; DOVETAIL_TEST_SEED chooses the first seed.
#include <cstdlib>
#include <cstring>
#include <map>

#include "compiler/schedule/index_map.h"
#include "compiler/schedule/nest.h"
#include "compiler/schedule/schedule.h"
#include "loops/interpreter.h"
#include "loops/parse.h"
#include "loops/print.h"
#include "loops/verify.h"
#include "tests/catch.h"
#include "tests/generator_loops/random_program.h"
#include "tests/property/compiler/schedule/random_chain.h"

using namespace dovetail;
using namespace dovetail::loops;
using namespace dovetail::schedule;

namespace {

double scale() {
  const char* text = std::getenv("DOVETAIL_TEST_SCALE");
  return text ? std::atof(text) : 1.0;
}
std::uint64_t first_seed() {
  const char* text = std::getenv("DOVETAIL_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

const IntrinsicTable& intrinsics() {
  static const IntrinsicTable table = [] {
    const auto row = [](const std::string& name, const std::string& text, std::vector<Var> immediates = {}) {
      auto program = parse_program(text, name);
      REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
      Intrinsic intrinsic{name, *std::move(program), {}, std::move(immediates), false};
      intrinsic.scopes.assign(intrinsic.semantics.parameters.size(), "");
      return intrinsic;
    };
    IntrinsicTable rows;
    rows.push_back(row("t.gemm", R"(program gemm { output d: int32[2, 2] input x: int32[2, 2] input w: int32[2, 2]
      for i in 2 { for j in 2 { for k in 2 { block gemm { spatial vi in 2 = i spatial vj in 2 = j reduce vk in 2 = k
        reads d[vi, vj], x[vi, vk], w[vj, vk] writes d[vi, vj] d[vi, vj] = d[vi, vj] + x[vi, vk] * w[vj, vk] } } } } })"));
    rows.push_back(row("t.zero", R"(program zero { output d: int32[2] for i in 2 { block zero { spatial vi in 2 = i writes d[vi] d[vi] = 0 } } })"));
    rows.push_back(row("t.add", R"(program add { output d: int32[2] input a: int32[2] input b: int32[2]
      for i in 2 { block add { spatial vi in 2 = i reads a[vi], b[vi] writes d[vi] d[vi] = a[vi] + b[vi] } } })"));
    rows.push_back(row("t.copy", R"(program copy { output d: int32[2] input a: int32[2]
      for i in 2 { block copy { spatial vi in 2 = i reads a[vi] writes d[vi] d[vi] = a[vi] } } })"));
    rows.push_back(row("t.relu", R"(program relu { output d: int32[1, 2] input a: int32[1, 2]
      for i in 2 { block relu { spatial vi in 2 = i reads a[0, vi] writes d[0, vi] d[0, vi] = max(a[0, vi], 0) } } })"));
    // An intrinsic that initialises its own result.
    rows.push_back(row("t.dot", R"(program dot { output d: int32[1] input a: int32[2] input b: int32[2]
      for k in 2 { block dot { reduce vk in 2 = k reads d[0], a[vk], b[vk] writes d[0] init { d[0] = 0 } d[0] = d[0] + a[vk] * b[vk] } } })"));
    return rows;
  }();
  return table;
}

bool same_values(const NdArray& a, const NdArray& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const auto bytes = a.bytes(), other = b.bytes();
  return std::memcmp(bytes.data(), other.data(), bytes.size()) == 0;
}

class Walk {
 public:
  Walk(std::uint64_t seed, Program program, std::vector<NdArray> arguments, bool integers)
      : random_(seed * 7919 + 1), schedule_(std::move(program), intrinsics()), arguments_(std::move(arguments)), integers_(integers) {}

  struct Count {
    int accepted = 0, refused = 0;
  };

  void run(int steps, std::map<std::string, Count>& counts) {
    const std::string original = to_string(schedule_.program());
    const auto expected = evaluate(schedule_.program(), arguments_);
    // A random program may fail by itself: division by zero, an element never written, an index that is not proven.
    if (!expected.ok() || !verify(schedule_.program(), intrinsics()).ok()) return;
    expected_ = *expected;
    for (int i = 0; i < steps; ++i) {
      collect();
      const Step step = random_step();
      const Program before = schedule_.program();
      INFO("original program:\n" << original << "\ntrace:\n" << to_string(schedule_.trace()) << "step: " << to_string(step) << "\nbefore:\n" << to_string(before));
      const auto status = schedule_.apply(step);
      Count& count = counts[step.primitive];
      if (!status.ok()) {
        ++count.refused;
        REQUIRE(before.body == schedule_.program().body);
        for (const Diagnostic& error : status.errors()) REQUIRE((!error.what.empty() && !error.why.empty()));
        continue;
      }
      ++count.accepted;
      INFO("after:\n" << to_string(schedule_.program()));
      const auto verified = verify(schedule_.program(), intrinsics());
      REQUIRE((verified.ok() ? "" : to_string(verified.errors())) == "");
      if (step.primitive == "transform_layout") pack_parameter(before, step);
      const auto actual = evaluate(schedule_.program(), arguments_, intrinsics());
      REQUIRE((actual.ok() ? "" : to_string(actual.errors())) == "");
      REQUIRE(actual->size() == expected_.size());
      for (std::size_t o = 0; o < expected_.size(); ++o) REQUIRE(same_values((*actual)[o], expected_[o]));
    }
  }

 private:
  int pick(std::size_t n) { return static_cast<int>(random_() % n); }
  bool chance(int percent) { return pick(100) < percent; }
  template <typename T>
  const T& one_of(const std::vector<T>& values) { return values[static_cast<std::size_t>(pick(values.size()))]; }

  void collect() {
    loops_.clear(), blocks_.clear(), reductions_.clear(), buffers_.clear();
    nests_.clear();
    for (const Path& path : blocks_below(schedule_.program().body)) {
      blocks_.push_back(as_block(path.back())->name);
      if (as_block(path.back())->init) reductions_.push_back(blocks_.back());
      std::vector<std::string> nest;
      for (const For* loop : loops_of(path)) nest.push_back(loop->var->name);
      if (!nest.empty()) nests_.push_back(nest);
    }
    visit_stmts(schedule_.program().body, [&](const Stmt& stmt) {
      if (as_for(stmt)) loops_.push_back(as_for(stmt)->var->name);
    });
    for (const Parameter& parameter : schedule_.program().parameters) buffers_.push_back(parameter.buffer);
    for (const Buffer& buffer : schedule_.program().allocations) buffers_.push_back(buffer);
    if (loops_.empty()) loops_.push_back("none");
    if (nests_.empty()) nests_.push_back({"none", "none"});
  }

  std::string fresh() { return chance(3) ? (chance(50) ? one_of(loops_) : one_of(blocks_)) : "n" + std::to_string(next_name_++); }
  std::string loop() { return chance(2) ? "nowhere" : one_of(loops_); }
  std::string block() { return chance(2) ? "nowhere" : one_of(blocks_); }
  std::string buffer() { return chance(2) ? "nowhere" : one_of(buffers_)->name; }

  // A buffer that the block reads or writes.
  std::string buffer_of(const std::string& name, bool written) {
    const auto path = find_block(schedule_.program().body, name);
    if (!path || chance(10)) return buffer();
    const auto& regions = written ? as_block(path->back())->writes : as_block(path->back())->reads;
    return regions.empty() ? buffer() : one_of(regions).buffer->name;
  }

  // Steps that lead to an intrinsic: single ones seldom get there.
  void plan_tensorize() {
    const auto& nest = one_of(nests_);
    const auto split = [&](const std::string& loop) {
      const std::string outer = fresh(), inner = fresh();
      planned_.push_back({"split", {loop, "2"}, {outer, inner}});
      return std::pair(outer, inner);
    };
    if (nest.size() == 3 && !reductions_.empty() && chance(50)) {
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
      for (const Intrinsic& intrinsic : intrinsics())
        if (intrinsic.name != "t.gemm") planned_.push_back({"tensorize", {inner, intrinsic.name}, {}});
    }
    std::reverse(planned_.begin(), planned_.end());
  }

  Step random_step() {
    if (planned_.empty() && chance(12)) plan_tensorize();
    if (!planned_.empty()) {
      Step step = planned_.back();
      planned_.pop_back();
      return step;
    }
    switch (pick(12)) {
      case 0: return {"split", {loop(), std::to_string(pick(5))}, {fresh(), fresh()}};
      case 1: {
        const auto& nest = one_of(nests_);
        const std::size_t at = static_cast<std::size_t>(pick(nest.size()));
        return {"fuse", {nest[at], chance(90) ? nest[std::min(at + 1, nest.size() - 1)] : loop()}, {fresh()}};
      }
      case 2: {
        if (!integers_) return {"annotate", {loop(), "note", "1"}, {}};  // the random programs' reductions need not commute
        std::vector<std::string> order = one_of(nests_);
        std::shuffle(order.begin(), order.end(), random_);
        order.resize(std::min(order.size(), static_cast<std::size_t>(2 + pick(3))));
        if (order.size() < 2) order.push_back(loop());
        return {"reorder", order, {}};
      }
      case 3:
      case 4: return {"compute_at", {block(), loop()}, {}};
      case 5: {
        const std::string name = block();
        return {"cache_read", {name, buffer_of(name, false), "local"}, {fresh()}};
      }
      case 6: {
        const std::string name = block();
        return {"cache_write", {name, buffer_of(name, true), "local"}, {fresh()}};
      }
      case 7: return {"set_scope", {buffer(), chance(50) ? "local" : "shared"}, {}};
      case 8: {
        const std::string name = reductions_.empty() || chance(10) ? block() : one_of(reductions_);
        const auto path = find_block(schedule_.program().body, name);
        const auto around = path ? loops_of(*path) : std::vector<const For*>{};
        return {"decompose_reduction", {name, around.empty() || chance(10) ? loop() : one_of(around)->var->name}, {fresh()}};
      }
      case 9: return {"transform_layout", layout(), {}};
      case 10: return {"tensorize", {chance(80) ? one_of(one_of(nests_)) : block(), one_of(intrinsics()).name}, {}};
      default: return {"annotate", {chance(50) ? loop() : block(), "note", std::to_string(pick(9))}, {}};
    }
  }

  std::vector<std::string> layout() {
    const Buffer& target = one_of(buffers_);
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
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
    return {target->name, text.empty() ? "i9" : text};
  }

  void pack_parameter(const Program& before, const Step& step) {
    const auto map = parse_index_map(step.arguments[1], find_buffer(before, step.arguments[0])->shape);
    REQUIRE(map.ok());
    std::size_t argument = 0, output = 0;
    for (const Parameter& parameter : before.parameters) {
      NdArray& array = parameter.role == ParameterRole::output ? expected_[output++] : arguments_[argument++];
      if (parameter.buffer->name == step.arguments[0]) array = pack(array, *map);
    }
  }

  std::mt19937_64 random_;
  Schedule schedule_;
  std::vector<NdArray> arguments_, expected_;
  bool integers_;
  int next_name_ = 0;
  std::vector<Step> planned_;  // last first
  std::vector<std::string> loops_, blocks_, reductions_;
  std::vector<std::vector<std::string>> nests_;
  std::vector<Buffer> buffers_;
};

}  // namespace

TEST_CASE("random steps on chains of tensor expressions keep their values") {
  std::map<std::string, Walk::Count> counts;
  const auto programs = static_cast<std::uint64_t>(6000 * scale());
  for (std::uint64_t seed = first_seed(); seed < first_seed() + programs; ++seed) {
    INFO("seed " << seed);
    auto chain = schedule::test::ChainGenerator(seed).generate();
    Walk(seed, std::move(chain.program), std::move(chain.arguments), true).run(20, counts);
  }
  std::string table;
  for (const Primitive& primitive : all_primitives())
    table += std::string(primitive.name) + ": " + std::to_string(counts[std::string(primitive.name)].accepted) + " accepted, " +
             std::to_string(counts[std::string(primitive.name)].refused) + " refused\n";
  if (std::getenv("DOVETAIL_TEST_VERBOSE")) WARN(table);
  INFO(table);
  for (const Primitive& primitive : all_primitives()) {
    INFO(primitive.name);
    CHECK(counts[std::string(primitive.name)].accepted >= 1000 * scale());
    CHECK(counts[std::string(primitive.name)].refused >= 100 * scale());
  }
}

TEST_CASE("random steps on random loop programs keep their values") {
  std::map<std::string, Walk::Count> counts;
  const auto programs = static_cast<std::uint64_t>(3000 * scale());
  for (std::uint64_t seed = first_seed(); seed < first_seed() + programs; ++seed) {
    INFO("seed " << seed);
    auto random = loops::test::random_program(seed);
    Walk(seed, std::move(random.program), std::move(random.arguments), false).run(10, counts);
  }
}
