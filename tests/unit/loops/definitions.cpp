// Definitions of whole tensors, and sizes, in the text of loop programs.
#include <span>
#include <string>
#include <vector>

#include "loops/interpreter.h"
#include "loops/parse.h"
#include "loops/print.h"
#include "loops/verify.h"
#include "tests/catch.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

loops::Program parsed_definition(const std::string& text, const loops::Sizes& sizes = {}) {
  auto program = loops::parse_program(text, "p", sizes);
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  const auto valid = loops::verify(*program, {});
  REQUIRE((valid.ok() ? "" : to_string(valid.errors())) == "");
  const std::string printed = loops::to_string(*program);
  const auto again = loops::parse_program(printed, "p");
  REQUIRE((again.ok() ? "" : to_string(again.errors())) == "");
  CHECK(loops::to_string(*again) == printed);
  return *std::move(program);
}

std::string problem_of(const std::string& text, const loops::Sizes& sizes = {}) {
  const auto program = loops::parse_program(text, "p", sizes);
  return program.ok() ? "" : to_string(program.errors());
}

// The values of the only output, for inputs of one type.
template <typename T>
std::vector<T> result_of(const loops::Program& program, const std::vector<NdArray>& inputs) {
  const auto code = loops::compile(program);
  REQUIRE(code.ok());
  const auto outputs = loops::run(**code, inputs);
  REQUIRE((outputs.ok() ? "" : to_string(outputs.errors())) == "");
  const NdArray& output = outputs->at(0);
  const std::span<const T> values = output.data<T>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("a definition is a loop nest around a block") {
  const loops::Program program = parsed_definition(R"(program p {
  size n = 2
  input x: int32[n, n + 1]
  output y: int32[n + 1, n]
  y[j in n + 1, i in n] = x[i, j] * 2 + n
})");
  CHECK_THAT(loops::to_string(program), ContainsSubstring("for y.j in 3 {\n    for y.i in 2 {\n      block y {"));
  CHECK(result_of<std::int32_t>(program, {NdArray::from<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6})}) ==
        std::vector<std::int32_t>{4, 10, 6, 12, 8, 14});
}

TEST_CASE("reductions of definitions have their identities") {
  const auto reduce = [](const std::string& how, const std::string& type) {
    return parsed_definition("program p {\n input x: " + type + "[2, 3]\n output y: " + type +
                             "[2]\n y[i in 2] = " + how + "\n}");
  };
  const NdArray x = NdArray::from<std::int32_t>({2, 3}, {3, -1, 2, -7, -2, -5});
  const auto gives = [&](const std::string& how, const std::vector<std::int32_t>& expected) {
    INFO(how);
    CHECK(result_of<std::int32_t>(reduce(how, "int32"), {x}) == expected);
  };
  gives("sum[k in 3] x[i, k]", {4, -14});
  gives("dot[k in 3] x[i, k] * x[i, k]", {14, 78});
  gives("product[k in 3] x[i, k]", {-6, -70});
  gives("max[k in 3] x[i, k]", {3, -2});
  gives("min[k in 3] x[i, k]", {-1, -7});
  gives("sum[k in 3 where x[i, k] > 0] x[i, k]", {5, 0});
  gives("max[k in 3 where k != 0] x[i, k]", {2, -2});
  // A condition guards the accesses of the value.
  gives("sum[k in 5 where k >= 1 && k < 4] x[i, k - 1]", {4, -14});
  gives("max(x[i, 0], x[i, 1])", {3, -2});  // not a reduction
  CHECK(result_of<std::uint64_t>(
            parsed_definition("program p {\n input x: uint64[2]\n output y: uint64[]\n y[] = min[k in 2] x[k]\n}"),
            {NdArray::from<std::uint64_t>({2}, {UINT64_MAX, UINT64_MAX - 1})}) ==
        std::vector<std::uint64_t>{UINT64_MAX - 1});
  CHECK_THAT(loops::to_string(reduce("dot[k in 3] x[i, k] * x[i, k]", "float32")),
             ContainsSubstring("@sum(\"products\")"));
}

