// Loop programs by hand: what a program says about itself, and every reason for which it cannot become instructions.
#include "driver/loop_program.h"

#include <bit>
#include <map>
#include <string>
#include <utility>

#include "runtime/executor.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::driver;
using Catch::Matchers::ContainsSubstring;

namespace {

const LoopMachines kTiny{.hardware = "1x8x8", .cpu = "interpreter"};

// y = the low bytes of the product x w, in elements of 1x8x8.
const std::string kProduct = R"(program p {
  input x: int8[4, 2, 1, 8]
  input w: int8[2, 2, 8, 8]
  output y: int8[4, 2, 1, 8]
  alloc acc: int32[4, 2, 1, 8] in accel.acc
  alloc high: int32[4, 2, 1, 8] in accel.acc
  alloc xc: int8[4, 2, 1, 8] in accel.inp
  alloc wc: int8[2, 2, 8, 8] in accel.wgt
  for t in 2 {
    for z.i in 4 {
      block zero {
        spatial a in 4 = z.i
        spatial b in 2 = t
        writes acc[a, b, 0, 0 +: 8]
        call accel.fill(acc[a, b, 0, 0] step [0, 0, 1, 0] [0, 0, 0, 1]) with (int32(0))
      }
    }
    for x.i in 4 { for x.k in 2 { for x.e in 8 {
      block xc {
        spatial a in 4 = x.i
        spatial b in 2 = x.k
        spatial c in 8 = x.e
        xc[a, b, 0, c] = x[a, b, 0, c]
      }
    } } }
    for w.k in 2 { for w.f in 8 { for w.e in 8 {
      block wc {
        spatial a in 2 = t
        spatial b in 2 = w.k
        spatial c in 8 = w.f
        spatial d in 8 = w.e
        wc[a, b, c, d] = w[a, b, c, d]
      }
    } } }
    for g.i in 4 { for g.k in 2 {
      block gemm {
        spatial a in 4 = g.i
        spatial b in 2 = t
        reduce c in 2 = g.k
        reads acc[a, b, 0, 0 +: 8], xc[a, c, 0, 0 +: 8], wc[b, c, 0 +: 8, 0 +: 8]
        writes acc[a, b, 0, 0 +: 8]
        call accel.gemm(acc[a, b, 0, 0] step [0, 0, 1, 0] [0, 0, 0, 1], xc[a, c, 0, 0] step [0, 0, 1, 0] [0, 0, 0, 1], wc[b, c, 0, 0] step [0, 0, 1, 0] [0, 0, 0, 1])
      }
    } }
    for h.i in 4 {
      block high {
        spatial a in 4 = h.i
        spatial b in 2 = t
        reads acc[a, b, 0, 0 +: 8]
        writes high[a, b, 0, 0 +: 8]
        call accel.shr_imm(high[a, b, 0, 0] step [0, 0, 1, 0] [0, 0, 0, 1], acc[a, b, 0, 0] step [0, 0, 1, 0] [0, 0, 0, 1]) with (int32(3))
      }
    }
    for y.i in 4 { for y.e in 8 {
      block y {
        spatial a in 4 = y.i
        spatial b in 2 = t
        spatial c in 8 = y.e
        y[a, b, 0, c] = int8(high[a, b, 0, c])
      }
    } }
  }
})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  INFO("no " << from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// Why the text cannot be used or compiled for the accelerator; "" where it can.
std::string refusal(const std::string& text, const LoopMachines& machines = kTiny) {
  const auto program = LoopProgram::parse(text, "p", machines);
  if (!program.ok()) return "not a program: " + to_string(program.errors());
  const auto compiled = program->compile("accel", false, nullptr);
  return compiled.ok() ? "" : to_string(compiled.errors());
}

}  // namespace

