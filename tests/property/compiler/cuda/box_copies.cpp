// Operands of four-warp products that an asynchronous unit fetches box by box (sm_90a): random and chosen shapes give
// the operator's values in adversarial orders, in which a box arrives line by line at any time up to the wait for its
// signal, and on the emulated GPU, which reads tensors by the maps that the driver encodes. Faults planted in signals,
// boxes, swizzles and barriers are detected by both.
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/graph/parse.h"
#include "loops/rewrite.h"
#include "tests/property/compiler/cuda/group_cases.h"
#include "tests/property/compiler/cuda/text_faults.h"

using namespace dovetail;
using namespace dovetail::cuda::test;
using Catch::Matchers::ContainsSubstring;
using dovetail::test::Change;

namespace {

// Numbers of operands in a case's kernels that are fetched by boxes, and by threads.
struct Fetches {
  int boxes = 0, copies = 0;
};
Fetches fetches_of(const Case& one) {
  Fetches found;
  for (const loops::ThreadKernel& kernel : one.scheduled.kernels.kernels)
    dovetail::test::changed(kernel.body, [&](const loops::Core& inner) {
      if (inner && std::holds_alternative<loops::CoreBoxCopy>(inner->node)) ++found.boxes;
      if (inner && std::holds_alternative<loops::CoreAsyncCopy>(inner->node)) ++found.copies;
      return inner;
    });
  return found;
}

loops::Program parsed(const std::string& text) {
  auto program = loops::parse_program(text, "layer");
  if (!program) FAIL(to_string(program.errors()));
  return *std::move(program);
}

// A product for each of three matrices of the batch, and a convolution by windows of one element, whose columns are
// rows and columns of an image.
loops::Program batched() {
  return parsed(
      "program batched { input a: float16[3, 40, 72] input b: float16[3, 72, 24] output y: float32[3, 40, 24] "
      "for n0 in 3 { for i0 in 40 { for j0 in 24 { for l0 in 72 { block gemm @sum(\"products\") { "
      "spatial n in 3 = n0 spatial i in 40 = i0 spatial j in 24 = j0 reduce l in 72 = l0 "
      "reads y[n, i, j], a[n, i, l], b[n, l, j] writes y[n, i, j] init { y[n, i, j] = 0.0 } "
      "y[n, i, j] = y[n, i, j] + float32(a[n, i, l]) * float32(b[n, l, j]) } } } } } }");
}
loops::Program pointwise() {
  return parsed(
      "program pointwise { input x: bfloat16[2, 48, 6, 12] input w: bfloat16[40, 48] output y: float32[2, 40, 6, 12] "
      "for n0 in 2 { for o0 in 40 { for h0 in 6 { for v0 in 12 { for c0 in 48 { block conv @sum(\"products\") { "
      "spatial n in 2 = n0 spatial o in 40 = o0 spatial h in 6 = h0 spatial v in 12 = v0 reduce c in 48 = c0 "
      "reads y[n, o, h, v], w[o, c], x[n, c, h, v] writes y[n, o, h, v] init { y[n, o, h, v] = 0.0 } "
      "y[n, o, h, v] = y[n, o, h, v] + float32(w[o, c]) * float32(x[n, c, h, v]) } } } } } } }");
}

std::vector<Case> box_cases() {
  // Panels of 128, 64 and 32 bytes, one and several of them, both storage orders of factors, rings of 2 to 5 slots,
  // with and without products that are still in flight, ragged rows, columns and depth, parts of the depth, two groups
  // of warps, more rows than a box has, and one operand that threads fetch.
  const std::vector<Form> forms{{40, 14, 128, DType::float16, true, false, tile("1", "16", "4", "2")},
                                {64, 64, 128, DType::bfloat16, false, false, tile("1", "64", "2", "3")},
                                {130, 16, 96, DType::float16, false, false, tile("2", "16", "2", "3")},
                                {64, 16, 128, DType::float16, true, true, tile("1", "16", "2", "4")},
                                {33, 16, 400, DType::int8, true, false, tile("1", "16", "4", "3")},
                                {70, 24, 208, DType::int8, true, false, tile("1", "32", "2", "5")},
                                {64, 136, 72, DType::bfloat16, false, false, tile("1", "128", "2", "2")},
                                {64, 16, 512, DType::int8, true, false, tile("1", "16", "4", "2", "2")},
                                {200, 16, 128, DType::float16, true, false, tile("2", "16", "2", "4", "1", "2")},
                                {300, 16, 128, DType::float16, true, false, tile("4", "16", "2", "2", "1", "2")},
                                {64, 16, 256, DType::int8, false, false, tile("1", "16", "2", "3")}};
  std::vector<Case> list;
  for (std::size_t i = 0; i < forms.size(); ++i) list.push_back(form_case(forms[i], i));
  list.push_back(group_case(batched(), decided(tile("1", "32", "2", "3")), 3));
  list.push_back(group_case(pointwise(), decided(tile("1", "16", "2", "2")), 4));
  return list;
}

}  // namespace