TEST_CASE("a definition in a loop runs in each of its steps, and sees its number") {
  const loops::Program program = parsed_definition(R"(program p {
  size t = 3
  input x: int32[2]
  output y: int32[2]
  y[i in 2] = x[i]
  for step in t {
    twice[i in 2]: int32 = y[i] * 2
    y[i in 2] = twice[i] + int32(step)
  }
})");
  // 1: 2 + 0, 4 + 1, 10 + 2.
  CHECK(result_of<std::int32_t>(program, {NdArray::from<std::int32_t>({2}, {1, 0})}) ==
        std::vector<std::int32_t>{12, 4});
}

TEST_CASE("an assignment outside a block has the loops around it as iterators") {
  const loops::Program program = parsed_definition(R"(program p {
  input x: int32[6]
  output bins: int32[3]
  output order: int32[6]
  bins[b in 3] = 0
  for i in 6 { bins[x[i]] += 1 }
  for i in 6 {
    let previous = select(i > 0, order[max(i - 1, 0)], 10)
    order[i] = previous - x[i]
  }
})");
  const std::string text = loops::to_string(program);
  CHECK_THAT(text, ContainsSubstring("block bins.1 {\n      ordered bins.1.i in 6 = i\n"));
  CHECK_THAT(text, ContainsSubstring("for i.1 in 6 {\n    block order {\n      ordered order.i.1 in 6 = i.1\n"));
  const auto code = loops::compile(program);
  REQUIRE(code.ok());
  const auto outputs = loops::run(**code, std::vector<NdArray>{NdArray::from<std::int32_t>({6}, {2, 0, 2, 1, 2, 0})});
  REQUIRE((outputs.ok() ? "" : to_string(outputs.errors())) == "");
  const auto values = [](const NdArray& array) {
    const std::span<const std::int32_t> all = array.data<std::int32_t>();
    return std::vector<std::int32_t>(all.begin(), all.end());
  };
  CHECK(values(outputs->at(0)) == std::vector<std::int32_t>{2, 1, 3});
  CHECK(values(outputs->at(1)) == std::vector<std::int32_t>{8, 8, 6, 5, 3, 3});
}

TEST_CASE("iterators of assignments are spatial if iterations store and read different elements") {
  const auto kind_of = [](const std::string& line) {
    const std::string text = loops::to_string(parsed_definition(
        "program p {\n input x: int32[4]\n output y: int32[4, 4]\n y[i in 4, j in 4] = 0\n for k in 4 {\n" + line +
        "\n}\n}"));
    const std::size_t at = text.find("y.1.k in 4 = k");
    REQUIRE(at != text.npos);
    return text.substr(at - 8, 7);
  };
  CHECK(kind_of("y[k, 2] = x[k]") == "spatial");
  CHECK(kind_of("y[k, x[k]] += 1") == "spatial");
  CHECK(kind_of("y[k, k // 2] *= x[k]") == "spatial");
  CHECK(kind_of("y[x[k], 1] += 1") == "ordered");
  CHECK(kind_of("y[k // 2, k % 2] = 1") == "ordered");
  CHECK(kind_of("y[k, 2] = y[3 - k, 2]") == "ordered");
  CHECK(kind_of("y[k, x[y[0, 0]]] = 1") == "ordered");
  CHECK(kind_of("y[k, 2] = y[k, 1]") == "spatial");
  CHECK(kind_of("y[k, k] = y[k, 1]") == "spatial");
  CHECK(kind_of("y[k, k] = y[1, x[k]]") == "ordered");
  CHECK(kind_of("y[k, 0], y[1, k] = 1, 2") == "ordered");
  CHECK(kind_of("y[k, 0], y[k, 1] = y[k, 3], 2") == "spatial");
}

TEST_CASE("a definition whose elements depend on its others runs in order") {
  const loops::Program program = parsed_definition(R"(program p {
  input x: int32[4]
  output y: int32[4]
  y[i in 4] = x[i]
  y[i in 4 where i > 0] += y[i - 1]
})");
  CHECK_THAT(loops::to_string(program), ContainsSubstring("ordered i in 4 = y.1.i\n      where i > 0"));
  CHECK(result_of<std::int32_t>(program, {NdArray::from<std::int32_t>({4}, {5, 1, 2, 3})}) ==
        std::vector<std::int32_t>{5, 6, 8, 11});
}

