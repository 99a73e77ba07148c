// Products of four warps (wgmma, sm_90a): random shapes and decisions give the operator's values, in adversarial orders
// of threads and on the emulated GPU, which follows the descriptors of the text. Faults planted in the ordering of
// these products, and in the addresses of their matrices, are detected by both.
#include <array>
#include <functional>
#include <string>

#include <fmt/ranges.h>

#include "compiler/target/cuda/intrinsics.h"
#include "loops/rewrite.h"
#include "loops/threads/swizzle_matrices.h"
#include "tests/property/compiler/cuda/group_cases.h"
#include "tests/property/compiler/cuda/text_faults.h"
#include "tests/property/compiler/drawn_schedules.h"

using namespace dovetail;
using namespace dovetail::cuda::test;
using Catch::Matchers::ContainsSubstring;
using dovetail::test::Change;

namespace {

std::vector<Case> group_cases() {
  // Both storage orders of factors, panels of 128, 64 and 32 bytes, one and several of them, rings with and without
  // products that are still in flight, pieces that are computed into registers, ragged edges, parts of the depth, two
  // groups of warps. Threads fetch most of them (box_copies.cpp has the others).
  const std::vector<Form> forms{{40, 14, 128, DType::float16, true, false, tile("1", "16", "4", "2"), 4},
                                {64, 64, 128, DType::bfloat16, false, false, tile("1", "64", "2", "3"), 4},
                                {70, 30, 64, DType::bfloat16, false, true, tile("1", "32", "2", "1")},
                                {130, 16, 96, DType::float16, false, false, tile("2", "16", "2", "3"), 4},
                                {64, 16, 128, DType::float16, true, true, tile("1", "16", "2", "4")},
                                {33, 16, 400, DType::int8, true, false, tile("1", "16", "4", "3")},
                                {50, 24, 200, DType::int8, false, true, tile("1", "32", "2", "3")},
                                {64, 128, 40, DType::bfloat16, false, false, tile("1", "128", "2", "1")},
                                {37, 11, 51, DType::float16, true, false, tile("1", "16", "2", "2")},
                                {64, 16, 512, DType::int8, true, false, tile("1", "16", "4", "2", "2"), 8},
                                {200, 16, 128, DType::float16, true, false, tile("2", "16", "2", "4", "1", "2"), 4}};
  std::vector<Case> list;
  for (std::size_t i = 0; i < forms.size(); ++i) list.push_back(form_case(forms[i], i));
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{2}})
    list.push_back(group_case(layer(40, 20, 70, seed == 1 ? DType::int8 : DType::bfloat16, seed == 1, true),
                              dovetail::test::drawn_schedules(seed), seed));
  return list;
}

// Three slots of a ring, so that the products of an iteration are in flight in the next one. Rows are at multiples of 8
// bytes but not of 16, so that threads fetch them.
Case pipelined(bool turned) {
  return turned ? form_case({64, 32, 128, DType::float16, false, false, tile("1", "32", "2", "3"), 4}, 1)
                : form_case({40, 16, 256, DType::int8, true, false, tile("1", "16", "2", "3"), 8}, 1);
}

// Steps of calls of one kind; -1: all of them.
Change steps(loops::CoreCallGroup::Step step, int number, std::optional<std::int64_t> groups) {
  return [=, at = 0](const loops::Core& core) mutable -> loops::Core {
    const auto* node = core ? std::get_if<loops::CoreCallGroup>(&core->node) : nullptr;
    if (node == nullptr || node->step != step || (number >= 0 && at++ != number)) return core;
    return groups ? loops::make_core(loops::CoreCallGroup{step, *groups}) : nullptr;
  };
}
// Copies with other indices.
Change copies(const std::function<loops::Expr(const loops::Expr&)>& edit) {
  return each<loops::CoreAsyncCopy>([edit](loops::CoreAsyncCopy copy) {
    for (loops::Expr& index : copy.to_indices) index = loops::rewrite_expr(index, edit);
    return loops::make_core(std::move(copy));
  });
}
loops::Expr unswizzled(const loops::Expr& e) {
  const auto* n = std::get_if<loops::Binary>(&e->node);
  return n != nullptr && n->op == loops::BinaryOp::bit_xor ? n->a : e;
}
loops::Expr swizzled_by_next(const loops::Expr& e) {
  const auto* n = std::get_if<loops::Binary>(&e->node);
  if (n == nullptr || n->op != loops::BinaryOp::bit_xor) return e;
  return loops::binary(n->op, n->a, loops::floor_mod(n->b + 1, 4));
}
bool is_ring(const loops::Expr& e) {
  const auto* n = std::get_if<loops::Binary>(&e->node);
  if (n == nullptr || n->op != loops::BinaryOp::floor_mod) return false;
  const auto* modulus = std::get_if<loops::IntImm>(&n->b->node);
  return modulus != nullptr && modulus->value == 3;
}
loops::Expr next_place(const loops::Expr& e) {
  return is_ring(e) ? loops::floor_mod(std::get<loops::Binary>(e->node).a + 1, 3) : e;
}

}  // namespace