TEST_CASE("cuda: operands fetched by boxes give the operator's values in adversarial orders of threads") {
  for (const Case& one : box_cases()) {
    INFO(one.name << "\n" << loops::to_string(one.scheduled.program) << loops::to_string(one.scheduled.kernels));
    INFO(fmt::format("{}", fmt::join(one.scheduled.notes, "\n")));
    CHECK(one.scheduled.kind == kGroupProduct);
    CHECK(fetches_of(one).boxes > 0);
    check_threads(one, 5);
  }
}

TEST_CASE("cuda: the text of operands fetched by boxes has the operator's values", "[gpu]") {
  check_group_text(box_cases());
}

namespace {

// The graph's one group, with drawn constants, for the architecture that has four-warp products.
Case drawn_case(const std::string& text, const schedule::Decisions& decisions) {
  SplitMix64 random(3);
  const auto graph =
      graph::parse(text, "drawn", [&](auto, const graph::TensorType& type) { return random_values(type, random); });
  if (!graph) FAIL(to_string(graph.errors()));
  auto one = case_of(
      "drawn", *graph, 4'000'000, [&](const graph::TensorType& type) { return random_values(type, random); },
      decided(decisions), cuda::FloatSums::in_order, false, std::nullopt, hopper());
  REQUIRE(one);
  return *std::move(one);
}

}  // namespace

TEST_CASE("cuda: weights of bytes are turned ahead of time and come by boxes, also alongside unsigned bytes") {
  std::vector<Case> list;
  for (const char* type : {"int8", "uint8"}) {
    list.push_back(drawn_case(fmt::format(R"(graph g(%x: {}[64, 256]) -> (%y)
  constant %w: int8[256, 24]
  %y: int32[64, 24] = MatMulInteger(%x, %w)
)",
                                          type),
                              tile("1", "32", "2", "3")));
    CHECK(list.back().scheduled.constants.size() == 1);
    CHECK(fetches_of(list.back()).boxes > 0);
    CHECK(fetches_of(list.back()).copies == 0);
    list.push_back(drawn_case(fmt::format(R"(graph g(%x: {}[1, 128, 5, 8]) -> (%y)
  constant %w: int8[40, 128, 1, 1]
  %y: int32[1, 40, 5, 8] = ConvInteger(%x, %w)
)",
                                          type),
                              tile("1", "16", "2", "2")));
    CHECK(list.back().scheduled.constants.empty());  // their depth is stored last
  }
  for (const Case& one : list) {
    INFO(loops::to_string(one.scheduled.program));
    CHECK(one.scheduled.kind == kGroupProduct);
    check_threads(one, 5);
  }
  check_text(list);
  const auto compiler = cuda::Nvrtc::find();
  if (!compiler) return dovetail::test::skip("no NVRTC: " + compiler.errors().front().why);
  std::string text;
  sources_of(list, text);
  const auto binary = (*compiler)->compile(text, "sm_90a");
  if (!binary) FAIL(to_string(binary.errors()));
  const std::string ptx(reinterpret_cast<const char*>(binary->ptx.data()), binary->ptx.size());
  CHECK_THAT(ptx, ContainsSubstring(".m64n32k32.s32.u8.s8") && ContainsSubstring(".m64n16k32.s32.s8.u8"));
}

namespace {

// Five pieces in three slots of a ring.
Case pipelined(bool turned) {
  return turned ? form_case({64, 32, 160, DType::float16, false, false, tile("1", "32", "2", "3")}, 1)
                : form_case({40, 16, 320, DType::int8, true, false, tile("1", "16", "2", "3")}, 1);
}

using Step = loops::CoreSignal::Step;
// Signals at a step of that kind.
Change signals(Step step, const std::function<loops::Core(loops::CoreSignal)>& edit) {
  return each<loops::CoreSignal>([=](loops::CoreSignal signal) -> loops::Core {
    return signal.step == step ? edit(std::move(signal)) : loops::make_core(std::move(signal));
  });
}
Change boxes(const std::function<void(loops::CoreBoxCopy&)>& edit) {
  return each<loops::CoreBoxCopy>([edit](loops::CoreBoxCopy copy) {
    edit(copy);
    return loops::make_core(std::move(copy));
  });
}
loops::Expr next_place(const loops::Expr& e) { return loops::floor_mod(e + 1, 3); }

}  // namespace