TEST_CASE("loop program: it lists its names, and steps may be taken together") {
  auto program = LoopProgram::parse(kProduct, "p", kTiny);
  REQUIRE(program.ok());
  REQUIRE(program->apply("split g.i 2 -> go gi  # two parts\nslots xc 2").ok());
  const Json facts = program->to_json();
  CHECK(facts["trace"] == "split g.i 2 -> go gi\nslots xc 2\n");
  CHECK(facts["hardware"]["name"] == "1x8x8");
  CHECK(facts["parameters"][1] ==
        Json{{"name", "w"}, {"dtype", "int8"}, {"shape", {2, 2, 8, 8}}, {"role", "input"}, {"layout", ""}});
  CHECK(facts["buffers"][2]["scope"] == "accel.inp");
  CHECK(facts["loops"][0] == Json{{"name", "t"}, {"extent", 2}, {"kind", "serial"}, {"inside", Json::array()}});
  for (const Json& block : facts["blocks"])
    if (block["name"] == "gemm") {
      CHECK(block["inside"] == Json{"t", "go", "gi", "g.k"});
      CHECK(block["reads"] == Json{"acc", "xc", "wc"});
      CHECK(block["iterators"][2] == Json{{"name", "c"}, {"extent", 2}, {"kind", "reduce"}, {"binding", "g.k"}});
    }
  const std::string before = facts.dump();
  const auto refused = program->apply("split h.i 2\nvthread y.i\nsplit nowhere 2");
  CHECK_THAT(to_string(refused.errors()), ContainsSubstring("(step `split nowhere 2`)"));
  CHECK(program->to_json().dump() == before);
  CHECK_THAT(to_string(program->apply("split").errors()), ContainsSubstring("split needs 2 arguments"));
  CHECK_THAT(to_string(program->apply("\nhalve i").errors()), ContainsSubstring("steps:2"));
}

TEST_CASE("loop program: tensors keep the shapes of the text whatever their layouts") {
  auto program = LoopProgram::parse(
      "program p { input x: int32[4, 6] output y: int32[6] for i in 6 { for k in 4 { block b { spatial v in 6 = i "
      "reduce "
      "r in 4 = k init { y[v] = 0 } y[v] = y[v] + x[r, v] } } } }",
      "p", kTiny);
  REQUIRE(program.ok());
  NdArray x(DType::int32, {4, 6});
  for (std::int64_t i = 0; i < 24; ++i) x.set_int64(i, i * i);
  const auto expected = program->run({{"x", x}}, nullptr);
  REQUIRE(expected.ok());
  REQUIRE(
      program->apply("transform_layout x i1,i0\ntransform_layout x i0/2,i1,i0%2\ntransform_layout y i0%3,i0/3").ok());
  CHECK(program->to_json()["parameters"][0]["layout"] == "i1/2,i0,i1%2");
  CHECK(*program->run({{"x", x}}, nullptr) == *expected);
  for (const char* target : {"host", "cpu"}) {
    const auto compiled = program->compile(target, false, nullptr);
    if (std::string(target) == "cpu")
      CHECK_THAT(to_string(compiled.errors()), ContainsSubstring("does not compile loop programs for this machine"));
    else REQUIRE(compiled.ok());
  }
  CHECK_THAT(to_string(program->run({}, nullptr).errors()), ContainsSubstring("(x): this input is missing"));
  CHECK_THAT(to_string(program->run({{"x", x}, {"y", x}}, nullptr).errors()),
             ContainsSubstring("(y): the program has no such input. Hint: its inputs are x: int32[4, 6]"));
  CHECK_THAT(to_string(program->run({{"x", NdArray(DType::int32, {6, 4})}}, nullptr).errors()),
             ContainsSubstring("it is int32[6, 4], and the program's is int32[4, 6]"));
}

