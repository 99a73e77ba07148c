// Very long work: announced, limited, interrupted; and windows whose cost is proportional to the elements they touch.
// tests/differential/simulator/rtl_long_work.cpp stops the design's simulation.
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/e2e/cli/emulated_gpu.h"
#include "tests/process.h"
#include "tests/unit/compiler/import/onnx_writer.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

namespace {

// Three instructions, 48 bytes, and 2·10^12 steps.
constexpr const char* kEndless = R"(.config 1x16x16
load.uop sram=0 dram=0x0 size=1x8191
gemm uop=0:1 iter=1x1 reset
alu.add uop=0:8191 iter=16383x16383 imm=1
)";

class LongWorkshop {
 public:
  LongWorkshop(const char* program, const char* hardware) : hardware_(hardware) {
    REQUIRE(write_text_file(folder_ / "p.s", program).ok());
    const Finished assembled = test::dovetail({"asm", path("p.s"), "-o", path("p.bin")});
    REQUIRE(assembled.error == "");
    REQUIRE(read_file(path("p.bin"))->size() == 48);
    REQUIRE(write_file(path("in.bin"), std::vector<std::byte>(65536)).ok());
  }
  std::string path(const char* name) const { return folder_ / name; }
  std::vector<std::string> command(const std::string& engine, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{DOVETAIL_CLI,   "simulate",   path("p.bin"),   "--hw",     hardware_, "--dram",
                                   path("in.bin"), "--dram-out", path("out.bin"), "--engine", engine};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  bool wrote() const { return std::filesystem::exists(path("out.bin")); }

 private:
  test::TemporaryFolder folder_;
  std::string hardware_;
};

bool has_engine(std::string_view name) {
  for (const runtime::Engine& engine : runtime::engines())
    if (engine.name == name) return engine.available;
  return false;
}

}  // namespace

TEST_CASE(
    "a program of 10^12 steps is announced, and ends by its limit of seconds on every engine that executes "
    "instructions whole") {
  for (const std::string engine : {"functional", "cycle", "systemc"}) {
    if (!has_engine(engine)) continue;
    CAPTURE(engine);
    const LongWorkshop shop(kEndless, "1x16x16");
    const Finished finished = test::run_process(shop.command(engine, {"--limit", "1h", "--limit", "0.3s"}));
    CHECK(finished.exit == 1);
    CHECK_THAT(finished.error, ContainsSubstring("2.2e+12 steps, about") && ContainsSubstring("the work was stopped") &&
                                   ContainsSubstring("its limit of 0.3 s has passed, ") &&
                                   ContainsSubstring(" of 2.2e+12 steps done"));
    CHECK_FALSE(shop.wrote());
  }
}

TEST_CASE("more steps than the limit are refused before the first") {
  const LongWorkshop shop(kEndless, "1x16x16");
  const Finished finished = test::run_process(shop.command("functional", {"--limit", "1e6steps"}));
  CHECK(finished.exit == 1);
  CHECK_THAT(finished.error, ContainsSubstring("the work exceeds its limit") &&
                                 ContainsSubstring("2.19849e+12 steps > limit of 1e+06 steps"));
  CHECK_FALSE(shop.wrote());
  for (const char* bad : {"10", "s", "-1s", "1e30steps", "0s", "ten s"}) {
    const Finished refused = test::run_process(shop.command("functional", {"--limit", bad}));
    CHECK(refused.exit == 2);
    CHECK_THAT(refused.error, ContainsSubstring("invalid value for --limit"));
  }
}

TEST_CASE("an interrupted run ends at once, by its signal, and writes nothing") {
  const LongWorkshop shop(kEndless, "1x16x16");
  for (const auto& [signal, word] : {std::pair(SIGINT, "interrupted"), {SIGTERM, "ended by SIGTERM"}}) {
    // As soon as the work is announced.
    const auto when = [&](const std::string& error) { return error.find(" steps, about") == error.npos ? 0 : signal; };
    const Finished finished = test::run_process(shop.command("cycle"), std::chrono::seconds(300), when);
    CHECK(finished.signal == signal);
    CHECK_THAT(finished.error, ContainsSubstring("the work was stopped") && ContainsSubstring(word));
    CHECK_FALSE(shop.wrote());
  }
}