TEST_CASE("cuda: faults planted in copies of boxes are found by run_threads") {
  for (const bool turned : {false, true}) {
    const Case one = pipelined(turned);
    REQUIRE(one.scheduled.kind == kGroupProduct);
    REQUIRE(fetches_of(one).copies == 0);
    INFO(loops::to_string(one.scheduled.kernels));
    const auto is_found = [&](const loops::ThreadProgram& kernels, std::uint64_t seed) {
      const auto have = loops::run_threads(kernels, one.scheduled.program.parameters, one.arguments, seed);
      return !have.ok() || *have != *one.expected;
    };
    const auto gone = [](auto) -> loops::Core { return nullptr; };
    const auto all_faults = [&] {
      return std::vector<std::pair<const char*, Change>>{
          {"no signal is started", signals(Step::start, gone)},
          {"one signal is not started", signals(Step::start,
                                                [at = 0](loops::CoreSignal n) mutable -> loops::Core {
                                                  return at++ == 1 ? nullptr : loops::make_core(std::move(n));
                                                })},
          {"nothing is expected", signals(Step::expect, gone)},
          {"too few bytes are expected", signals(Step::expect,
                                                 [](loops::CoreSignal n) {
                                                   n.bytes -= 16;
                                                   return loops::make_core(std::move(n));
                                                 })},
          {"too many bytes are expected", signals(Step::expect,
                                                  [](loops::CoreSignal n) {
                                                    n.bytes += 16;
                                                    return loops::make_core(std::move(n));
                                                  })},
          {"bytes are expected at the next signal", signals(Step::expect,
                                                            [](loops::CoreSignal n) {
                                                              n.signal = next_place(n.signal);
                                                              return loops::make_core(std::move(n));
                                                            })},
          {"no wait", signals(Step::wait, gone)},
          {"a wait for the other parity", signals(Step::wait,
                                                  [](loops::CoreSignal n) {
                                                    n.parity = loops::int_imm(1) - n.parity;
                                                    return loops::make_core(std::move(n));
                                                  })},
          {"a wait for the first phase, always", signals(Step::wait,
                                                         [](loops::CoreSignal n) {
                                                           n.parity = loops::int_imm(0);
                                                           return loops::make_core(std::move(n));
                                                         })},
          {"a wait for the next signal", signals(Step::wait,
                                                 [](loops::CoreSignal n) {
                                                   n.signal = next_place(n.signal);
                                                   return loops::make_core(std::move(n));
                                                 })},
          {"no fence", each<loops::CoreProxyFence>([](auto) -> loops::Core { return nullptr; })},
          {"no barrier", each<loops::CoreBarrier>([](auto) -> loops::Core { return nullptr; })},
          {"a place is filled again before all have read it",
           [](const loops::Core& core) -> loops::Core {  // no barrier in the loop
             const auto* loop = core ? std::get_if<loops::CoreLoop>(&core->node) : nullptr;
             if (loop == nullptr) return core;
             loops::CoreLoop copy = *loop;
             copy.body = dovetail::test::changed(loop->body,
                                                 each<loops::CoreBarrier>([](auto) -> loops::Core { return nullptr; }));
             return loops::make_core(std::move(copy));
           }},
          {"a place is filled again while calls read it",
           [](const loops::Core& core) -> loops::Core {
             const auto* group = core ? std::get_if<loops::CoreCallGroup>(&core->node) : nullptr;
             return group != nullptr && group->step == loops::CoreCallGroup::Step::wait && group->groups == 1
                        ? loops::make_core(loops::CoreCallGroup{group->step, 2})
                        : core;
           }},
          {"boxes without the swizzle", boxes([](loops::CoreBoxCopy& n) { n.swizzle = 0; })},
          {"calls with another swizzle", calls([](loops::CoreCall& call) {
             for (auto& matrix : call.matrices)
               if (matrix) matrix->swizzle = matrix->swizzle == 64 ? 32 : 64;
           })},
          {"boxes land in the next place",
           boxes([](loops::CoreBoxCopy& n) { n.to_indices[0] = next_place(n.to_indices[0]); })},
          {"boxes count at the next signal", boxes([](loops::CoreBoxCopy& n) { n.signal = next_place(n.signal); })},
          {"boxes land a line later", boxes([](loops::CoreBoxCopy& n) {
             loops::Expr& line = n.to_indices[n.to_indices.size() - 3];
             line = line + 1;
           })},
          {"boxes begin a row later", boxes([](loops::CoreBoxCopy& n) { n.from_indices[0] = n.from_indices[0] + 1; })},
          {"boxes begin a column later",
           boxes([](loops::CoreBoxCopy& n) { n.from_indices[1] = n.from_indices[1] + 1; })},
          {"a tensor with a row less", boxes([](loops::CoreBoxCopy& n) { --n.tensor[0]; })},
          {"a tensor with other rows", boxes([](loops::CoreBoxCopy& n) { n.tensor[1] /= 2; })},
          {"boxes with half of their rows", boxes([](loops::CoreBoxCopy& n) { n.box[0] /= 2; })},
          {"all threads start the boxes",
           [](const loops::Core& core) -> loops::Core {
             const auto* condition = core ? std::get_if<loops::CoreIf>(&core->node) : nullptr;
             bool starts = false;
             if (condition != nullptr)
               dovetail::test::changed(condition->then_body, [&](const loops::Core& inner) {
                 starts |= inner && std::holds_alternative<loops::CoreBoxCopy>(inner->node);
                 return inner;
               });
             return starts && !std::holds_alternative<loops::CoreIf>(condition->then_body->node) ? condition->then_body
                                                                                                 : core;
           }},
          {"no box", boxes([](loops::CoreBoxCopy& n) { n.box[0] = 0; })},
          {"calls read the next place",
           calls([](loops::CoreCall& call) { call.operands[1].indices[0] = next_place(call.operands[1].indices[0]); })},
      };
    };
    const std::uint64_t seed = turned ? 1 : 2;
    CHECK(!is_found(one.scheduled.kernels, seed));
    for (const auto& [what, change] : all_faults()) {
      INFO(what << (turned ? ", columns side by side" : ""));
      loops::ThreadProgram kernels = one.scheduled.kernels;
      kernels.kernels[0].body = dovetail::test::changed(kernels.kernels[0].body, change);
      CHECK(loops::to_string(kernels) != loops::to_string(one.scheduled.kernels));
      CHECK(is_found(kernels, seed));
    }
  }
}