TEST_CASE("a mask that reads other elements of its buffer makes iterators ordered") {
  const std::string text = loops::to_string(parsed_definition(R"(program p {
  input x: int32[4]
  output y: int32[4, 4]
  y[i in 4, j in 4] = 0
  y[i in 4, j in 4 where y[j, i] < x[j]] = 1
  y[i in 4, j in 4 where y[i, j] < x[j]] = 2
})"));
  CHECK_THAT(text, ContainsSubstring("ordered i in 4 = y.1.i") && ContainsSubstring("ordered j in 4 = y.1.j"));
  CHECK_THAT(text, ContainsSubstring("spatial i in 4 = y.2.i") && ContainsSubstring("spatial j in 4 = y.2.j"));
}

TEST_CASE("numbers of loops leave out the names of other loops") {
  const std::string text = loops::to_string(parsed_definition(R"(program p {
  output y: int32[4]
  for "i.1" in 4 { y[i.1] = 1 }
  for i in 4 { y[i] = 2 }
  for i in 4 { y[i] = 3 }
})"));
  CHECK_THAT(text, ContainsSubstring("for i.2 in 4 {"));
}

TEST_CASE("updates continue elements, also by reductions") {
  const auto gives = [&](const std::string& line, const std::vector<std::int32_t>& expected) {
    INFO(line);
    const loops::Program program =
        parsed_definition("program p {\n input x: int32[2, 3]\n output y: int32[2]\n y[i in 2] = 10\n " + line + "\n}");
    CHECK(result_of<std::int32_t>(program, {NdArray::from<std::int32_t>({2, 3}, {3, -1, 2, -7, -2, -5})}) == expected);
  };
  gives("y[i in 2] += x[i, 0]", {13, 3});
  gives("y[i in 2] -= x[i, 0]", {7, 17});
  gives("y[i in 2] *= x[i, 0]", {30, -70});
  gives("y[i in 2] += sum[k in 3] x[i, k]", {14, -4});
  gives("y[i in 2] -= sum[k in 3 where x[i, k] > 0] x[i, k]", {5, 10});
  gives("y[i in 2] -= dot[k in 3] x[i, k] * x[i, k]", {-4, -68});
  gives("y[i in 2] *= product[k in 2] x[i, k]", {-30, 140});
  gives("for i in 2 { y[i] += sum[k in 3] x[i, k] * int32(i + 1) }", {14, -18});
}

TEST_CASE("loops have conditions, and end where a condition becomes false") {
  const loops::Program program = parsed_definition(R"(program p {
  input x: int32[8]
  output y: int32[8]
  output steps: int32[]
  y[i in 8] = 0
  for i in 8 where i >= 2 && i < 6 { y[i - 2] = x[i] }
  steps[] = 0
  for step in 1000000000 while steps[] < 5 { steps[] += 1 }
})");
  const auto code = loops::compile(program);
  REQUIRE(code.ok());
  const auto outputs =
      loops::run(**code, std::vector<NdArray>{NdArray::from<std::int32_t>({8}, {1, 2, 3, 4, 5, 6, 7, 8})});
  REQUIRE((outputs.ok() ? "" : to_string(outputs.errors())) == "");
  CHECK(outputs->at(0).as_int64(3) == 6);
  CHECK(outputs->at(0).as_int64(4) == 0);
  CHECK(outputs->at(1).as_int64(0) == 5);
}

TEST_CASE("loops and reductions of no iterations are legal") {
  const std::string text = R"(program p {
  size n = 1
  input x: int32[n]
  output y: int32[n]
  output low: int32[n]
  y[i in n] = x[i]
  for i in n - 1 { y[i + 1] += y[i] }
  y[i in n] += sum[k in n - 1, j in n] x[k + 1] * x[j]
  low[i in n] = min[k in n - 1] x[k + 1]
})";
  const auto run = [&](std::int64_t n, std::vector<std::int32_t> x) {
    const loops::Program program = parsed_definition(text, {{"n", n}});
    const auto code = loops::compile(program);
    REQUIRE(code.ok());
    const auto outputs = loops::run(**code, std::vector<NdArray>{NdArray::from<std::int32_t>({n}, x)});
    REQUIRE((outputs.ok() ? "" : to_string(outputs.errors())) == "");
    std::vector<std::int64_t> values;
    for (const NdArray& output : *outputs)
      for (std::int64_t i = 0; i < n; ++i) values.push_back(output.as_int64(i));
    return values;
  };
  CHECK(run(1, {5}) == std::vector<std::int64_t>{5, INT32_MAX});
  CHECK(run(2, {5, 2}) == std::vector<std::int64_t>{19, 21, 2, 2});
}

