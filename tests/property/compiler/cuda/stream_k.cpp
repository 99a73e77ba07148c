// Products whose workers iterate over the pieces of all tiles (stream_k): random shapes and decisions give the
// operator's values, in adversarial orders of threads and on the emulated GPU; and faults planted where parts begin,
// end and are stored are detected.
#include <array>
#include <functional>
#include <string>

#include "loops/rewrite.h"
#include "loops/threads/accesses.h"
#include "tests/property/compiler/cuda/group_cases.h"
#include "tests/property/compiler/cuda/text_faults.h"

using namespace dovetail;
using namespace dovetail::cuda::test;
using dovetail::test::Change;

namespace {

schedule::Decisions of_threads(const char* stages, const char* stream) {
  return {{"sum_rows", "2"},   {"sum_columns", "2"}, {"rows_of_threads", "4"}, {"columns_of_threads", "8"},
          {"tile_depth", "8"}, {"stages", stages},   {"parts", "1"},           {"stream", stream}};
}
schedule::Decisions of_warps(const char* stages, const char* stream) {
  return {{"warps", "2"},     {"row_fragments", "1"}, {"column_fragments", "2"}, {"depth_fragments", "1"},
          {"stages", stages}, {"parts", "1"},         {"stream", stream}};
}
schedule::Decisions of_groups(const char* stages, const char* stream) {
  schedule::Decisions decisions = tile("1", "16", "2", stages);
  decisions["stream"] = stream;
  return decisions;
}

cuda::Gpu with_processors(cuda::Gpu gpu, std::int64_t processors) {
  gpu.processors = processors;
  return gpu;
}

struct Streamed {
  const char* kind;
  std::int64_t m, n, k;
  DType type;
  bool transposed;
  std::int64_t processors;
  schedule::Decisions decisions;
};

std::vector<Streamed> streamed() {
  using enum DType;
  return {
      {"matrix_product", 17, 40, 37, float32, false, 4, of_threads("2", "1")},
      {"matrix_product", 24, 33, 64, float32, true, 4, of_threads("1", "2")},
      {"matrix_product", 8, 16, 96, float32, false, 4, of_threads("3", "1")},  // one tile, with several workers
      {"tensor_product", 37, 29, 96, int8, true, 3, of_warps("2", "1")},
      {"tensor_product", 64, 32, 160, int8, false, 3, of_warps("1", "1")},
      {"tensor_product", 33, 24, 96, float16, true, 3, of_warps("3", "1")},
      {"tensor_product", 32, 48, 80, bfloat16, false, 2, of_warps("2", "2")},
      {"group_product", 130, 20, 320, int8, true, 4, of_groups("3", "1")},
      {"group_product", 128, 32, 160, float16, true, 3, of_groups("4", "1")},
      {"group_product", 70, 40, 128, bfloat16, false, 2, of_groups("2", "2")},
      {"group_product", 64, 48, 257, float16, false, 4, of_groups("3", "1")},  // threads fetch
  };
}

Case case_of(const Streamed& one, std::uint64_t seed, bool tf32 = false, bool whole_numbers = false) {
  const bool of_group = one.kind == kGroupProduct;
  cuda::Gpu of = with_processors(of_group ? hopper() : gpu(), one.processors);
  of.tf32 = tf32;
  Case made = layer_case(layer(one.m, one.n, one.k, one.type, one.transposed, true), decided(one.decisions), seed, of,
                         whole_numbers);
  made.name = fmt::format("{} {} x {} x {} {}", one.kind, one.m, one.n, one.k, name(one.type));
  return made;
}

// Workers with whole tiles and shared ones; only shared ones; numbers of workers that divide the pieces or not.
std::vector<Case> tf32_cases(bool whole_numbers) {
  const std::vector<Streamed> all{{"tensor_product", 37, 29, 52, DType::float32, true, 3, of_warps("2", "1")},
                                  {"tensor_product", 80, 48, 40, DType::float32, false, 4, of_warps("3", "1")},
                                  {"tensor_product", 32, 48, 80, DType::float32, false, 2, of_warps("1", "2")}};
  std::vector<Case> list;
  for (const Streamed& one : all) {
    list.push_back(case_of(one, list.size(), true, whole_numbers));
    list.back().tolerance = whole_numbers ? 0 : 4e-3;
  }
  return list;
}

bool streams(const Case& one) {
  return std::ranges::any_of(one.scheduled.trace,
                             [](const schedule::Step& step) { return step.primitive == "stream_k"; });
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Streamed& one : streamed()) {
    list.push_back(case_of(one, list.size()));
    INFO(list.back().name << "\n" << fmt::format("{}", fmt::join(list.back().scheduled.notes, "\n")));
    CHECK(list.back().scheduled.kind == one.kind);
    CHECK(streams(list.back()));
    // Sums of parts are rounded, and then results, to 8 bits of bfloat16.
    if (is_floating(one.type)) list.back().tolerance = one.type == DType::float32 ? 1e-5 : 5e-3;
  }
  return list;
}