TEST_CASE("cuda: faults planted in the text of copies of boxes are found by the emulated GPU") {
  for (const bool turned : {false, true}) {
    const Case one = pipelined(turned);
    const int bytes = turned ? 64 * 32 * 2 + 32 * 32 * 2 : 64 * 64 + 16 * 64;
    const std::string expects = fmt::format(", {});", bytes);
    check_text_faults(one, {{"no signal is started", replaced("start_signal(", "(void)(")},
                            {"nothing is expected", replaced("expect_bytes(", "(void)sizeof(")},
                            {"too few bytes are expected", replaced(expects, fmt::format(", {});", bytes - 16))},
                            {"too many bytes are expected", replaced(expects, fmt::format(", {});", bytes + 16))},
                            {"no wait", replaced("wait_for_signal(", "(void)(")},
                            {"a wait for the other parity", replaced(" / 3) % 2)", " / 3 + 1) % 2)")},
                            {"a wait for the first phase, always", replaced(" / 3) % 2)", " / 3) % 1)")},
                            {"no fence", replaced("fence_for_units();", "")},
                            {"no barrier", replaced("__syncthreads();", "")},
                            {"calls with another swizzle", replaced(", 64>(&", ", 32>(&")},
                            {"rows and columns exchanged", exchanged("copy_box(", 3, 4)},
                            {"one map for both", replaced("&b_map", "&a_map")},
                            {"no wait for calls", replaced("wait_for_calls<1>();", "")}});
  }
}