TEST_CASE("sizes come from the caller or from the text") {
  const std::string text =
      "program p {\n size n, m = n * 2, k = (m + 7) // 4 % 3\n input x: int8[n, m]\n output y: "
      "int8[n]\n y[i in n] = x[i, k]\n}";
  const auto shape = [&](const loops::Sizes& sizes) {
    return parsed_definition(text, sizes).parameters.front().buffer->shape;
  };
  CHECK(shape({{"n", 4}}) == Shape{4, 8});
  CHECK(shape({{"n", 4}, {"m", 5}}) == Shape{4, 5});
  CHECK_THAT(problem_of(text),
             ContainsSubstring("(p:2:7): the size n has no value") && ContainsSubstring("write n = 128"));
  CHECK_THAT(problem_of(text, {{"n", 4}, {"width", 5}}),
             ContainsSubstring("it declares no size width. Hint: its sizes are k, m, n"));
  const auto extent = [](const std::string& number) {
    return problem_of("program p {\n input x: int8[" + number + "]\n output y: int8[1]\n y[0] = x[0]\n}");
  };
  CHECK(extent("(2 + 3) * 4 - 1") == "");
  CHECK_THAT(extent("4 // 0"), ContainsSubstring("the divisor is 0"));
  CHECK_THAT(extent("9223372036854775807 + 1"), ContainsSubstring("does not fit int64"));
  CHECK_THAT(extent("9223372036854775807 * 2"), ContainsSubstring("does not fit int64"));
  CHECK_THAT(extent("n"), ContainsSubstring("expected an extent"));
  CHECK_THAT(extent(std::string(2000, '(') + "1"), ContainsSubstring("nesting is deeper"));
}

TEST_CASE("wrong definitions are reported at their place") {
  const auto of = [](const std::string& line) {
    return problem_of("program p {\n input x: int32[4]\n output y: int32[4]\n " + line + "\n}");
  };
  CHECK(of("y[i in 4] = x[i]") == "");
  CHECK_THAT(of("y[i in 3] = x[i]"),
             ContainsSubstring("(p:4:2): the axes have the extents [3], and y has the shape [4]"));
  CHECK_THAT(of("z[i in 4] = x[i]"), ContainsSubstring("(p:4:2): no buffer is named z"));
  CHECK_THAT(of("y[i in 4]: int32 = x[i]"), ContainsSubstring("two buffers are named y"));
  CHECK_THAT(of("y[i in 4] = float32(x[i])"), ContainsSubstring("expected int32, found an expression of type float32"));
  CHECK_THAT(of("y[i in 4] = x[j]"), ContainsSubstring("no variable named j is visible here"));
  CHECK_THAT(of("y[i in 4] = dot[k in 4] x[k]"), ContainsSubstring("dot adds products, and this is none"));
  CHECK_THAT(of("y[i in 4] = sum[k in 4 x[k]"), ContainsSubstring("expected"));
  CHECK_THAT(of("y[i in 4] ="), ContainsSubstring("expected an expression"));
  CHECK_THAT(of("y[i in 4] -= product[k in 4] x[k]"),
             ContainsSubstring("(p:4:12): -= does not continue a product. Hint: use += or -= with sum and dot"));
  CHECK_THAT(of("for i in 4 { y[i], y[3 - i] += 1, 2 }"), ContainsSubstring("several elements are updated together"));
  CHECK_THAT(of("for i in 4 while i < 2 { y[i] = 1 }"),
             ContainsSubstring("(p:4:13): the condition of `while` has a value of i. Hint: use where"));
  CHECK_THAT(of("for i in 9223372036854775807 where i < 4 { y[i] = 1 }"),
             ContainsSubstring("a loop has at most 2^60 iterations"));
  CHECK_THAT(of("for i in 4 until i < 2 { y[i] = 1 }"), ContainsSubstring("expected a kind of loop"));
  CHECK_THAT(of("y[i in 4 where x[i]] = 1"), ContainsSubstring("expected bool"));
  CHECK_THAT(of("z[i in 4]: bool = sum[k in 4] x[k] > 0"),
             ContainsSubstring("(p:4:20): sum is not defined on bool. Hint: convert the values"));
  CHECK_THAT(of("y[i in 4] = 1 + sum[k in 4] x[k]"),
             ContainsSubstring("(p:4:18): sum is a part of an expression, and a reduction is the whole value"));
}