TEST_CASE("loop program: why it cannot become instructions") {
  CHECK(refusal(kProduct) == "");
  struct Case {
    std::string message, from, to;
  };
  const std::string kUnused = "  alloc ";
  const std::string kY = "spatial c in 8 = y.e\n", kYRows = "spatial a in 4 = y.i\n";
  const Case cases[] = {
      {"(buffer xs): it is in scope global, which is not a memory", "  for t in 2 {",
       kUnused + "xs: int8[8]\n  for t in 2 {"},
      {"(buffer xs): its type is int32, and accel.inp has int8", "  for t in 2 {",
       kUnused + "xs: int32[1, 8] in accel.inp\n  for t in 2 {"},
      {"(buffer xs): its shape is [8, 8], and must end in [1, 8], an element of accel.inp", "  for t in 2 {",
       kUnused + "xs: int8[8, 8] in accel.inp\n  for t in 2 {"},
      {"(buffer xs): its shape is [8], and must end in [8, 8], an element of accel.wgt", "  for t in 2 {",
       kUnused + "xs: int8[8] in accel.wgt\n  for t in 2 {"},
      {"(block xc): it copies parts of elements between xc and x", "for x.e in 8", "for x.e in 4"},
      {"(block wc): it copies parts of elements", "wc[a, b, c, d] = w[a, b, c, d]", "wc[a, b, c, d] = w[a, b, d, c]"},
      {"(block y): STORE does not clamp", "int8(high[a, b, 0, c])", "int8(min(max(high[a, b, 0, c], -128), 127))"},
      {"(block y): its predicate depends on y.e, a loop of its elements", kY, kY + "where c < 7\n"},
      {"(block y): its condition a == 3 is not a conjunction of inequalities", kY, kY + "where a == 3\n"},
      {"(block y): its index into high decreases along loop y.i", kYRows, "spatial a in 4 = 3 - y.i\n"},
      {"(block y): y = int8(high[a, b, 0, c] + 1) is not a copy", "int8(high[a, b, 0, c])",
       "int8(high[a, b, 0, c] + 1)"},
      {"(block high): its immediate 40000 is outside", "(int32(3))", "(int32(40000))"},
      {"(block xc): it pads with another value than 0", "= x[a, b, 0, c]", "= select(a >= 1, x[a, b, 0, c], 1)"},
      {"(block xc): its zeros depend on two loops together", "= x[a, b, 0, c]",
       "= select(a + b < 4, x[a, b, 0, c], 0)"},
      {"(block y): it initializes its result", "y[a, b, 0, c] = int8",
       "init { y[a, b, 0, c] = 0 } y[a, b, 0, c] = int8"},
      {"(block high): accel.shr_imm overwrites acc in place, and block y accesses it later", "int8(high[a, b, 0, c])",
       "int8(acc[a, b, 0, c])"},
      {"(buffer high): it is computed in place of acc, and is used within no loop, the other within loop t", "  }\n}",
       "  }\n  for q in 4 { for r in 2 { for s in 8 { block last { spatial a in 4 = q spatial b in 2 = r spatial c in "
       "8 "
       "= s y[a, b, 0, c] = int8(high[a, b, 0, c]) } } } }\n}"},
      {"(block gemm): its operand xc is not a whole element", "xc[a, c, 0, 0] step [0, 0, 1, 0] [0, 0, 0, 1]",
       "xc[a, c, 0, 0] step [0, 0, 1, 0] [0, 0, 0, 0]"},
      {"(the slots of high): the schedule is not valid", "block high {", "block high @slots(\"none\") {"},
      {"(buffer high): it is computed in place of acc, and has 2 slots, the other 1", "block high {",
       "block high @slots(\"2\") {"},
      {"they need 262144 elements, and the buffer has", "block zero {", "block zero @slots(\"65536\") {"},
      {"they need 1048576 elements", "block zero {", "block zero @slots(\"262144\") {"},
  };
  for (const Case& each : cases) {
    INFO(each.to);
    CHECK_THAT(refusal(replaced(kProduct, each.from, each.to)), ContainsSubstring(each.message));
  }
  CHECK_THAT(
      refusal(replaced(replaced(kProduct, "for y.i in 4 {", "if t < 1 { for y.i in 4 {"), "  }\n}", "  }\n}\n}")),
      ContainsSubstring("(loop t): it has a condition around blocks"));
}