TEST_CASE(
    "cuda: the driver gets a kernel's boxes with the swizzle of its products, and another swizzle gives wrong values") {
  const dovetail::test::Environment nvrtc("DOVETAIL_NVRTC", emulated("nvrtc")),
      driver("DOVETAIL_LIBCUDA", emulated("driver"));
  const Case one = pipelined(true);
  cuda::Source source = cuda::emit_source(one.scheduled.kernels, one.scheduled.program.parameters, "k");
  REQUIRE(source.launches.size() == 1);
  std::vector<cuda::BoxedTensor>& boxes = source.launches[0].boxes;
  REQUIRE(boxes.size() == 2);
  CHECK(boxes[0].extents == Shape{64, 160});
  CHECK(boxes[0].box == Shape{64, 32});
  CHECK(boxes[1].extents == Shape{160, 32});
  CHECK(boxes[1].box == Shape{32, 32});
  for (const cuda::BoxedTensor& boxed : boxes) CHECK(boxed.swizzle == 64);
  // The kernel accesses these tensors only by boxes.
  for (const cuda::KernelOperand& operand : source.launches[0].operands) CHECK(operand.index >= 2);
  const auto binary = cuda::Nvrtc::find().value()->compile(source.text, "sm_90a");
  if (!binary) FAIL(to_string(binary.errors()));
  const auto context = runtime::cuda::Context::open().value();
  const std::vector<bundle::CudaImage> images{{"sm_90a", false, bundle::Blob(binary->cubin)}};
  const auto module = context->module(images);
  REQUIRE(module);
  const auto is_right = [&] {
    const auto have = launch(context, source, *module, one);
    if (!have) repair_device();
    return have.ok() && *have == *one.expected;
  };
  CHECK(is_right());
  const std::vector<cuda::BoxedTensor> right = boxes;
  const auto is_found = [&](const std::function<void(cuda::BoxedTensor&)>& change) {
    boxes = right;
    change(boxes[0]);
    return !is_right();
  };
  CHECK(is_found([](cuda::BoxedTensor& b) { b.swizzle = 0; }));
  CHECK(is_found([](cuda::BoxedTensor& b) { b.swizzle = 128; }));
  CHECK(is_found([](cuda::BoxedTensor& b) { b.swizzle = 32; }));
  CHECK(is_found([](cuda::BoxedTensor& b) { b.box[0] = 56; }));
  CHECK(is_found([](cuda::BoxedTensor& b) { b.extents[0] = 63; }));
  CHECK(is_found([](cuda::BoxedTensor& b) { b.extents = {80, 128}; }));
  CHECK(is_found([](cuda::BoxedTensor& b) { b.operand.index = 1; }));
}

TEST_CASE("cuda: a pipeline of boxes waits for their signal, and has one barrier and no fence for each piece") {
  for (const bool turned : {false, true}) {
    const Case one = pipelined(turned);
    const loops::ThreadKernel& kernel = one.scheduled.kernels.kernels[0];
    const auto& body = std::get<loops::CoreSequence>(kernel.body->node).body;
    const auto loop = std::ranges::find_if(body, [](const loops::Core& part) {
      const auto* n = std::get_if<loops::CoreLoop>(&part->node);
      return n != nullptr && n->kind == loops::ForKind::serial;
    });
    REQUIRE(loop != body.end());
    CHECK(steps_of(*loop) == std::vector<std::string>{"wait for signal", "arrive", "call", "commit", "wait 1",
                                                      "barrier", "expect", "box", "box"});
    const std::vector<std::string> whole = steps_of(kernel.body);
    CHECK(std::ranges::count(whole, "fence") == 1);
    CHECK(std::ranges::count(whole, "start") == 3);
    CHECK(std::ranges::count(whole, "barrier") == 3);  // after the start of signals, after the first boxes, for a piece
  }
}

TEST_CASE("cuda: copies of boxes compile by NVRTC") {
  const auto compiler = cuda::Nvrtc::find();
  if (!compiler) return dovetail::test::skip("no NVRTC: " + compiler.errors().front().why);
  std::string text;
  sources_of({pipelined(false), layer_case(batched(), decided(tile("1", "32", "2", "3")), 3, hopper())}, text);
  const auto binary = (*compiler)->compile(text, "sm_90a");
  if (!binary) FAIL(to_string(binary.errors()));
  CHECK(binary->cubin.size() > 1000);
  const std::string ptx(reinterpret_cast<const char*>(binary->ptx.data()), binary->ptx.size());
  for (const char* word :
       {"cp.async.bulk.tensor.2d.shared::cluster.global", "cp.async.bulk.tensor.3d.shared::cluster.global",
        "mbarrier.arrive.expect_tx", "mbarrier.try_wait.parity"})
    CHECK_THAT(ptx, ContainsSubstring(word));
}

TEST_CASE("cuda: threads fetch what the unit cannot: rows at no multiple of 16 bytes, and values that they compute") {
  const auto fetches = [](std::int64_t k, std::int64_t before, DType type, bool right_transposed) {
    const Case one = form_case({64, 16, k, type, right_transposed, false, tile("1", "16", "2", "3"), before}, 1);
    CHECK(one.scheduled.kind == kGroupProduct);
    check_threads(one, 3);
    return fetches_of(one);
  };
  CHECK(fetches(256, 0, DType::float16, true).copies == 0);
  CHECK(fetches(256, 4, DType::float16, true).boxes == 0);   // 520 bytes
  CHECK(fetches(256, 8, DType::float16, true).copies == 0);  // 528
  CHECK(fetches(250, 0, DType::float16, true).boxes == 0);
  const Fetches mixed = fetches(256, 0, DType::int8, false);  // threads transpose one operand
  CHECK(mixed.boxes == 2);
}
