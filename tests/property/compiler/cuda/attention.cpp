// Attention as one kernel: random shapes and decisions, masks, rows without any key, and planted faults.
#include <cmath>
#include <limits>

#include <fmt/ranges.h>

#include "tests/plant_faults.h"
#include "tests/property/compiler/cuda/decided_layers.h"
#include "tests/property/compiler/cuda/kernel_case.h"
#include "tests/property/compiler/drawn_schedules.h"

using namespace dovetail;
using namespace dovetail::cuda::test;

namespace {

constexpr std::string_view kKind = "attention";

struct Shapes {
  Shape lead;
  std::int64_t m, n, d, e;
  Shape mask = {};
};

Case attention(DType type, const Shapes& s, std::uint64_t seed, const schedule::FindRecorded& recorded = nullptr,
               cuda::FloatSums sums = cuda::FloatSums::free, bool tf32 = false) {
  const auto shape = [&](std::int64_t a, std::int64_t b) {
    Shape made = s.lead;
    made.insert(made.end(), {a, b});
    return made;
  };
  std::vector<graph::TensorType> types{{type, shape(s.m, s.d)}, {type, shape(s.d, s.n)}, {type, shape(s.n, s.e)}};
  if (!s.mask.empty()) types.push_back({type, s.mask});
  Case made = node_case("dovetail.attention", types, {{"scale", 0.5}}, seed, recorded, sums, false, tf32);
  made.tolerance = type == DType::float32 ? (tf32 ? 4e-3 : 1e-5) : type == DType::float16 ? 2e-3 : 1.6e-2;
  return made;
}

// The operator's program.
loops::Program definition(DType type, const Shapes& s) {
  graph::Graph graph;
  graph::Node node{"node", "dovetail.attention", {}, {}, {{"scale", 0.5}}, {"node"}};
  const std::vector<Shape> shapes{{s.m, s.d}, {s.d, s.n}, {s.n, s.e}, s.mask};
  for (const Shape& shape : shapes) node.inputs.push_back(graph.add_value("x", {type, shape}));
  graph.inputs = node.inputs;
  node.outputs = {graph.add_value("y", {})};
  graph.outputs = node.outputs;
  const graph::NodeId id = graph.add_node(std::move(node));
  REQUIRE(ops::infer(graph, id).ok());
  return fuse_groups(graph, {id}).value().front().program;
}

std::vector<Case> attentions() {
  std::vector<Case> list;
  const std::vector<Shapes> shapes{{{2}, 20, 40, 20, 24, {}},
                                   {{1, 2}, 17, 33, 8, 9, {17, 33}},
                                   {{}, 5, 50, 16, 20, {5, 50}},
                                   {{2}, 9, 16, 33, 17, {2, 9, 16}}};
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (const DType type : {DType::float32, DType::float16, DType::bfloat16})
      for (const bool drawn : {false, true})
        if (type != DType::bfloat16 || (i == 1 && !drawn))
          list.push_back(attention(type, shapes[i], i, drawn ? dovetail::test::drawn_schedules(i) : nullptr));
  list.push_back(attention(DType::float32, shapes[1], 5, nullptr, cuda::FloatSums::free, true));
  return list;
}

}  // namespace

TEST_CASE("cuda: attention is one kernel with the operator's values in adversarial orders of threads") {
  for (const Case& one : attentions()) {
    INFO(one.name << "\n" << loops::to_string(one.scheduled.program));
    INFO(fmt::format("{}", fmt::join(one.scheduled.notes, "\n")));
    CHECK(one.scheduled.kind == kKind);
    CHECK(one.scheduled.kernels.kernels.size() == 1);
    check_threads(one, 5);
  }
}

TEST_CASE("cuda: the text of attention has the operator's values, compiled for this machine", "[gpu]") {
  check_text(attentions());
}

TEST_CASE("cuda: attention compiles by NVRTC") {
  std::vector<Case> list;
  for (const DType type : {DType::float32, DType::float16, DType::bfloat16})
    list.push_back(attention(type, {{2}, 40, 70, 20, 24, {40, 70}}, 1));
  check_nvrtc(list);
}

