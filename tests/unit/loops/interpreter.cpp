#include "loops/interpreter.h"

#include <cmath>
#include <limits>
#include <thread>

#include "loops/free_vars.h"
#include "loops/parse.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

Program parsed(const std::string& text) {
  auto program = parse_program(text, "test");
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  return *std::move(program);
}

// y[i] = <expression in i and x[i]> for each element of x.
NdArray map(DType to, const NdArray& x, const std::string& expression, Precision precision = Precision::native) {
  const std::string n = std::to_string(x.count());
  const Program program =
      parsed("program p {\n input x: " + std::string(name(x.dtype())) + "[" + n +
             "]\n output y: " + std::string(name(to)) + "[" + n + "]\n for a in " + n + " { block b { spatial i in " +
             n + " = a\n reads x[0 +: " + n + "]\n writes y[i]\n y[i] = " + expression + "\n } } }");
  const std::vector<NdArray> arguments{x};
  auto result = evaluate(program, arguments, {}, precision);
  REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
  return result->at(0);
}

std::string error_of(const std::string& text, const std::vector<NdArray>& arguments) {
  const auto result = evaluate(parsed(text), arguments);
  REQUIRE(!result.ok());
  return to_string(result.errors());
}

constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("casts truncate and saturate, integers wrap") {
  const auto x = NdArray::from<float>({8}, {1.9F, -1.9F, 300, -300, kInf, -kInf, kNaN, 2147483648.0F});
  CHECK(map(DType::int8, x, "int8(x[i])") == NdArray::from<std::int8_t>({8}, {1, -1, 127, -128, 127, -128, 0, 127}));
  CHECK(map(DType::uint8, x, "uint8(x[i])") == NdArray::from<std::uint8_t>({8}, {1, 0, 255, 0, 255, 0, 0, 255}));
  CHECK(map(DType::int32, x, "int32(x[i])").as_int64(7) == 2147483647);
  CHECK(map(DType::int64, x, "int64(x[i])").as_int64(4) == std::numeric_limits<std::int64_t>::max());
  const auto n = NdArray::from<std::int32_t>({3}, {2147483647, 300, -2147483647 - 1});
  CHECK(map(DType::int8, n, "int8(x[i])") == NdArray::from<std::int8_t>({3}, {-1, 44, 0}));
  CHECK(map(DType::int32, n, "x[i] + 1").as_int64(0) == -2147483648LL);
  CHECK(map(DType::int32, n, "x[i] / -1").as_int64(2) == -2147483648LL);
  CHECK(map(DType::int32, n, "x[i] % -1").as_int64(2) == 0);
}

TEST_CASE("division and remainder, truncating and flooring") {
  const auto x = NdArray::from<std::int32_t>({4}, {7, -7, 6, -6});
  CHECK(map(DType::int32, x, "x[i] / 3") == NdArray::from<std::int32_t>({4}, {2, -2, 2, -2}));
  CHECK(map(DType::int32, x, "mod(x[i], 3)") == NdArray::from<std::int32_t>({4}, {1, -1, 0, 0}));
  CHECK(map(DType::int32, x, "x[i] // 3") == NdArray::from<std::int32_t>({4}, {2, -3, 2, -2}));
  CHECK(map(DType::int32, x, "x[i] % 3") == NdArray::from<std::int32_t>({4}, {1, 2, 0, 0}));
  CHECK(map(DType::int32, x, "x[i] >> 40") == NdArray::from<std::int32_t>({4}, {0, -1, 0, -1}));
  CHECK(map(DType::int32, x, "pow(x[i], 3)") == NdArray::from<std::int32_t>({4}, {343, -343, 216, -216}));
  CHECK(map(DType::uint64, NdArray::from<std::uint64_t>({1}, {~std::uint64_t{0}}), "x[i] // 3")
            .data<std::uint64_t>()[0] == ~std::uint64_t{0} / 3);
}

TEST_CASE("minimum and maximum propagate NaN") {
  const auto x = NdArray::from<float>({3}, {kNaN, 1, -1});
  CHECK(std::isnan(map(DType::float32, x, "max(x[i], 0.0)").as_double(0)));
  CHECK(std::isnan(map(DType::float32, x, "min(0.0, x[i])").as_double(0)));
  CHECK(map(DType::float32, x, "max(x[i], 0.0)").as_double(2) == 0);
}