// With sums of bytes, faults show in the values. Each of four workers has its own tile, and 3 of the 10 pieces of two
// other tiles.
Case fault_case() { return case_of({"tensor_product", 80, 32, 160, DType::int8, true, 4, of_warps("3", "1")}, 3); }

}  // namespace

TEST_CASE("cuda: products by workers have the operator's values in adversarial orders of threads") {
  std::uint64_t seed = 1;
  for (const Case& one : cases())
    for (int run = 0; run < 2; ++run) check_threads(one, seed++);
}

TEST_CASE("cuda: the text of products by workers has the operator's values", "[gpu]") {
  std::vector<Case> all = cases();
  if (!group_products_run_here())
    std::erase_if(all, [](const Case& one) { return one.scheduled.kind == kGroupProduct; });
  check_text(all);
}

TEST_CASE("cuda: products by workers on TF32's tensor cores have the operator's values, integers bit for bit") {
  std::uint64_t seed = 11;
  for (const bool whole_numbers : {true, false}) {
    const std::vector<Case> all = tf32_cases(whole_numbers);
    for (const Case& one : all) {
      INFO(one.name << "\n" << fmt::format("{}", fmt::join(one.scheduled.notes, "\n")));
      REQUIRE(one.scheduled.kind == "tensor_product");
      REQUIRE(streams(one));
      CHECK_THAT(loops::to_string(one.scheduled.kernels), Catch::Matchers::ContainsSubstring("tf32"));
      for (int run = 0; run < 2; ++run) check_threads(one, seed++);
    }
    check_text(all);
  }
  check_nvrtc(tf32_cases(true));
}

TEST_CASE("cuda: a tile of one worker is written directly, and only parts of shared tiles pass through memory") {
  // Tiles of 32 x 16, workers, tiles with one worker, shared tiles; a part has at most 10 pieces of the depth.
  for (const auto& [m, processors, own, shared] : {std::tuple{80, 4, 1, 2}, {112, 3, 2, 2}, {32, 3, 0, 2}}) {
    const Case one = case_of({"tensor_product", m, 32, 160, DType::int8, true, processors, of_warps("2", "1")}, 1);
    INFO(loops::to_string(one.scheduled.kernels));
    REQUIRE(streams(one));
    REQUIRE(one.scheduled.kernels.kernels.size() == 2);
    const auto stores_to_result = [&](std::size_t kernel) {
      int count = 0;
      loops::each_access(one.scheduled.kernels.kernels[kernel].body,
                         [&](const loops::Buffer& buffer, const auto&, bool written) {
                           count += written && buffer->name == "y" ? 1 : 0;
                         });
      return count;
    };
    CHECK((stores_to_result(0) > 0) == (own > 0));
    CHECK(stores_to_result(1) > 0);
    // The second kernel iterates only over shared tiles.
    const loops::ThreadKernel& joins = one.scheduled.kernels.kernels[1];
    std::int64_t points = 1;
    for (const loops::BoundAxis& axis : joins.axes) points *= axis.extent;
    CHECK(points == std::int64_t{shared} * 32 * 16);
  }
}

