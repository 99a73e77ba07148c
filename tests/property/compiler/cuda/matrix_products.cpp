// Products of matrices and convolutions as tiles: random shapes and random decisions; and the generated kernels have
// the properties that make them fast: shared memory, sums in registers, blocks for every processor.
#include <array>

#include <fmt/ranges.h>

#include "compiler/ops/op.h"
#include "tests/plant_faults.h"
#include "tests/property/compiler/cuda/decided_layers.h"
#include "tests/property/compiler/cuda/kernel_case.h"
#include "tests/property/compiler/drawn_schedules.h"

using namespace dovetail;
using namespace dovetail::cuda::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::string_view kKind = "matrix_product", kTensorKind = "tensor_product";

std::vector<Case> layers() {
  std::vector<Case> list;
  constexpr std::array<std::array<std::int64_t, 3>, 6> kShapes{
      {{37, 45, 50}, {9, 129, 33}, {64, 10, 64}, {18, 40, 7}, {33, 100, 40}, {130, 24, 9}}};
  for (std::size_t i = 0; i < kShapes.size(); ++i)
    for (const bool integer : {false, true})
      for (const bool drawn : {false, true}) {
        const auto [m, n, k] = kShapes[i];
        const loops::Program program = layer(m, n, k, integer ? DType::int8 : DType::float32, i % 2 == 0);
        list.push_back(layer_case(program, drawn ? dovetail::test::drawn_schedules(i) : nullptr, i));
      }
  return list;
}

// Depths split into parts, each with separate blocks, for products and for a convolution's channels.
std::vector<Case> parts(const std::string& count) {
  std::vector<Case> list;
  for (const DType type : {DType::float32, DType::int8, DType::float16})
    list.push_back(layer_case(layer(21, 30, 128, type, type == DType::int8, true), decided({{"parts", count}}), 3));
  list.push_back(node_case("MatMul", {{DType::float32, {2, 20, 64}}, {DType::float32, {2, 64, 24}}}, {}, 4,
                           decided({{"parts", count}}), cuda::FloatSums::free, true));
  list.push_back(node_case(
      "Conv", {{DType::float32, {1, 8, 7, 6}}, {DType::float32, {9, 8, 3, 3}}, {DType::float32, {9}}},
      {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}, 5, decided({{"parts", count}}), cuda::FloatSums::free, true));
  for (Case& one : list) one.tolerance = 1e-5;
  return list;
}

// Operators that are contractions, with borders, strides, transpositions, batches.
std::vector<Case> operators() {
  using Ints = std::vector<std::int64_t>;
  constexpr DType kFloat = DType::float32;
  struct Row {
    std::string op;
    std::vector<graph::TensorType> types;
    graph::Attributes attributes;
  };
  const std::vector<Row> rows{
      {"Gemm", {{kFloat, {40, 33}}, {kFloat, {18, 33}}, {kFloat, {18}}}, {{"transB", std::int64_t{1}}, {"alpha", 0.5}}},
      {"Gemm", {{kFloat, {33, 21}}, {kFloat, {33, 18}}}, {{"transA", std::int64_t{1}}}},
      {"MatMul", {{kFloat, {3, 20, 17}}, {kFloat, {3, 17, 20}}}, {}},
      {"MatMul", {{DType::int32, {2, 2, 20, 17}}, {DType::int32, {17, 24}}}, {}},
      {"MatMul", {{DType::float16, {19, 40}}, {DType::float16, {40, 16}}}, {}},
      {"MatMul", {{DType::float64, {19, 40}}, {DType::float64, {40, 16}}}, {}},
      {"MatMulInteger", {{DType::int8, {35, 40}}, {DType::int8, {40, 9}}}, {}},
      {"Conv",
       {{kFloat, {2, 5, 11, 13}}, {kFloat, {9, 5, 3, 3}}, {kFloat, {9}}},
       {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"Conv",
       {{kFloat, {1, 4, 12, 9}}, {kFloat, {6, 4, 3, 2}}},
       {{"dilations", Ints{2, 3}}, {"pads", Ints{0, 2, 1, 0}}}},
      {"Conv", {{kFloat, {1, 24, 6, 5}}, {kFloat, {17, 24, 1, 1}}}, {}},
      {"Conv", {{kFloat, {3, 6, 25}}, {kFloat, {10, 6, 4}}}, {{"pads", Ints{3, 0}}}},
      {"Conv", {{kFloat, {1, 3, 5, 6, 7}}, {kFloat, {9, 3, 2, 3, 2}}}, {}},
      {"Conv", {{kFloat, {2, 1, 16, 16}}, {kFloat, {8, 1, 5, 5}}}, {{"strides", Ints{1, 3}}}},
      {"Einsum", {{kFloat, {3, 20, 17}}, {kFloat, {3, 19, 17}}}, {{"equation", std::string("bij,bkj->bik")}}}};
  std::vector<Case> list;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const bool drawn : {false, true})
      list.push_back(node_case(rows[i].op, rows[i].types, rows[i].attributes, i,
                               drawn ? dovetail::test::drawn_schedules(i) : nullptr));
  return list;
}

}  // namespace