// Keys that a mask hides are in separate pieces, and a row may have no key.
TEST_CASE("cuda: attention leaves out the keys that its mask hides") {
  for (const DType type : {DType::float32, DType::float16}) {
    Case one = attention(type, {{}, 16, 48, 8, 16, {16, 48}}, 3, decided({{"piece_columns", "16"}}));
    REQUIRE(one.scheduled.kind == kKind);
    NdArray& mask = one.arguments[3];
    for (std::int64_t row = 0; row < 16; ++row)
      for (std::int64_t column = 0; column < 48; ++column) {
        const bool hidden = row == 7 || (row % 3 == 0 && column < 32) || (row % 3 == 1 && column > row);
        mask.set_double(row * 48 + column, hidden ? -std::numeric_limits<double>::infinity() : 0);
      }
    const auto expected = loops::evaluate(definition(type, {{}, 16, 48, 8, 16, {16, 48}}), one.arguments).value();
    const auto have =
        loops::run_threads(one.scheduled.kernels, one.scheduled.program.parameters, one.arguments, 2).value();
    for (std::int64_t i = 0; i < expected[0].count(); ++i) {
      const double a = have[0].as_double(i), b = expected[0].as_double(i);
      INFO(i);
      CHECK(std::isnan(b) == (i / 16 == 7));
      CHECK((std::isnan(b) ? std::isnan(a) : std::abs(a - b) <= one.tolerance * 2));
    }
  }
}

TEST_CASE("cuda: scores stay in registers, and one warp waits only for the pieces' copies") {
  const Case one = attention(DType::float16, {{2, 2}, 32, 128, 16, 16, {}}, 1);
  REQUIRE(one.scheduled.kind == kKind);
  REQUIRE(one.scheduled.kernels.kernels.size() == 1);
  const loops::ThreadKernel& kernel = one.scheduled.kernels.kernels[0];
  INFO(loops::to_string(one.scheduled.kernels));
  CHECK(kernel.shared.size() == 4);  // q, a piece of k and of v, the block's weights
  CHECK(one.scheduled.kernels.workspace.empty());
  CHECK(dovetail::test::count_barriers(kernel.body) <= 3);
}

TEST_CASE("cuda: each warp multiplies by the weights of its rows, and waits only for its own lanes") {
  const auto barriers = [](const Case& one, bool of_warp) {
    int count = 0;
    dovetail::test::changed(one.scheduled.kernels.kernels[0].body, [&](const loops::Core& inner) {
      const auto* barrier = inner ? std::get_if<loops::CoreBarrier>(&inner->node) : nullptr;
      if (barrier != nullptr && barrier->of_warp == of_warp) ++count;
      return inner;
    });
    return count;
  };
  const Shapes shapes{{2}, 64, 96, 16, 16, {}};
  const Case warps =
      attention(DType::float16, shapes, 1,
                decided({{"warps", "4"}, {"row_fragments", "1"}, {"piece_columns", "32"}, {"stages", "2"}}));
  REQUIRE(warps.scheduled.kind == kKind);
  INFO(loops::to_string(warps.scheduled.kernels));
  CHECK(barriers(warps, false) == 1);  // after the wait for a piece
  CHECK(barriers(warps, true) == 1);   // between the lanes' writes of the weights and the product
  for (std::uint64_t seed = 0; seed < 3; ++seed) check_threads(warps, seed);
  // Without tensor cores, threads read values that other warps have written.
  const Case threads = attention(DType::float32, shapes, 1, decided({{"piece_columns", "32"}, {"stages", "2"}}));
  REQUIRE(threads.scheduled.kind == kKind);
  CHECK(barriers(threads, false) >= 2);
}

TEST_CASE("cuda: sums that keep their order do not become one attention kernel") {
  CHECK(attention(DType::float32, {{}, 16, 16, 8, 8, {}}, 1, nullptr, cuda::FloatSums::in_order).scheduled.kind !=
        kKind);
}

