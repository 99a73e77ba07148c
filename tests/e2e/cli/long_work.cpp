// Work without end: announced, limited, interrupted; and windows that cost what they touch. The design's simulation is
// stopped in tests/differential/simulator/rtl_long_work.cpp.
#include <chrono>
#include <filesystem>
#include <tuple>

#include "base/file.h"
#include "runtime/executor.h"
#include "tests/catch.h"
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
    const Finished finished =
        test::run_process(shop.command(engine, {"--limit", "300s", "--limit", "0.3s"}), std::chrono::seconds(10));
    CHECK(finished.exit == 1);
    CHECK_THAT(finished.error, ContainsSubstring("2.2e+12 steps, about") && ContainsSubstring("the work was stopped") &&
                                   ContainsSubstring("its limit of 0.3 s has passed, ") &&
                                   ContainsSubstring(" of 2.2e+12 steps done"));
    CHECK_FALSE(shop.wrote());
  }
}

TEST_CASE("more steps than the limit are refused before the first") {
  const LongWorkshop shop(kEndless, "1x16x16");
  const Finished finished =
      test::run_process(shop.command("functional", {"--limit", "1e6steps"}), std::chrono::seconds(10));
  CHECK(finished.exit == 1);
  CHECK_THAT(finished.error, ContainsSubstring("the work exceeds its limit") &&
                                 ContainsSubstring("2.19849e+12 steps > limit of 1e+06 steps"));
  CHECK_FALSE(shop.wrote());
  for (const char* bad : {"10", "s", "-1s", "1e30steps", "0s", "ten s"}) {
    const Finished refused = test::run_process(shop.command("functional", {"--limit", bad}));
    CHECK(refused.exit == 2);
    CHECK_THAT(refused.error, ContainsSubstring("bad value of --limit"));
  }
}

// `timeout` sends the signal, and reports how its command ended: 128 and the signal.
TEST_CASE("an interrupted run ends at once, by its signal, and writes nothing") {
  const LongWorkshop shop(kEndless, "1x16x16");
  for (const auto& [signal, code, word] : {std::tuple("INT", 130, "interrupted"), {"TERM", 143, "ended by SIGTERM"}}) {
    std::vector<std::string> command = shop.command("cycle");
    command.insert(command.begin(), {"/usr/bin/timeout", "--preserve-status", "-s", signal, "0.5"});
    const Finished finished = test::run_process(command, std::chrono::seconds(10));
    CHECK(finished.exit == code);
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

// 4·10^11 multiply-adds of a megabyte: the interpreter looks at the clock, a kernel of machine code is ended with the
// process.
TEST_CASE("a model whose kernel runs for hours ends by its limit") {
  const int length = 400'000;
  test::onnx::Model model;
  model.inputs = {test::onnx::value_info("x", DType::int8, {1, 1, length})};
  model.initialisers = {test::onnx::tensor("w", NdArray(DType::int8, {1, 1, length}))};
  model.nodes = {test::onnx::node("ConvInteger", {"x", "w"}, {"y"},
                                  {test::onnx::attribute("pads", std::vector<std::int64_t>{length, length})})};
  model.outputs = {test::onnx::Message().text(1, "y")};
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "m.onnx", model.message().str()).ok());
  for (const std::string cpu : {"native", "interpreter"}) {
    CAPTURE(cpu);
    const Finished finished = test::run_process({DOVETAIL_CLI, "run", folder / "m.onnx", "--target", "cpu", "--cpu",
                                                 cpu, "--limit", "0.3s", "--output-dir", folder / "out"},
                                                std::chrono::seconds(20));
    CHECK(finished.exit == 1);
    CHECK_THAT(finished.error,
               ContainsSubstring("the work was stopped") && ContainsSubstring("its limit of 0.3 s has passed"));
    CHECK_FALSE(std::filesystem::exists(folder / "out"));
  }
}

TEST_CASE("a pool over 2^31 - 1 elements, nearly all of them padding, costs what it touches") {
  const std::int64_t kernel = 2147483647, pad = kernel / 2;
  for (const std::string op : {"MaxPool", "AveragePool"})
    for (const std::int64_t dilation : {1, 3}) {
      CAPTURE(op, dilation);
      test::onnx::Model model;
      std::vector<test::onnx::Message> attributes{
          test::onnx::attribute("kernel_shape", std::vector<std::int64_t>{dilation == 1 ? kernel : kernel / 3}),
          test::onnx::attribute("dilations", std::vector<std::int64_t>{dilation}),
          test::onnx::attribute("pads", std::vector<std::int64_t>{pad, pad})};
      if (op == "AveragePool") attributes.push_back(test::onnx::attribute("count_include_pad", 1));
      model.inputs = {test::onnx::value_info("x", DType::float32, {1, 2, 5})};
      model.nodes = {test::onnx::node(op, {"x"}, {"y"}, attributes)};
      model.outputs = {test::onnx::Message().text(1, "y")};
      const test::TemporaryFolder folder;
      REQUIRE(write_text_file(folder / "m.onnx", model.message().str()).ok());
      const Finished finished = test::run_process(
          {DOVETAIL_CLI, "run", folder / "m.onnx", "--target", "cpu", "--check"}, std::chrono::seconds(20));
      CHECK(finished.error == "");
      CHECK(finished.exit == 0);
    }
}