TEST_CASE("requantize multiplies exactly and rounds once, half to even") {
  // scale 0.5: halves round to even. 2^-24 and large accumulators: binary32 products would round twice.
  const auto x = NdArray::from<std::int32_t>({6}, {1, 3, 5, -1, -3, 2147483647});
  CHECK(map(DType::int32, x, "requantize(x[i], 0.5, 0)") ==
        NdArray::from<std::int32_t>({6}, {0, 2, 2, 0, -2, 1073741824}));
  CHECK(map(DType::int32, x, "requantize(x[i], 0.5, 3)").as_int64(1) == 5);
  CHECK(map(DType::int32, x, "requantize(x[i], 1.5, 0)") ==
        NdArray::from<std::int32_t>({6}, {2, 4, 8, -2, -4, 2147483647}));
  CHECK(map(DType::int32, x, "requantize(x[i], 1.0, 0)").as_int64(5) == 2147483647);
  CHECK(map(DType::int32, x, "requantize(x[i], 4.0, 0)").as_int64(5) == 2147483647);
  CHECK(map(DType::int32, x, "requantize(x[i], -4.0, 0)").as_int64(5) == -2147483648LL);
  CHECK(map(DType::int32, x, "requantize(x[i], 1e-40, 7)").as_int64(5) == 7);         // subnormal scales are 0
  CHECK(map(DType::int32, x, "requantize(x[i], inf, 0)").as_int64(0) == 2147483647);  // read as 2^128
  CHECK(map(DType::int32, x, "requantize(x[i], 0.5, 0)", Precision::wide) ==
        map(DType::int32, x, "requantize(x[i], 0.5, 0)"));
}

TEST_CASE("wide precision keeps binary64 between operations and in the result") {
  const auto x = NdArray::from<float>({1}, {16777216.0F});
  CHECK(map(DType::float32, x, "x[i] + 1.0 - x[i]").as_double(0) == 0);
  const NdArray wide = map(DType::float32, x, "x[i] + 1.0 - x[i]", Precision::wide);
  CHECK(wide.dtype() == DType::float64);
  CHECK(wide.as_double(0) == 1);
  CHECK(map(DType::int32, x, "bitcast<int32>(x[i] + 1.0)", Precision::wide).as_int64(0) == 0x4b800000);
  CHECK(map(DType::float32, NdArray::from<double>({1}, {0.1}).reshaped({1}), "float32(x[i])", Precision::wide)
            .as_double(0) == 0.1);
}

TEST_CASE("float16 and bfloat16 round after every operation") {
  NdArray x(DType::float16, {1});
  x.set_double(0, 2048);
  CHECK(map(DType::float16, x, "x[i] + 1.0").as_double(0) == 2048);
  CHECK(map(DType::float16, x, "x[i] + 1.0 + 1.0").as_double(0) == 2048);
  CHECK(map(DType::float16, x, "x[i] * 100.0").as_double(0) == kInf);
  const auto n = NdArray::from<std::int64_t>(
      {1}, {(std::int64_t{1} << 40) + (std::int64_t{1} << 32) + 1});  // just above a tie of bfloat16
  CHECK(map(DType::bfloat16, n, "bfloat16(x[i])").as_double(0) == std::ldexp(1, 40) + std::ldexp(1, 33));
}