TEST_CASE("short work is not announced, and shows no progress") {
  const LongWorkshop shop(R"(.config 1x16x16
load.uop sram=0 dram=0x0 size=1x1
gemm uop=0:1 iter=1x1 reset
finish
)",
                          "1x16x16");
  const Finished finished = test::run_process(shop.command("functional", {"--limit", "1h"}));
  CHECK(finished.exit == 0);
  CHECK(finished.error == "");
}

// 4·10^11 multiply-adds on a megabyte: the interpreter checks the clock; a kernel of machine code is stopped with the
// process.
TEST_CASE("a model whose kernel runs for hours ends by its limit") {
  const test::EmulatedGpu gpu;
  const int length = 400'000;
  test::onnx::Model model;
  model.inputs = {test::onnx::value_info("x", DType::int8, {1, 1, length})};
  model.initializers = {test::onnx::tensor("w", NdArray(DType::int8, {1, 1, length}))};
  model.nodes = {test::onnx::node("ConvInteger", {"x", "w"}, {"y"},
                                  {test::onnx::attribute("pads", std::vector<std::int64_t>{length, length})})};
  model.outputs = {test::onnx::Message().text(1, "y")};
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "m.onnx", model.message().str()).ok());
  for (const std::vector<std::string>& target :
       {std::vector<std::string>{"cpu"}, {"cpu", "--cpu", "interpreter"}, {"cuda", "--strict"}}) {
    CAPTURE(target);
    std::vector<std::string> command{DOVETAIL_CLI, "run",          folder / "m.onnx", "--limit",
                                     "0.3s",       "--output-dir", folder / "out",    "--target"};
    command.insert(command.end(), target.begin(), target.end());
    const Finished finished = test::run_process(command);
    CHECK(finished.exit == 1);
    CHECK_THAT(finished.error,
               ContainsSubstring("the work was stopped") && ContainsSubstring("its limit of 0.3 s has passed"));
    CHECK_FALSE(std::filesystem::exists(folder / "out"));
  }
}