TEST_CASE("cuda: products by workers compile by NVRTC") {
  std::vector<Case> of_warps, of_groups;
  for (Case& one : cases()) (one.scheduled.kind == kGroupProduct ? of_groups : of_warps).push_back(std::move(one));
  check_nvrtc(of_warps);
  check_nvrtc(of_groups, {"sm_90a"});
}

TEST_CASE("cuda: batches and convolutions go to workers too, and bytes have the operator's bits") {
  constexpr DType kByte = DType::int8;
  using Ints = std::vector<std::int64_t>;
  constexpr cuda::FloatSums kInOrder = cuda::FloatSums::in_order;
  const auto recorded = decided({{"stream", "1"}, {"parts", "1"}, {"stages", "2"}});
  std::vector<Case> list;
  list.push_back(node_case("MatMulInteger", {{kByte, {3, 40, 70}}, {kByte, {3, 70, 24}}}, {}, 1, recorded, kInOrder,
                           true, false, 4));
  list.push_back(node_case("MatMulInteger", {{kByte, {2, 3, 40, 70}}, {kByte, {3, 70, 24}}}, {}, 2, recorded, kInOrder,
                           true, false, 4));
  list.push_back(node_case("ConvInteger", {{kByte, {3, 9, 11, 10}}, {kByte, {20, 9, 3, 3}}},
                           {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 1}}}, 3, recorded, kInOrder, true, false,
                           5));
  for (const Case& one : list) {
    INFO(one.name << " " << one.scheduled.kind << "\n" << fmt::format("{}", fmt::join(one.scheduled.notes, "\n")));
    INFO(schedule::to_string(one.scheduled.trace));
    CHECK(streams(one));
    check_threads(one, 4);
  }
  check_text(list);
}

TEST_CASE("cuda: workers are used where tiles leave processors idle, and only there") {
  const auto scheduled = [](std::int64_t m, std::int64_t n, std::int64_t k, bool free_order) {
    return cuda::schedule_group(group_of(layer(m, n, k, DType::float16, true, free_order)), gpu(), nullptr).value();
  };
  const auto streams = [](const cuda::ScheduledGroup& group) {
    return std::ranges::any_of(group.trace, [](const schedule::Step& step) { return step.primitive == "stream_k"; });
  };
  CHECK(streams(scheduled(1536, 1408, 8192, true)));
  CHECK(!streams(scheduled(1536, 1408, 8192, false)));  // sums that keep their order
  CHECK(!streams(scheduled(1024, 1024, 64, true)));     // nothing to gain
  CHECK(!streams(scheduled(8192, 8192, 1024, true)));   // many waves
}