TEST_CASE("cuda: products of four warps have the operator's values in adversarial orders of threads") {
  for (const Case& one : group_cases()) {
    INFO(one.name << "\n" << loops::to_string(one.scheduled.program));
    INFO(fmt::format("{}", fmt::join(one.scheduled.notes, "\n")));
    CHECK(one.scheduled.kind == kGroupProduct);
    check_threads(one, 5);
  }
}

TEST_CASE("cuda: the text of products of four warps has the operator's values, by its descriptors", "[gpu]") {
  check_group_text(group_cases());
}

TEST_CASE("cuda: products of four warps compile by NVRTC") {
  const auto compiler = cuda::Nvrtc::find();
  if (!compiler) return dovetail::test::skip("no NVRTC: " + compiler.errors().front().why);
  std::vector<Case> list{pipelined(false), pipelined(true)};
  std::string text;
  sources_of(list, text);
  const auto binary = (*compiler)->compile(text, "sm_90a");
  if (!binary) FAIL(to_string(binary.errors()));
  CHECK(binary->cubin.size() > 1000);
  const std::string ptx(reinterpret_cast<const char*>(binary->ptx.data()), binary->ptx.size());
  CHECK_THAT(ptx, ContainsSubstring("wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.s8") &&
                      ContainsSubstring("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16"));
}

TEST_CASE("cuda: products of four warps are used only for the architecture that has them") {
  const auto kind = [](const loops::Program& program, const char* architectures) {
    const auto scheduled = cuda::schedule_group(group_of(program), cuda::parse_gpu("", architectures).value(), nullptr);
    if (!scheduled) FAIL(to_string(scheduled.errors()));
    return scheduled->kind;
  };
  CHECK(kind(layer(64, 64, 64, DType::float16, true, true), "sm_90a") == kGroupProduct);
  CHECK(kind(layer(64, 64, 64, DType::float16, true, false), "sm_90a") == "matrix_product");
  CHECK(kind(layer(16, 64, 64, DType::float16, true, true), "sm_90a") == "tensor_product");
  for (const char* others : {"sm_90", "sm_80,sm_90a", "sm_100"})
    CHECK(kind(layer(64, 64, 64, DType::int8, true), others) == "tensor_product");
}

