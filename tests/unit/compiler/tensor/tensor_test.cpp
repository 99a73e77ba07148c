#include "compiler/tensor/tensor.h"

#include "compiler/tensor/expr.h"
#include "loops/interpreter.h"
#include "loops/print.h"
#include "loops/verify.h"
#include "tests/catch.h"

namespace dovetail::tensor {
namespace {

std::vector<NdArray> run(const loops::Program& program, const std::vector<NdArray>& arguments) {
  Result<std::vector<NdArray>> results = loops::evaluate(program, arguments);
  if (!results) FAIL(to_string(results.errors()) << "\n" << loops::to_string(program));
  return *std::move(results);
}

TEST_CASE("A matrix product: one block for each tensor, loops named after block and axis") {
  Definition d("product");
  const loops::Buffer a = d.input("a", DType::float32, {2, 3}), b = d.constant("b", DType::float32, {3, 2});
  const loops::Buffer c = d.reduce("c", DType::float32, {{"i", 2}, {"j", 2}}, {{"k", 3}}, sum_reducer(),
                                   [&](const Indices& i, const Indices& r) {
                                     return loops::load(a, {i[0], r[0]}) * loops::load(b, {r[0], i[1]});
                                   });
  const loops::Buffer y =
      d.compute("twice", DType::float32, {{"i", 2}, {"j", 2}}, [&](const Indices& i) { return loops::load(c, i) * 2; });
  const loops::Program program = d.build({y}, {"y"});
  REQUIRE(loops::verify(program).ok());
  CHECK(program.parameters.size() == 3);
  CHECK(program.parameters[1].role == loops::ParameterRole::constant);
  CHECK(program.parameters[2].buffer->name == "y");
  CHECK(program.allocations == std::vector<loops::Buffer>{c});
  const std::string text = loops::to_string(program);
  for (const char* loop : {"c.i", "c.j", "c.k", "twice.i"}) CHECK_THAT(text, Catch::Matchers::ContainsSubstring(loop));
  const NdArray result = run(
      program, {NdArray::from<float>({2, 3}, {1, 2, 3, 4, 5, 6}), NdArray::from<float>({3, 2}, {1, 0, 0, 1, 1, 1})})[0];
  CHECK(result == NdArray::from<float>({2, 2}, {8, 10, 20, 22}));
}

TEST_CASE("Every reducer starts at its identity") {
  const NdArray x = NdArray::from<std::int8_t>({4}, {-3, 7, 7, -128});
  const auto reduce = [&](const Reducer& reducer, std::int64_t extent) {
    Definition d("reduce");
    const loops::Buffer in = d.input("x", DType::int8, {4});
    const loops::Buffer y = d.reduce("y", DType::int8, {}, {{"k", extent}}, reducer,
                                     [&](const Indices&, const Indices& r) { return loops::load(in, r); });
    return run(d.build({y}), {x})[0].as_int64(0);
  };
  CHECK(reduce(sum_reducer(), 4) == -117);
  CHECK(reduce(sum_reducer(), 0) == 0);
  CHECK(reduce(product_reducer(), 0) == 1);
  CHECK(reduce(max_reducer(), 4) == 7);
  CHECK(reduce(max_reducer(), 0) == -128);
  CHECK(reduce(min_reducer(), 4) == -128);
  CHECK(reduce(min_reducer(), 0) == 127);
}

TEST_CASE("Tuple reductions write all components at once; among equal values the smaller index wins") {
  Definition d("arg");
  const loops::Buffer x = d.input("x", DType::uint8, {4});
  const auto best = d.reduce_tuple({"value", "position"}, {DType::uint8, DType::int64}, {}, {{"k", 4}},
                                   arg_max_reducer(), [&](const Indices&, const Indices& r) {
                                     return std::vector<loops::Expr>{loops::load(x, r), r[0]};
                                   });
  const std::vector<NdArray> results = run(d.build(best), {NdArray::from<std::uint8_t>({4}, {0, 200, 200, 3})});
  CHECK(results[0].as_int64(0) == 200);
  CHECK(results[1].as_int64(0) == 1);
}

TEST_CASE("Tensors without elements have no block") {
  Definition d("empty");
  const loops::Buffer x = d.input("x", DType::float32, {0, 3});
  const loops::Buffer y =
      d.compute("y", DType::float32, {{"i", 0}, {"j", 3}}, [&](const Indices& i) { return loops::load(x, i); });
  CHECK(run(d.build({y}), {NdArray(DType::float32, {0, 3})})[0].shape() == Shape{0, 3});
}

TEST_CASE("Sequential blocks: a state that each step reads and writes again") {
  // y[t] = s, where s = s + sum_k w[k, i] * s[k] starting from s = x: steps see the state of earlier ones.
  Definition d("recurrence");
  const loops::Buffer x = d.input("x", DType::float32, {2}), w = d.input("w", DType::float32, {2, 2});
  const loops::Buffer state = d.declare("state", DType::float32, {2}), sums = d.declare("sums", DType::float32, {2}),
                      y = d.declare("y", DType::float32, {3, 2});
  const auto set = [&](const char* name, const loops::Buffer& to, const loops::Buffer& from) {
    d.update(name, {{"i", 2}}, [&](const Indices& i) { return loops::store(to, i, loops::load(from, i)); });
  };
  set("start", state, x);
  d.in_order({"steps.t", 3}, [&](const loops::Expr& t) {
    set("before", sums, state);
    d.accumulate("product", sums, {{"i", 2}}, {"k", 2}, [&](const Indices& i, const loops::Expr& k) {
      return loops::load(w, {k, i[0]}) * loops::load(state, {k});
    });
    set("after", state, sums);
    d.update("result", {{"i", 2}}, [&](const Indices& i) { return loops::store(y, {t, i[0]}, loops::load(state, i)); });
  });
  const loops::Program program = d.build({y});
  REQUIRE(loops::verify(program).ok());
  const auto results = run(program, {NdArray::from<float>({2}, {1, 2}), NdArray::from<float>({2, 2}, {1, 0, 1, 1})});
  CHECK(results[0] == NdArray::from<float>({3, 2}, {4, 4, 12, 8, 32, 16}));
}

TEST_CASE("A sequential loop without steps has no blocks, and sequential updates may overlap") {
  Definition d("last");
  const loops::Buffer index = d.input("index", DType::int64, {3});
  const loops::Buffer y = d.declare("y", DType::int64, {2});
  d.update("zero", {{"i", 2}}, [&](const Indices& i) { return loops::store(y, i, loops::int_imm(-1)); });
  d.update("write", {{"n", 3, loops::IterKind::ordered}},
           [&](const Indices& n) { return loops::store(y, {loops::load(index, n)}, n[0]); });
  d.in_order({"t", 0}, [&](const loops::Expr&) {
    d.update("never", {{"i", 2}}, [&](const Indices& i) { return loops::store(y, i, loops::int_imm(9)); });
  });
  CHECK(run(d.build({y}), {NdArray::from<std::int64_t>({3}, {1, 0, 1})})[0] ==
        NdArray::from<std::int64_t>({2}, {1, 2}));
}

TEST_CASE("Misuse violates an invariant") {
  Definition d("twice");
  const loops::Buffer x = d.input("x", DType::float32, {1});
  CHECK_THROWS_AS(d.build({x}), InternalError);
  const auto one = [](const Indices&) { return loops::float_imm(1); };
  const loops::Buffer y = d.compute("y", DType::float32, {}, one);
  CHECK_NOTHROW(d.build({y}));
  d.compute("y", DType::float32, {}, one);
  CHECK_THROWS_AS(d.build({y}), InternalError);
  CHECK_THROWS_AS(d.compute("z", DType::int8, {}, one), InternalError);
}

}  // namespace
}  // namespace dovetail::tensor