TEST_CASE("run-time errors are reported with block, buffer and numbers") {
  using Catch::Matchers::ContainsSubstring;
  const std::string gather =
      "program p { input x: int32[4] input k: int64[3] output y: int32[3] for a in 3 { block g { spatial i in 3 = a "
      "reads x[0 +: 4], k[i] writes y[i] y[i] = x[k[i]] } } }";
  const auto x = NdArray::from<std::int32_t>({4}, {1, 2, 3, 4});
  CHECK_THAT(error_of(gather, {x, NdArray::from<std::int64_t>({3}, {0, 4, 1})}),
             ContainsSubstring("(block g): index 4 of dimension 0 of buffer x is outside its extent 4"));
  CHECK_THAT(error_of(gather, {x, NdArray::from<std::int64_t>({3}, {0, -1, 1})}),
             ContainsSubstring("index -1 of dimension 0"));
  CHECK_THAT(error_of("program p { input x: int32[4] output y: int32[4] for a in 4 { block d { spatial i in 4 = a "
                      "reads x[i] writes y[i] y[i] = 1 // (x[i] - 3) } } }",
                      {x}),
             ContainsSubstring("(block d): integer division by 0"));
  CHECK_THAT(
      error_of("program p { output y: int32[4] alloc t: int32[4] for a in 3 { block w { spatial i in 3 = a writes t[i] "
               "t[i] = 1 } } for b in 4 { block r { spatial i in 4 = b reads t[i] writes y[i] y[i] = t[i] } } }",
               {}),
      ContainsSubstring("(block r): t[3] is read but was never written"));
  CHECK_THAT(error_of("program p { output y: int32[2, 2] for a in 1 { block w { spatial i in 1 = a writes y[i, 1] y[i, "
                      "1] = 1 } } }",
                      {}),
             ContainsSubstring("3 of 4 elements of the output were never written; the first is y[0, 0]"));
  CHECK_THAT(error_of(gather, {x}), ContainsSubstring("1 arguments were given, 2 are expected"));
  CHECK_THAT(error_of(gather, {x, x}), ContainsSubstring("the argument has type int32, the parameter int64"));
}

TEST_CASE("a guarded access or division is not run") {
  const auto x = NdArray::from<std::int32_t>({4}, {0, 1, 2, 0});
  CHECK(map(DType::int32, x, "select(x[i] != 0, 6 // x[i], -1)") == NdArray::from<std::int32_t>({4}, {-1, 6, 3, -1}));
  CHECK(map(DType::int32, x, "select(i >= 1, x[i - 1], 9)") == NdArray::from<std::int32_t>({4}, {9, 0, 1, 2}));
  CHECK(map(DType::int32, x, "select(int64(x[i]) * 2 < 4, x[int64(x[i]) * 2], 7)") ==
        NdArray::from<std::int32_t>({4}, {0, 2, 7, 0}));
}

TEST_CASE("an intrinsic call runs its semantics on strided windows") {
  Intrinsic dot;
  dot.name = "test.dot";
  dot.semantics = parsed(
      "program dot { free bias: int32 output acc: int32[2] input a: int32[3] input b: int32[2, 3] for i in 2 { for k "
      "in 3 { block mac { spatial vi in 2 = i reduce vk in 3 = k reads acc[vi], a[vk], b[vi, vk] writes acc[vi] "
      "acc[vi] = acc[vi] + a[vk] * b[vi, vk] + bias } } } }");
  dot.scopes = {"", "", ""};
  dot.immediates = free_vars(dot.semantics.body);
  const std::string text =
      "program p { input a: int32[6] input b: int32[3, 2] output y: int32[2] block zero { writes y[0 +: 2] for z in 2 "
      "{ y[z] = 100 } } block d { reads y[0 +: 2], a[0 +: 6], b[0 +: 3, 0 +: 2] writes y[0 +: 2] call test.dot(y[0] "
      "step [1], a[1] step [2], b[0, 0] step [0, 1] [1, 0]) with (int32(1)) } }";
  const std::vector<NdArray> arguments{NdArray::from<std::int32_t>({6}, {9, 1, 9, 2, 9, 3}),
                                       NdArray::from<std::int32_t>({3, 2}, {1, 4, 2, 5, 3, 6})};
  const auto result = evaluate(parsed(text), arguments, {dot});
  REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
  CHECK(result->at(0) == NdArray::from<std::int32_t>({2}, {100 + 14 + 3, 100 + 32 + 3}));
}

TEST_CASE("one compiled program runs on several threads at once") {
  const Program program = parsed(
      "program p { input x: float32[1000] output s: float32[1] for a in 1000 { block b { spatial z in 1 = 0 reduce k "
      "in 1000 = a reads s[z], x[k] writes s[z] init { s[z] = 0 } s[z] = s[z] + x[k] } } }");
  const auto compiled = compile(program);
  REQUIRE(compiled.ok());
  std::vector<double> sums(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < sums.size(); ++t)
    threads.emplace_back([&, t] {
      NdArray x(DType::float32, {1000});
      for (std::int64_t i = 0; i < 1000; ++i) x.set_double(i, static_cast<double>(t) + 1);
      for (int repeat = 0; repeat < 20; ++repeat)
        sums[t] = run(**compiled, std::vector<NdArray>{x})->at(0).as_double(0);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(sums == std::vector<double>{1000, 2000, 3000, 4000});
}