TEST_CASE("cuda: tiles of products have the operator's values in adversarial orders of threads") {
  std::vector<Case> all = layers();
  for (Case& one : operators()) all.push_back(std::move(one));
  for (const Case& one : all) {
    INFO(one.name << "\n" << loops::to_string(one.scheduled.program));
    INFO(fmt::format("{}", fmt::join(one.scheduled.notes, "\n")));
    CHECK((one.scheduled.kind == kKind || one.scheduled.kind == kTensorKind));
    check_threads(one, 5);
  }
}

TEST_CASE("cuda: the text of tiles of products has the operator's values, compiled for this machine", "[gpu]") {
  std::vector<Case> all = layers();
  for (Case& one : operators()) all.push_back(std::move(one));
  check_text(all);
}

TEST_CASE("cuda: a second kernel adds the parts of a product's depth in their order") {
  for (const char* count : {"2", "4"}) {
    const std::vector<Case> list = parts(count);
    for (const Case& one : list) {
      INFO(one.name << "\n" << loops::to_string(one.scheduled.program));
      INFO(fmt::format("{}", fmt::join(one.scheduled.notes, "\n")));
      CHECK((one.scheduled.kind == kKind || one.scheduled.kind == kTensorKind));
      CHECK(one.scheduled.kernels.kernels.size() == 2);
      check_threads(one, 5);
      const auto values = [&](std::uint64_t seed) {
        return loops::run_threads(one.scheduled.kernels, one.scheduled.program.parameters, one.arguments, seed).value();
      };
      CHECK(values(6) == values(7));
    }
    check_text(list);
  }
}

TEST_CASE("cuda: deep products of few tiles are split into parts by default, but not where sums keep their order") {
  const auto kernels = [](const loops::Program& program) {
    const auto scheduled = cuda::schedule_group(group_of(program), gpu(), nullptr).value();
    INFO(loops::to_string(scheduled.program));
    CHECK((scheduled.kind == kKind || scheduled.kind == kTensorKind));
    return scheduled.kernels.kernels.size();
  };
  for (const DType type : {DType::float32, DType::int8, DType::float16}) {
    INFO(name(type));
    CHECK(kernels(layer(64, 64, 8192, type, true, true)) == 2);
    CHECK(kernels(layer(4096, 4096, 1024, type, true, true)) == 1);  // enough tiles for all processors
  }
  CHECK(kernels(layer(64, 64, 8192, DType::float32, true, false)) == 1);
}

TEST_CASE("cuda: parts of a depth are fetched 16 bytes at a time where they are adjacent") {
  for (const DType type : {DType::float32, DType::int8, DType::float16}) {
    schedule::Decisions decisions{{"parts", "4"}};
    // Each lane then has at least 16 bytes of a piece, and there are several pieces, which are copied ahead.
    if (type != DType::float32) decisions = {{"parts", "4"}, {"warps", "1"}, {"depth_fragments", "2"}, {"stages", "2"}};
    const Case one = layer_case(layer(64, 64, 512, type, true, true), decided(decisions), 3);
    REQUIRE(one.scheduled.origin.recorded);
    REQUIRE(one.scheduled.kernels.kernels.size() == 2);
    const std::string text = cuda::emit_source(one.scheduled.kernels, one.scheduled.program.parameters, "k").text;
    INFO(one.name << ", " << name(type) << "\n" << text);
    CHECK_THAT(text, ContainsSubstring("copy_async<16>") && !ContainsSubstring("copy_async<4>"));
  }
}

TEST_CASE("cuda: faults planted in parts of a depth are found by run_threads") {
  const Case one = parts("4").front();
  const loops::ThreadProgram& right = one.scheduled.kernels;
  REQUIRE(right.kernels.size() == 2);
  const auto found = [&](const loops::ThreadProgram& kernels) {
    const auto have = loops::run_threads(kernels, one.scheduled.program.parameters, one.arguments, 1);
    if (!have.ok()) return true;
    for (std::int64_t i = 0; i < (*have)[0].count(); ++i)
      if (std::abs((*have)[0].as_double(i) - (*one.expected)[0].as_double(i)) > 1e-3) return true;
    return false;
  };
  CHECK_FALSE(found(right));
  loops::ThreadProgram without = right, exchanged = right, fewer = right;
  without.kernels.pop_back();
  CHECK(found(without));
  std::swap(exchanged.kernels[0], exchanged.kernels[1]);
  CHECK(found(exchanged));
  // A kernel that does not compute one of the parts.
  bool changed = false;
  for (loops::BoundAxis& axis : fewer.kernels[0].axes)
    if (!changed && axis.extent == 4) changed = (axis.extent = 3) == 3;
  REQUIRE(changed);
  CHECK(found(fewer));
}