// Models of few bytes with more steps than a float represents exactly: more than 2^64, of index types, of comparisons.
std::vector<std::pair<std::string, test::onnx::Model>> models_of_many_steps() {
  using test::onnx::attribute, test::onnx::node, test::onnx::value_info;
  std::vector<std::pair<std::string, test::onnx::Model>> models;
  const auto add = [&](const std::string& name, const std::vector<test::onnx::Message>& inputs,
                       const test::onnx::Message& made) -> test::onnx::Model& {
    test::onnx::Model& model = models.emplace_back(name, test::onnx::Model{}).second;
    model.inputs = inputs;
    model.nodes = {made};
    model.outputs = {test::onnx::Message().text(1, "y")};
    return model;
  };
  const auto ranks = [&](const char* name) { return value_info(name, DType::float32, {65536}); };
  add("2^64 products", {ranks("a"), ranks("b"), ranks("c"), ranks("d")},
      node("Einsum", {"a", "b", "c", "d"}, {"y"}, {attribute("equation", "a,b,c,d->")}));
  add("products of int64", {value_info("a", DType::int64, {2048, 2048}), value_info("b", DType::int64, {2048, 2048})},
      node("MatMul", {"a", "b"}, {"y"}));
  add("the best 100,000 of 1,000,000", {value_info("a", DType::float32, {1'000'000})},
      node("TopK", {"a", "k"}, {"y", "i"}))
      .initializers = {test::onnx::tensor("k", NdArray::from<std::int64_t>({1}, {100'000}))};
  return models;
}

TEST_CASE("steps on values of any type count, and no number of steps is too large to count") {
  const test::EmulatedGpu gpu;
  for (const auto& [name, model] : models_of_many_steps()) {
    const test::TemporaryFolder folder;
    REQUIRE(write_text_file(folder / "m.onnx", model.message().str()).ok());
    for (const std::vector<std::string>& target : {std::vector<std::string>{"cpu"},
                                                   {"cpu", "-O", "0"},
                                                   {"cpu", "--cpu", "interpreter"},
                                                   {"onednn,cpu"},
                                                   {"cudnn,cublas,cuda", "--strict"},
                                                   {"cuda", "--strict"}}) {
      CAPTURE(name, target);
      std::vector<std::string> command{DOVETAIL_CLI, "run", folder / "m.onnx", "--limit", "1e9steps", "--target"};
      command.insert(command.end(), target.begin(), target.end());
      const Finished finished = test::run_process(command);
      CHECK(finished.exit == 1);
      CHECK_THAT(finished.error,
                 ContainsSubstring("the work exceeds its limit") && ContainsSubstring(" steps > limit of 1e+09 steps"));
    }
  }
}

// Models whose windows reach 2^31 - 1 elements, nearly all of them padding.
std::vector<std::pair<std::string, test::onnx::Model>> models_of_endless_windows() {
  using test::onnx::attribute, test::onnx::node, test::onnx::value_info;
  using Ints = std::vector<std::int64_t>;
  std::vector<std::pair<std::string, test::onnx::Model>> models;
  const auto add = [&](const std::string& name, DType dtype, const std::vector<test::onnx::Extent>& shape,
                       const test::onnx::Message& made) {
    test::onnx::Model& model = models.emplace_back(name, test::onnx::Model{}).second;
    model.inputs = {value_info("x", dtype, shape)};
    model.nodes = {made};
    model.outputs = {test::onnx::Message().text(1, "y")};
    if (name.ends_with("its places")) model.outputs.push_back(test::onnx::Message().text(1, "i"));
  };
  const std::int64_t most = 2147483647, pad = most / 2;
  for (const std::int64_t dilation : {1, 3}) {
    const auto window = [&](std::size_t rank) {
      return std::vector{attribute("kernel_shape", Ints(rank, dilation == 1 ? most : most / 3)),
                         attribute("dilations", Ints(rank, dilation)), attribute("pads", Ints(2 * rank, pad))};
    };
    const std::string dilated = fmt::format(", dilation {}", dilation);
    for (const std::string op : {"MaxPool", "AveragePool", "LpPool"}) {
      auto attributes = window(1);
      if (op == "AveragePool") attributes.push_back(attribute("count_include_pad", 1));
      add(op + dilated, DType::float32, {1, 2, 5}, node(op, {"x"}, {"y"}, attributes));
    }
    add("MaxPool" + dilated + " and its places", DType::float32, {1, 2, 5},
        node("MaxPool", {"x"}, {"y", "i"}, window(1)));
    add("MaxPool in 2D" + dilated, DType::float32, {1, 2, 5, 6}, node("MaxPool", {"x"}, {"y"}, window(2)));
    add("MaxPool of int8" + dilated, DType::int8, {1, 2, 5, 6}, node("MaxPool", {"x"}, {"y"}, window(2)));
  }
  add("MaxPool of int8 in one window", DType::int8, {1, 2, 5, 6},
      node("MaxPool", {"x"}, {"y"},
           {attribute("kernel_shape", Ints{3, 2}), attribute("dilations", Ints{most, 1}),
            attribute("strides", Ints{most, most}), attribute("pads", Ints{most, 0, most, 0})}));
  add("LRN", DType::float32, {1, 4, 3, 2}, node("LRN", {"x"}, {"y"}, {attribute("size", most)}));
  return models;
}

TEST_CASE(
    "a window over 2^31 - 1 elements, nearly all of them padding, costs only the elements it touches, on every "
    "target") {
  const test::EmulatedGpu gpu;
  for (const auto& [name, model] : models_of_endless_windows()) {
    const test::TemporaryFolder folder;
    REQUIRE(write_text_file(folder / "m.onnx", model.message().str()).ok());
    std::vector<std::vector<std::string>> targets{{"cpu"},        {"cpu", "-O", "0"}, {"cpu", "--cpu", "interpreter"},
                                                  {"onednn,cpu"}, {"accel,cpu"},      {"cuda", "--strict"}};
    if (name == "MaxPool, dilation 1") targets.push_back({"cudnn", "--strict"});
    if (name.find("int8") != std::string::npos)  // with a clipped window it is small enough for the accelerator
      for (const char* hardware : {"1x16x16", "1x16x16-ext"})
        targets.push_back({"accel", "--strict", "--offload", "always", "--hw", hardware});
    for (const std::vector<std::string>& target : targets) {
      CAPTURE(name, target);
      // A limit below the cost of visiting every element of the window must suffice.
      std::vector<std::string> command{DOVETAIL_CLI, "run",      folder / "m.onnx", "--check",
                                       "--limit",    "1e8steps", "--target"};
      command.insert(command.end(), target.begin(), target.end());
      const Finished finished = test::run_process(command);
      CHECK(finished.error == "");
      CHECK(finished.exit == 0);
    }
  }
}