TEST_CASE("cuda: faults planted in products of four warps are found by run_threads") {
  using Step = loops::CoreCallGroup::Step;
  for (const bool turned : {false, true}) {
    const Case one = pipelined(turned);
    REQUIRE(one.scheduled.kind == kGroupProduct);
    INFO(loops::to_string(one.scheduled.kernels));
    const auto is_found = [&](const loops::ThreadProgram& kernels, std::uint64_t seed) {
      const auto have = loops::run_threads(kernels, one.scheduled.program.parameters, one.arguments, seed);
      return !have.ok() || *have != *one.expected;
    };
    const auto matrix = [&](const std::function<void(loops::CoreMatrix&)>& edit) {
      return calls([edit](loops::CoreCall& call) { edit(call.matrices.at(2).value()); });
    };
    const auto shift = [&](std::size_t operand, std::size_t from_last, std::int64_t by) {
      return calls([=](loops::CoreCall& call) {
        auto& indices = call.operands[operand].indices;
        loops::Expr& index = indices[indices.size() - 1 - from_last];
        index = index + by;
      });
    };
    const auto all_faults = [&] {
      return std::vector<std::pair<const char*, Change>>{
          {"no fence", each<loops::CoreProxyFence>([](auto) -> loops::Core { return nullptr; })},
          {"the fence after the barrier",
           [](const loops::Core& core) -> loops::Core {
             const auto* n = core ? std::get_if<loops::CoreSequence>(&core->node) : nullptr;
             if (n == nullptr) return core;
             loops::CoreSequence other = *n;
             for (std::size_t i = 1; i < other.body.size(); ++i)
               if (std::holds_alternative<loops::CoreBarrier>(other.body[i]->node) &&
                   std::holds_alternative<loops::CoreProxyFence>(other.body[i - 1]->node))
                 std::swap(other.body[i], other.body[i - 1]), ++i;
             return loops::make_core(std::move(other));
           }},
          {"nobody arrives", steps(Step::arrive, -1, std::nullopt)},
          {"calls are not committed", steps(Step::commit, -1, std::nullopt)},
          {"no wait in the loop", steps(Step::wait, 0, std::nullopt)},
          {"a wait for one group too few in the loop", steps(Step::wait, 0, 2)},
          {"no wait after the loop", steps(Step::wait, 1, std::nullopt)},
          {"a wait for one group too few after the loop", steps(Step::wait, 1, 1)},
          {"no barrier", each<loops::CoreBarrier>([](auto) -> loops::Core { return nullptr; })},
          {"copies are not waited for", each<loops::CoreAsyncGroup>([](loops::CoreAsyncGroup n) -> loops::Core {
             return n.step == loops::CoreAsyncGroup::Step::wait ? nullptr : loops::make_core(n);
           })},
          {"copies without the swizzle", copies(unswizzled)},
          {"copies with another swizzle", copies(swizzled_by_next)},
          {"copies into the next place of the ring", copies(next_place)},
          {"calls without the right swizzle",
           matrix([](loops::CoreMatrix& m) { m.swizzle = m.swizzle == 64 ? 32 : 64; })},
          {"calls that step too far", matrix([](loops::CoreMatrix& m) { m.stride *= 2; })},
          {"a matrix the other way round", matrix([](loops::CoreMatrix& m) { m.depth_inner = !m.depth_inner; })},
          {"A, the next piece of a line", shift(1, 1, 1)},
          {"B, the next line", shift(2, 2, 1)},
          {"A, another place of the ring",
           calls([](loops::CoreCall& call) { call.operands[1].indices[0] = next_place(call.operands[1].indices[0]); })},
          {"A and B exchanged", calls([](loops::CoreCall& call) { std::swap(call.operands[1], call.operands[2]); })},
          {"calls that say they are done", calls([](loops::CoreCall& call) { call.later = false; })},
          {"no call", each<loops::CoreCall>([](const auto&) -> loops::Core { return nullptr; })},
          {"sums do not start", [at = 0](const loops::Core& core) mutable -> loops::Core {
             return core && std::holds_alternative<loops::CoreStore>(core->node) && at++ == 0 ? nullptr : core;
           }}};
    };
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      CHECK(!is_found(one.scheduled.kernels, seed));
      for (const auto& [what, change] : all_faults()) {
        INFO(what << ", seed " << seed << (turned ? ", columns side by side" : ""));
        loops::ThreadProgram kernels = one.scheduled.kernels;
        kernels.kernels[0].body = dovetail::test::changed(kernels.kernels[0].body, change);
        CHECK(loops::to_string(kernels) != loops::to_string(one.scheduled.kernels));
        CHECK(is_found(kernels, seed));
      }
    }
    // A warp too many or too few.
    for (const int more : {-1, 1}) {
      loops::ThreadProgram kernels = one.scheduled.kernels;
      for (loops::BoundAxis& bound : kernels.kernels[0].axes)
        if (bound.axis == "thread.z") bound.extent += more;
      CHECK(is_found(kernels, 1));
    }
  }
}

TEST_CASE("cuda: faults planted in the text of products of four warps are found by the emulated GPU") {
  for (const bool turned : {false, true}) {
    const Case one = pipelined(turned);
    REQUIRE(one.scheduled.kind == kGroupProduct);
    const std::string call = turned ? "wgmma_float16<32, false, true>(" : "wgmma_int8<16, false, false>(";
    check_text_faults(
        one, {{"two sums of a lane exchanged", exchanged(call, 2, 3)},
              {"sums of two halves exchanged", exchanged(call, 3, 4)},
              {"the matrices exchanged", exchanged(call, 0, 1)},
              {"no fence", replaced("fence_for_units();", "")},
              {"nobody arrives", replaced("arrive_for_calls();", "")},
              {"calls are not committed", replaced("commit_calls();", "")},
              {"no wait after the loop", replaced("wait_for_calls<0>();", "")},
              {"a wait for one group too few after the loop", replaced("wait_for_calls<0>", "wait_for_calls<1>")},
              {"no wait for copies", replaced("wait_for_copies<0>();", "")},
              {"no barrier", replaced("__syncthreads();", "")},
              {"copies without the swizzle", replaced(" ^ ", " + 0 * ")},
              {"calls with another swizzle", replaced(", 64>(&", ", 32>(&")},
              {"calls that step half as far", replaced(", 512, ", ", 256, ")}});
  }
}