TEST_CASE(
    "cuda: a tile is accepted where a block has exactly the memory for its pieces, and refused with a byte less") {
  struct Space {
    std::string_view kind, architectures;
    std::vector<std::pair<std::string, std::vector<int>>> choices;
  };
  // The number of parts stays open: a schedule that is decided completely is taken without an estimate.
  const std::array<Space, 2> spaces{{{kKind,
                                      "sm_75",
                                      {{"sum_rows", {8, 16, 4, 2, 1}},
                                       {"sum_columns", {8, 4, 2, 1}},
                                       {"rows_of_threads", {16, 8, 4, 2}},
                                       {"columns_of_threads", {16, 8, 32}},
                                       {"tile_depth", {8, 16, 32}},
                                       {"stages", {2, 3, 4, 1}},
                                       {"turned", {0, 1}}}},
                                     {kTensorKind,
                                      "sm_80",
                                      {{"warps", {4, 2, 1, 8}},
                                       {"row_fragments", {2, 1, 4}},
                                       {"column_fragments", {8, 4, 2, 16}},
                                       {"depth_fragments", {2, 1, 4}},
                                       {"stages", {3, 2, 4, 1}}}}}};
  SplitMix64 random(11);
  for (const Space& space : spaces)
    for (const DType type : {DType::float32, DType::int8, DType::float16})
      for (int layout = 0; layout < 4; ++layout) {
        if (space.kind == kTensorKind && type == DType::float32) continue;
        const loops::Program program =
            layer(72, 96, 256, type, layout % 2 != 0, space.kind == kTensorKind, layout / 2 != 0);
        cuda::Gpu gpu = cuda::parse_gpu("", space.architectures).value();
        schedule::Decisions tile;
        const auto scheduled = [&](std::int64_t shared_bytes) {
          gpu.shared_bytes = shared_bytes;
          auto made = cuda::schedule_group(group_of(program), gpu, decided(tile));
          if (!made) FAIL(to_string(made.errors()));
          return *std::move(made);
        };
        const auto is_taken = [&](const cuda::ScheduledGroup& made) {
          return made.kind == space.kind && made.origin.recorded;
        };
        // Some tiles do not fit whatever the memory is: because of their threads, or of what these can fetch.
        constexpr std::int64_t kMuch = 1 << 20;
        std::optional<cuda::ScheduledGroup> whole;
        while (!whole || !is_taken(*whole)) {
          for (const auto& [name, values] : space.choices)
            tile[name] = fmt::format("{}", values[random.next() % values.size()]);
          whole = scheduled(kMuch);
        }
        const std::int64_t bytes = whole->kernels.kernels[0].shared_places().bytes;
        INFO(space.kind << ", " << name(type) << ", layout " << layout << ", " << bytes << " bytes");
        INFO(fmt::format("{}", fmt::join(tile, ", ")));
        CHECK(is_taken(scheduled(bytes)));
        const auto less = scheduled(bytes - 1);
        CHECK_FALSE(is_taken(less));
        // The tile was not tried.
        CHECK_THAT(fmt::format("{}", fmt::join(less.notes, "\n")), !ContainsSubstring("bytes of shared memory"));
      }
}

TEST_CASE("cuda: tiles of products compile by NVRTC") {
  std::vector<Case> list;
  for (const bool integer : {false, true})
    list.push_back(layer_case(layer(37, 45, 50, integer ? DType::int8 : DType::float32, integer), nullptr, 1));
  check_nvrtc(list);
}

TEST_CASE("cuda: NVIDIA's compiler makes wide loads and stores of neighbors") {
  const auto compiler = cuda::Nvrtc::find();
  if (!compiler) return dovetail::test::skip("no NVRTC: " + compiler.errors().front().why);
  const Case one = layer_case(layer(64, 64, 64, DType::float32, false), decided({{"sum_columns", "4"}}), 1);
  std::string text;
  sources_of({one}, text);
  const auto binary = (*compiler)->compile(text, "sm_80");
  if (!binary) FAIL(to_string(binary.errors()));
  const std::string ptx(reinterpret_cast<const char*>(binary->ptx.data()), binary->ptx.size());
  for (const char* wide : {"ld.shared.v4.f32", "st.global.v4.f32", "cp.async.cg.shared.global"}) {
    INFO(wide);
    CHECK(ptx.find(wide) != std::string::npos);
  }
}