TEST_CASE("cuda: faults planted in attention are found by run_threads") {
  using loops::Core, loops::CoreStore, loops::Expr;
  const Shapes shapes{{2}, 20, 72, 16, 16, {20, 72}};
  for (const DType type : {DType::float16, DType::float32}) {
    const Case one = attention(type, shapes, 2, decided({{"piece_columns", "16"}, {"stages", "2"}}));
    REQUIRE(one.scheduled.kind == kKind);
    REQUIRE(one.scheduled.kernels.kernels.size() == 1);
    const auto is_found = [&](const loops::ThreadProgram& kernels, std::uint64_t seed) {
      const auto have = loops::run_threads(kernels, one.scheduled.program.parameters, one.arguments, seed);
      if (!have.ok()) return true;
      for (std::int64_t i = 0; i < (*have)[0].count(); ++i)
        if (!(std::abs((*have)[0].as_double(i) - (*one.expected)[0].as_double(i)) <= 10 * one.tolerance)) return true;
      return false;
    };
    const auto changed = [&](const dovetail::test::Change& change) {
      loops::ThreadProgram kernels = one.scheduled.kernels;
      kernels.kernels[0].body = dovetail::test::changed(kernels.kernels[0].body, change);
      return kernels;
    };
    // Statements of that block, which write the value that `edit` returns.
    const auto stores = [&](const std::string& block, const std::function<Expr(const Expr&)>& edit) {
      return changed([=](const Core& core) -> Core {
        const auto* store = core ? std::get_if<CoreStore>(&core->node) : nullptr;
        if (store == nullptr || store->block != "weighted." + block) return core;
        CoreStore other = *store;
        other.targets[0].value = edit(other.targets[0].value);
        return loops::make_core(std::move(other));
      });
    };
    const auto left_out = [&](const std::string& block) {
      return changed([=](const Core& core) -> Core {
        const auto* store = core ? std::get_if<CoreStore>(&core->node) : nullptr;
        return store != nullptr && store->block == "weighted." + block ? nullptr : core;
      });
    };
    const auto shuffles = [&](const std::function<void(loops::CoreShuffle&)>& edit) {
      return changed([=](const Core& core) -> Core {
        const auto* shuffle = core ? std::get_if<loops::CoreShuffle>(&core->node) : nullptr;
        if (shuffle == nullptr) return core;
        loops::CoreShuffle other = *shuffle;
        edit(other);
        return loops::make_core(std::move(other));
      });
    };
    const auto waits = [&](std::int64_t more) {
      return changed([=](const Core& core) -> Core {
        const auto* group = core ? std::get_if<loops::CoreAsyncGroup>(&core->node) : nullptr;
        if (group == nullptr || group->step != loops::CoreAsyncGroup::Step::wait) return core;
        return loops::make_core(loops::CoreAsyncGroup{group->step, group->groups + more});
      });
    };
    const auto one_of = [](double value) {
      return [value](const Expr& e) { return loops::constant(value, e->dtype); };
    };
    std::vector<std::pair<std::string, loops::ThreadProgram>> faults{
        {"sums do not fade", stores("fade", one_of(1))},
        {"what was summed up of v does not fade", left_out("faded")},
        {"the largest value is not kept", left_out("keep")},
        {"a piece's sum is not added", left_out("add")},
        {"keys after the last count", stores("x",
                                             [](const Expr& e) {
                                               const auto* choice = std::get_if<loops::Select>(&e->node);
                                               return choice == nullptr
                                                          ? e
                                                          : loops::select(choice->condition, choice->if_true,
                                                                          loops::constant(0, e->dtype));
                                             })},
        {"lanes exchange with themselves", shuffles([](loops::CoreShuffle& s) { s.distance = 0; })},
        {"a lane takes no part", shuffles([](loops::CoreShuffle& s) { s.mask &= ~std::uint32_t{8}; })},
        {"a wait for one group too few", waits(1)}};
    faults.emplace_back("pieces are read before all have copied",
                        dovetail::test::without_barrier(one.scheduled.kernels, 0));
    // A lane of a tensor core multiplies by weights that it wrote itself and that another lane may load.
    faults.emplace_back("weights are read before all have written",
                        dovetail::test::without_barrier(one.scheduled.kernels, 1));
    CHECK(!is_found(one.scheduled.kernels, 1));
    for (const auto& [what, kernels] : faults) {
      INFO(name(type) << ": " << what);
      CHECK(is_found(kernels, 1));
    }
  }
}