TEST_CASE("cuda: a pipeline of four-warp products has one barrier for each piece, and products stay in flight") {
  for (const bool turned : {false, true}) {
    const Case one = pipelined(turned);
    const loops::ThreadKernel& kernel = one.scheduled.kernels.kernels[0];
    INFO(loops::to_string(one.scheduled.kernels));
    const auto& body = std::get<loops::CoreSequence>(kernel.body->node).body;
    const auto loop = std::ranges::find_if(body, [](const loops::Core& part) {
      const auto* n = std::get_if<loops::CoreLoop>(&part->node);
      return n != nullptr && n->kind == loops::ForKind::serial;
    });
    REQUIRE(loop != body.end());
    CHECK(steps_of(*loop) ==
          std::vector<std::string>{"wait 1", "fence", "barrier", "copy", "copy", "arrive", "call", "commit"});
    CHECK(steps_of(*std::next(loop)) == std::vector<std::string>{"wait 0"});
    for (const loops::Buffer& shared : kernel.shared) CHECK(kernel.alignment(shared) == loops::kMatrixAlignment);
  }
}

TEST_CASE("cuda: a matrix that does not fit four warps is refused with its size") {
  using loops::int_imm;
  const auto why = [](DType type, const Shape& left, std::vector<loops::Expr> at, bool left_turned = false) {
    const auto mma =
        cuda::find_group_multiply(type, type, type == DType::int8 ? DType::int32 : DType::float32, 16).value();
    const loops::Buffer a = loops::make_buffer("a", type, left, "shared"),
                        b = loops::make_buffer("b", type, {16, 64}, "shared"),
                        c = loops::make_buffer("c", mma.sum, {2, 2, 2}, "register");
    loops::CoreCall call;
    call.intrinsic = mma.name();
    call.later = true;
    const std::vector<std::vector<std::int64_t>> rows =
        left_turned ? std::vector<std::vector<std::int64_t>>{{0, 16}, {0, 8}, {0, 1}, {1, 0}}
                    : std::vector<std::vector<std::int64_t>>{{16, 0}, {8, 0}, {1, 0}, {0, 1}};
    call.operands = {
        {c, {int_imm(0), int_imm(0), int_imm(0)}, std::vector(6, std::vector<std::int64_t>(3, 0)), {1, 1, 1}},
        {a, std::move(at), rows, {64, mma.depth}},
        {b, {int_imm(0), int_imm(0)}, {{8, 0}, {2, 0}, {1, 0}, {0, 1}}, {16, mma.depth}}};
    loops::ThreadKernel kernel;
    kernel.body = loops::make_core(std::move(call));
    kernel.shared = {a, b};
    const auto done = loops::swizzle_matrices(kernel, cuda::warp_operations(), {}, "kernel k");
    return done.ok() ? std::string() : to_string(done.errors());
  };
  const std::vector<loops::Expr> begin{int_imm(0), int_imm(0)};
  CHECK(why(DType::int8, {64, 64}, begin).empty());
  CHECK(why(DType::float16, {16, 64}, begin, true).empty());
  CHECK_THAT(why(DType::int8, {64, 40}, begin),
             ContainsSubstring("64 rows of 40 bytes do not divide into groups of 8 rows of 32 bytes"));
  CHECK_THAT(why(DType::float16, {60, 64}, begin), ContainsSubstring("60 rows of 128 bytes"));
  CHECK_THAT(why(DType::float16, {80, 64}, {int_imm(4), int_imm(0)}),
             ContainsSubstring("a call does not begin at a group of eight rows and a panel"));
  CHECK_THAT(why(DType::float16, {64, 64}, {int_imm(0), int_imm(8)}), ContainsSubstring("does not begin at"));
  CHECK_THAT(why(DType::int8, {32, 64}, begin, true),
             ContainsSubstring("the instruction needs it contiguous along its depth") &&
                 ContainsSubstring("kernel k, call of"));
}