TEST_CASE("cuda: NVIDIA's compiler rounds each product and each sum separately, unless both are to be rounded once") {
  const auto compiler = cuda::Nvrtc::find();
  if (!compiler) return dovetail::test::skip("no NVRTC: " + compiler.errors().front().why);
  for (const DType type : {DType::float32, DType::float16})
    for (const bool once : {false, true}) {
      INFO(name(type) << (once ? ", once" : ""));
      std::string text;
      sources_of({layer_case(layer(20, 20, 20, type, false, once), decided({{"parts", "1"}}), 1,
                             cuda::parse_gpu("", "sm_75").value())},
                 text);
      const auto binary = (*compiler)->compile(text, "sm_75");  // without tensor cores
      if (!binary) FAIL(to_string(binary.errors()));
      const std::string ptx(reinterpret_cast<const char*>(binary->ptx.data()), binary->ptx.size());
      CHECK((ptx.find("fma.rn.f32") != std::string::npos) == once);
      CHECK((ptx.find("mul.rn.f32") != std::string::npos) == !once);
    }
}

TEST_CASE("cuda: transposing copies, of either operand, have the operator's values, also with workers and with parts",
          "[gpu]") {
  std::vector<Case> list;
  cuda::Gpu few = gpu();
  few.processors = 5;  // which share tiles
  for (const bool transposed : {false, true})
    for (const auto& [name, value] : {std::pair{"parts", "1"}, {"parts", "4"}, {"stream", "1"}})
      for (const char* rows : {"8", "16", "2"})
        list.push_back(layer_case(
            layer(70, 140, 128, DType::float32, transposed, true),
            decided({{"sum_rows", rows}, {"sum_columns", "4"}, {"tile_depth", "8"}, {"turned", "1"}, {name, value}}), 7,
            few));
  for (Case& one : list) {
    one.tolerance = 1e-5;
    INFO(loops::to_string(one.scheduled.program));
    const std::string trace = schedule::to_string(one.scheduled.trace);
    CHECK_THAT(trace, ContainsSubstring("transform_layout"));
    check_threads(one, 3);
  }
  check_text(list);
}

TEST_CASE("cuda: a product of matrices is computed in registers, from shared memory, on every processor") {
  for (const bool integer : {false, true})
    for (const bool transposed : {false, true}) {
      const auto scheduled =
          cuda::schedule_group(group_of(layer(1024, 1024, 1024, integer ? DType::int8 : DType::float32, transposed)),
                               gpu(), nullptr)
              .value();
      INFO(loops::to_string(scheduled.kernels));
      CHECK(scheduled.kind == (integer ? kTensorKind : kKind));
      REQUIRE(scheduled.kernels.kernels.size() == 1);
      const loops::ThreadKernel& kernel = scheduled.kernels.kernels[0];
      CHECK(kernel.blocks() >= (integer ? gpu().processors / 2 : gpu().processors));
      CHECK(kernel.threads() % 32 == 0);
      CHECK(kernel.shared.size() == 2);
      REQUIRE(kernel.local.size() >= 1);  // the sums; a piece that is fetched into registers
      CHECK(element_count(kernel.local[0]->shape) >= 16);
      // A piece's readers wait for it; then the copies of the next one follow, into the slot of the previous one, which
      // all threads have read by then.
      CHECK(dovetail::test::count_barriers(kernel.body) == 1);
      const std::string text = cuda::emit_source(scheduled.kernels, scheduled.program.parameters, "k").text;
      // Memory beyond the static limit of a block comes with the launch.
      const bool own = kernel.shared_places().bytes <= cuda::kStaticSharedBytes;
      CHECK_THAT(text,
                 ContainsSubstring(own ? "alignas(16) __shared__" : "given_shared()") &&
                     ContainsSubstring("#pragma unroll") &&
                     (integer && !transposed   ? ContainsSubstring("copy_async")
                      : !integer && transposed ? ContainsSubstring("copy_async<4>")  // both are transposed
                                               : ContainsSubstring("copy_async<16>")));
    }
  // Few rows: small tiles, so that most processors have one.
  const auto few = cuda::schedule_group(group_of(layer(8, 1000, 512, DType::float32, true)), gpu(), nullptr).value();
  CHECK(few.kernels.kernels[0].blocks() >= 60);
}