TEST_CASE("cuda: faults planted in the division of tiles among workers are found by run_threads") {
  const Case one = fault_case();
  REQUIRE(streams(one));
  INFO(loops::to_string(one.scheduled.kernels));
  using loops::Binary, loops::BinaryOp, loops::Core, loops::CoreIf, loops::CoreStore, loops::Expr;
  const auto is_found = [&](const loops::ThreadProgram& kernels, std::uint64_t seed) {
    const auto have = loops::run_threads(kernels, one.scheduled.program.parameters, one.arguments, seed);
    return !have.ok() || *have != *one.expected;
  };
  const auto in_kernel = [&](std::size_t kernel, const Change& change) {
    loops::ThreadProgram kernels = one.scheduled.kernels;
    kernels.kernels.at(kernel).body = dovetail::test::changed(kernels.kernels[kernel].body, change);
    return kernels;
  };
  // The conditions with `or`: where a part begins, and where it ends.
  const auto condition = [](int number, const std::function<Core(const CoreIf&)>& edit) -> Change {
    return [=, at = 0](const Core& core) mutable -> Core {
      const auto* n = core ? std::get_if<CoreIf>(&core->node) : nullptr;
      const auto* either = n == nullptr ? nullptr : std::get_if<Binary>(&n->condition->node);
      if (either == nullptr || either->op != BinaryOp::logical_or || at++ != number) return core;
      return edit(*n);
    };
  };
  // The condition without `or`: where a worker's own tile ends.
  const auto is_below = [](const Expr& e) {
    const auto* n = std::get_if<Binary>(&e->node);
    return n != nullptr && n->op == BinaryOp::lt;
  };
  const auto of_own = [&](const std::function<Core(const CoreIf&)>& edit) -> Change {
    return [=](const Core& core) -> Core {
      const auto* n = core ? std::get_if<CoreIf>(&core->node) : nullptr;
      const auto* both = n == nullptr ? nullptr : std::get_if<Binary>(&n->condition->node);
      const bool is_own =
          both != nullptr && both->op == BinaryOp::logical_and && is_below(both->a) != is_below(both->b);
      return is_own ? edit(*n) : core;
    };
  };
  const Change shifts_rows = [](const Core& core) -> Core {
    const auto* store = core ? std::get_if<CoreStore>(&core->node) : nullptr;
    if (store == nullptr || store->targets[0].buffer->name != "y") return core;
    CoreStore other = *store;
    Expr& row = other.targets[0].indices[0];
    row = loops::floor_mod(row + 32, other.targets[0].buffer->shape[0]);
    return loops::make_core(std::move(other));
  };
  const auto one_side = [](bool first) {
    return [first](const CoreIf& n) {
      const auto& either = std::get<Binary>(n.condition->node);
      return loops::core_if(first ? either.a : either.b, n.then_body);
    };
  };
  const auto always = [](const CoreIf& n) { return n.then_body; };
  // Expressions of the stores of a block, and of all loads of the second kernel.
  const auto exprs = [](const std::function<Expr(const Expr&)>& edit) -> Change {
    return [edit](const Core& core) -> Core {
      const auto* store = core ? std::get_if<CoreStore>(&core->node) : nullptr;
      if (store == nullptr) return core;
      CoreStore other = *store;
      for (loops::StoreTarget& target : other.targets) target.value = loops::rewrite_expr(target.value, edit);
      return loops::make_core(std::move(other));
    };
  };
  const auto shifted = [&](std::size_t dimension) {
    return exprs([=](const Expr& e) -> Expr {
      const auto* load = std::get_if<loops::LoadExpr>(&e->node);
      if (load == nullptr || load->indices.size() != 4) return e;  // loads of parts
      std::vector<Expr> indices = load->indices;
      const std::int64_t extent = load->buffer->shape[dimension];
      indices[dimension] = loops::floor_mod(indices[dimension] + 1, extent);
      return loops::load(load->buffer, std::move(indices));
    });
  };
  const auto parts_that_are_there = [&](std::int64_t more) {
    return exprs([=](const Expr& e) -> Expr {
      const auto* choice = std::get_if<loops::Select>(&e->node);
      const auto* less = choice == nullptr ? nullptr : std::get_if<Binary>(&choice->condition->node);
      if (less == nullptr || less->op != BinaryOp::lt) return e;
      return loops::select(loops::binary(BinaryOp::lt, less->a, less->b + more), choice->if_true, choice->if_false);
    });
  };
  const auto loops_shorter = [](const Core& core) -> Core {
    const auto* loop = core ? std::get_if<loops::CoreLoop>(&core->node) : nullptr;
    if (loop == nullptr || loop->kind != loops::ForKind::serial || loop->extent < 3) return core;
    loops::CoreLoop other = *loop;
    other.extent -= 1;
    return loops::make_core(std::move(other));
  };
  const auto blocks = [&](std::int64_t more) {
    loops::ThreadProgram kernels = one.scheduled.kernels;
    for (loops::BoundAxis& axis : kernels.kernels[0].axes)
      if (axis.axis == "block.x") axis.extent += more;
    return kernels;
  };
  const std::vector<std::pair<const char*, loops::ThreadProgram>> faults{
      {"sums never start", in_kernel(0, condition(0, [](const CoreIf&) -> Core { return nullptr; }))},
      {"sums start with the first shared piece alone", in_kernel(0, condition(0, one_side(true)))},
      {"sums start with tiles alone", in_kernel(0, condition(0, one_side(false)))},
      {"whole tiles are not written", in_kernel(0, of_own([](const CoreIf&) -> Core { return nullptr; }))},
      {"whole tiles are written a piece too early",
       in_kernel(0, of_own([=](const CoreIf& n) {
                   const auto& both = std::get<Binary>(n.condition->node);
                   const auto& last = std::get<Binary>((is_below(both.a) ? both.b : both.a)->node);
                   const Expr earlier = loops::binary(BinaryOp::eq, last.a + 1, last.b);
                   return loops::core_if(loops::logical_and(is_below(both.a) ? both.a : both.b, earlier), n.then_body);
                 }))},
      {"whole tiles of another worker", in_kernel(0, of_own([&](const CoreIf& n) {
                                                    return loops::core_if(
                                                        n.condition, dovetail::test::changed(n.then_body, shifts_rows));
                                                  }))},
      {"sums start with each piece", in_kernel(0, condition(0, always))},
      {"a worker's last part is not kept", in_kernel(0, condition(1, one_side(false)))},
      {"a tile's end is not kept", in_kernel(0, condition(1, one_side(true)))},
      {"no barrier", dovetail::test::without_barrier(one.scheduled.kernels, 0)},
      {"a piece too few", in_kernel(0, loops_shorter)},
      {"a worker too few", blocks(-1)},
      {"parts of another worker", in_kernel(1, shifted(0))},
      {"parts of another tile", in_kernel(1, shifted(1))},
      {"parts of other rows", in_kernel(1, shifted(2))},
      {"parts of other columns", in_kernel(1, shifted(3))},
      {"a worker of the tile is left out", in_kernel(1, parts_that_are_there(-3))},
      {"a worker of the next tile counts", in_kernel(1, parts_that_are_there(5))}};
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    CHECK(!is_found(one.scheduled.kernels, seed));
    for (const auto& [what, kernels] : faults) {
      INFO(what << ", seed " << seed);
      CHECK(is_found(kernels, seed));
    }
  }
}