TEST_CASE("loop program: scale and bias of REQUANT from two buffers are neighbors on chip") {
  const LoopMachines requant{.hardware = "1x8x8,requant=true", .cpu = "interpreter"};
  const auto copy = [](const std::string& to, const std::string& from, const std::string& value) {
    return "for " + to + ".i in 4 { for " + to + ".e in 8 { block " + to + " { spatial a in 4 = " + to +
           ".i spatial c in 8 = " + to + ".e " + to + "[a, 0, c] = " + from + value + " } } }\n";
  };
  const std::string element = "[a, 0, 0] step [0, 1, 0] [0, 0, 1]";
  const std::string text =
      "program p { input x: int8[4, 1, 8] input m: int32[4, 1, 8] input n: int32[4, 1, 8] output y: int8[4, 1, 8]\n"
      "alloc v: int32[4, 1, 8] in accel.acc alloc s: int32[4, 1, 8] in accel.acc alloc b: int32[4, 1, 8] in accel.acc "
      "alloc r: int32[4, 1, 8] in accel.acc\n" +
      copy("v", "int32(x", "[a, 0, c])") + copy("s", "m", "[a, 0, c]") + copy("b", "n", "[a, 0, c]") +
      "for r.i in 4 { block r { spatial a in 4 = r.i reads v[a, 0, 0 +: 8], s[a, 0, 0 +: 8], b[a, 0, 0 +: 8] writes "
      "r[a, 0, 0 +: 8] call accel.requant(r" +
      element + ", v" + element + ", s" + element + ", b" + element + ") with (int32(3)) } }\n" +
      copy("y", "int8(r", "[a, 0, c])") + "}";
  auto program = LoopProgram::parse(text, "p", requant);
  INFO((program.ok() ? "" : to_string(program.errors())));
  REQUIRE(program.ok());
  std::map<std::string, NdArray> inputs{{"x", NdArray(DType::int8, {4, 1, 8})},
                                        {"m", NdArray(DType::int32, {4, 1, 8})},
                                        {"n", NdArray(DType::int32, {4, 1, 8})}};
  for (std::int64_t i = 0; i < 32; ++i) {
    inputs.at("x").set_int64(i, 4 * i - 60);
    inputs.at("m").set_int64(i, std::bit_cast<std::int32_t>(0.25f + static_cast<float>(i) / 64));
    inputs.at("n").set_int64(i, i % 5);
  }
  const auto expected = program->run(inputs, nullptr);
  REQUIRE(expected.ok());
  const auto compiled = program->compile("accel", false, nullptr);
  INFO((compiled.ok() ? "" : to_string(compiled.errors())));
  REQUIRE(compiled.ok());
  auto executor = runtime::Executor::make(compiled->bundle, *runtime::simulator_factory("functional"));
  REQUIRE(executor.ok());
  CHECK(executor->run(inputs)->outputs.at("y") == expected->front().second);

  // A second instruction reads them in the other order.
  const std::string again =
      "alloc q: int32[4, 1, 8] in accel.acc for q.i in 4 { block q { spatial a in 4 = q.i reads r[a, 0, 0 +: 8], s[a, "
      "0, 0 +: 8], b[a, 0, 0 +: 8] writes q[a, 0, 0 +: 8] call accel.requant(q" +
      element + ", r" + element + ", b" + element + ", s" + element + ") with (int32(3)) } }\n";
  std::string both = replaced(text, "for y.i in 4 {", again.substr(again.find("for q.i")) + "for y.i in 4 {");
  both = replaced(replaced(both, "alloc r:", again.substr(0, again.find("for q.i")) + "alloc r:"), "int8(r", "int8(q");
  CHECK_THAT(refusal(both, requant),
             ContainsSubstring("accel.requant reads consecutive elements of b and s, which have no common place"));
  CHECK_THAT(refusal(replaced(text, ", b" + element, ", s" + element), requant),
             ContainsSubstring("the element of s does not follow that of s"));
}

TEST_CASE("loop program: too much for the accelerator is refused, not tried") {
  const std::string endless =
      "program p { input x: int8[1, 8] alloc a: int32[1, 8] in accel.acc output y: int8[1, 8] for i in 100000000 { for "
      "l "
      "in 8 { block b { spatial v in 8 = l a[0, v] = int32(x[0, v]) } } for s in 8 { block c { spatial v in 8 = s y[0, "
      "v] = int8(a[0, v]) } } } }";
  CHECK_THAT(refusal(endless), ContainsSubstring("200000000 iterations of its loops would be lowered one by one"));
  CHECK(refusal(replaced(endless, "100000000", "100")) == "");
  CHECK_THAT(
      refusal("program p { input x: int8[1, 8] alloc a: int32[1000000, 1, 8] in accel.acc output y: int8[1, 8] for "
              "i in 1000000 { for l in 8 { block b { spatial u in 1000000 = i spatial v in 8 = l a[u, 0, v] = "
              "int32(x[0, v]) } } } for s in 8 { block c { spatial v in 8 = s y[0, v] = int8(a[7, 0, v]) } } }"),
      ContainsSubstring("they need 1000000 elements, and the buffer has"));
  CHECK_THAT(
      refusal("program p { input x: int8[1, 8] alloc a: int32[2, 1, 8] in accel.acc output y: int8[2, 1, 8] for i "
              "in 2 { for l in 8 { block b { spatial u in 2 = i spatial v in 8 = l a[u, 0, v] = int32(x[0, v]) } "
              "} for s in 8 { block c { spatial u in 2 = 1 - i spatial v in 8 = s y[u, 0, v] = int8(a[u, 0, v]) } "
              "} } }"),
      ContainsSubstring("undefined read of acc[1]"));
}