TEST_CASE("cuda: four-warp products stay in flight across pieces, and are waited for where a tile begins and ends") {
  using Step = loops::CoreCallGroup::Step;
  const Case one = case_of({"group_product", 128, 32, 320, DType::int8, true, 3, of_groups("4", "1")}, 5);
  REQUIRE(streams(one));
  INFO(loops::to_string(one.scheduled.kernels));
  const auto waits = [&](std::int64_t groups) {
    return std::ranges::count(steps_of(one.scheduled.kernels.kernels[0].body), fmt::format("wait {}", groups));
  };
  CHECK(waits(1) == 1);
  REQUIRE(waits(0) == 4);  // where a tile begins, where a part and a whole tile end, and after all pieces
  const auto without = [&](int number, std::int64_t groups) {
    loops::ThreadProgram kernels = one.scheduled.kernels;
    int at = 0;
    kernels.kernels[0].body = dovetail::test::changed(
        kernels.kernels[0].body, each<loops::CoreCallGroup>([&](const loops::CoreCallGroup& group) -> loops::Core {
          const bool planted = group.step == Step::wait && group.groups == groups && at++ == number;
          return planted ? nullptr : loops::make_core(group);
        }));
    return kernels;
  };
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    const auto found = [&](const loops::ThreadProgram& kernels) {
      const auto have = loops::run_threads(kernels, one.scheduled.program.parameters, one.arguments, seed);
      return !have.ok() || *have != *one.expected;
    };
    CHECK(!found(one.scheduled.kernels));
    CHECK(found(without(1, 0)));  // sums are kept before products are done
    CHECK(found(without(0, 1)));  // a slot is filled again while it is read
  }
}
