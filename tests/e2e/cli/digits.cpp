// The digits models from ONNX to instructions, through the program that users run.
#include <set>

#include "base/json.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

namespace {

std::string model(const char* name) { return std::string(DOVETAIL_SOURCE_DIR "/examples/digits/") + name; }

// The model's multiplications: output elements x kernel x input channels of conv1, conv2, res1_conv1 and res1_conv2,
// dense1 and dense2.
constexpr std::uint64_t kMacs = 64 * 16 * 9 * 1 + 64 * 32 * 9 * 16 + 2 * 16 * 32 * 9 * 32 + 64 * 128 + 10 * 64;

}  // namespace

TEST_CASE("run --check: every tensor of the integer graph is compared, and the accelerator does the work") {
  for (const auto& [name, hardware] : {std::pair{"digits_int8.onnx", "1x16x16-ext"},
                                       {"digits_int8.onnx", "1x16x16"},
                                       {"digits_int8.onnx", "4x8x8"},
                                       {"digits_int8_pow2.onnx", "1x16x16"}}) {
    const test::TemporaryFolder folder;
    const Finished run = test::dovetail({"run", model(name), "--target", "accel", "--hw", hardware, "--check",
                                         "--details", "--report", folder / "r.json"});
    CHECK(run.error == "");
    REQUIRE(run.exit == 0);
    CHECK_THAT(run.out, ContainsSubstring(" of 12 tensors of the integer graph") && ContainsSubstring("all equal") &&
                            ContainsSubstring("607,872 of the compiled graph, 100.00 % accel"));
    const Json report = read_json_file(folder / "r.json").value();
    const bool complete = report["check"]["tensors"] == 12;
    CHECK(complete != (run.out.find("(the others stay inside kernels)") != std::string::npos));
    // The input, six layers (one contains the sum, one a pooling), the other pooling, and the output.
    CHECK(report["check"]["tensors"].get<int>() >= 9);
    CHECK(report["check"]["different"] == 0);
    CHECK(report["counters"]["macs"].get<std::uint64_t>() >= kMacs);
    // The host only converts between float and int8 and rearranges.
    for (const Json& step : report["steps"]) {
      const std::string step_name = step["name"];
      INFO(step_name);
      CHECK((step["target"] == "accel" || step_name == "image_quantize" || step_name == "logits_dequantize" ||
             step_name.starts_with("relayout ")));
    }
  }
}

TEST_CASE("a compiled bundle gives the model's outputs") {
  const test::TemporaryFolder folder;
  const std::string bundle = folder / "d.dvt";
  const Finished compiled = test::dovetail({"compile", model("digits_int8.onnx"), "--target", "accel", "--hw",
                                            "1x16x16-ext", "--verify", "-o", bundle, "--report", folder / "c.json"});
  CHECK(compiled.error == "");
  REQUIRE(compiled.exit == 0);
  CHECK_THAT(compiled.out, ContainsSubstring("res1_add") && ContainsSubstring("no race, no deadlock"));
  std::set<std::string> offloaded;
  const Json report = read_json_file(folder / "c.json").value();
  for (const Json& row : report["placement"])
    if (row["target"] == "accel") offloaded.insert(row["op"].get<std::string>());
  CHECK(offloaded == std::set<std::string>{"Conv", "Gemm", "Add", "MaxPool"});

  REQUIRE(test::dovetail({"run", bundle, "--output-dir", folder / "a"}).exit == 0);
  REQUIRE(test::dovetail({"run", model("digits_int8.onnx"), "--target", "cpu", "--output-dir", folder / "b"}).exit ==
          0);
  CHECK(read_npy(folder / "a/logits.npy").value() == read_npy(folder / "b/logits.npy").value());
  CHECK_THAT(test::dovetail({"inspect", bundle}).out, ContainsSubstring("digits_int8"));
}

TEST_CASE("compile --report reports every node's fate, its reasons and its cost") {
  const test::TemporaryFolder folder;
  const Finished run = test::dovetail({"compile", model("digits_int8.onnx"), "--target", "accel,cpu", "--hw",
                                       "1x16x16-ext", "--place", "pool2=cpu", "--report", folder / "c.json"});
  CHECK(run.error == "");
  REQUIRE(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("into conv1 (lower_qdq)") && ContainsSubstring("region1: convolution") &&
                          ContainsSubstring("between targets"));
  const Json report = read_json_file(folder / "c.json").value();
  std::map<std::string, int> nodes;
  std::uint64_t operations = 0, region_operations = 0;
  for (const Json& row : report["placement"]) {
    INFO(row.dump());
    ++nodes[row["target"].get<std::string>()];
    if (row["target"] == "folded") {
      CHECK(row["why"] != "");
      CHECK(row["pass"] != "");
      continue;
    }
    CHECK(row["region"] != "");
    CHECK(row["cost"]["seconds"].get<double>() >= 0);
    CHECK(row["cost"].contains("cycles") == (row["target"] == "accel"));
    CHECK(row["refused"].empty() == (row["why"] == ""));
    operations += row["cost"]["operations"].get<std::uint64_t>();
  }
  const Json& summary = report["summary"];
  CHECK(nodes["folded"] == 39);
  CHECK(summary["nodes"] == Json(nodes));
  for (const Json& region : summary["regions"]) region_operations += region["cost"]["operations"].get<std::uint64_t>();
  CHECK(operations == region_operations);
  CHECK(operations > 1'000'000);
  // quantize, accel, pool2, accel, dequantize
  CHECK(summary["regions"].size() == 5);
  CHECK(summary["moved_tensors"] == 4);
  CHECK(summary["moved_bytes"] == 64 + 32 * 4 * 4 + 32 * 2 * 2 + 10);
}

TEST_CASE("compile dumps, stops, places and refuses") {
  const auto compile = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"compile", model("digits_int8.onnx"), "--target", "accel", "--hw", "1x16x16-ext"});
    return test::dovetail(more);
  };
  const Finished dumped = compile({"--dump", "integer", "--stop-after", "integer"});
  CHECK(dumped.exit == 0);
  CHECK_THAT(dumped.out, ContainsSubstring("---- integer ----") && ContainsSubstring("conv1"));
  const Finished unknown = compile(
      {"--dump", "everything", "--pass", "vectorize", "--no-pass", "fold_constants", "--pass", "fold_constants"});
  CHECK(unknown.exit == 2);
  CHECK_THAT(unknown.error, ContainsSubstring("cannot dump \"everything\"") &&
                                ContainsSubstring("unknown pass \"vectorize\" (--pass)") &&
                                ContainsSubstring("the passes are fold_constants, ") &&
                                ContainsSubstring("pass \"fold_constants\" is both requested and excluded"));
  CHECK_THAT(compile({"-O", "4"}).error, ContainsSubstring("invalid value for -O (4)"));
  const Finished passes = compile({"--dump", "lower_qdq", "--dump", "fold_batch_norm", "--stop-after", "graph", "-O3"});
  CHECK_THAT(passes.out, ContainsSubstring("---- lower_qdq: before ----") &&
                             ContainsSubstring("---- lower_qdq: after, ") &&
                             ContainsSubstring("fold_batch_norm changed nothing"));
  CHECK_THAT(compile({"--dump", "passes", "--no-pass", "lower_qdq", "--stop-after", "graph"}).out,
             ContainsSubstring("---- fold_constants: before ----") && !ContainsSubstring("lower_qdq"));
  CHECK(compile({"--stop-after", "import", "-o", "never.dvt"}).exit == 2);
  CHECK_THAT(compile({"--place", "pool1=cpu"}).out,
             ContainsSubstring("pool1                         MaxPool           cpu"));
  CHECK_THAT(compile({"--place", "nothing=cpu"}).error, ContainsSubstring("the model has no node of that name"));
  CHECK_THAT(compile({"--place", "pool1=cublas"}).error, ContainsSubstring("cublas does not support pool1"));
  CHECK(compile({"--strict"}).exit == 1);
  CHECK_THAT(compile({"--offload", "never"}).error, ContainsSubstring("invalid value for --offload (never)"));
  CHECK_THAT(compile({"--clock", "0"}).error, ContainsSubstring("invalid value for --clock (0)"));
  CHECK_THAT(compile({"--records", "db"}).error, ContainsSubstring("db"));
}

TEST_CASE("the demonstration agrees on some images, and reports it") {
  const test::TemporaryFolder folder;
  const Finished demo = test::run_process({DOVETAIL_BINARY_DIR "/bin/digits_demo", folder / "demo", "--images", "12"});
  CHECK(demo.error == "");
  REQUIRE(demo.exit == 0);
  CHECK_THAT(demo.out, ContainsSubstring("All agree, bit for bit.") && ContainsSubstring("120 of 120"));
  for (const char* file : {"digits_int8.1x16x16-ext.dvt", "digits_int8.1x16x16-ext.s", "digits_int8.1x16x16.dvt",
                           "digits_int8_pow2.1x16x16.s", "report.json"})
    CHECK(std::filesystem::exists(folder / (std::string("demo/") + file)));
  CHECK(test::run_process({DOVETAIL_BINARY_DIR "/bin/digits_demo"}).exit == 2);
}

TEST_CASE("profile reports each kernel's time, work and share of the peak") {
  const test::TemporaryFolder folder;
  const Finished run = test::dovetail({"profile", model("digits_int8.onnx"), "--target", "cpu", "--threads", "1",
                                       "--repeat", "3", "--report", folder / "p.json"});
  CHECK(run.error == "");
  REQUIRE(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("utilization") && ContainsSubstring("res1_conv1"));
  const Json report = read_json_file(folder / "p.json").value();
  CHECK(report["kind"] == "profile");
  std::uint64_t operations = 0;
  for (const Json& step : report["steps"]) {
    CHECK(step["seconds"].get<double>() >= 0);
    if (step["target"] == "cpu") operations += step["operations"].get<std::uint64_t>();
  }
  CHECK(operations > 1'500'000);

  REQUIRE(test::dovetail({"compile", model("digits_int8.onnx"), "--target", "cpu", "-o", folder / "d.dvt"}).exit == 0);
  CHECK(test::dovetail({"profile", folder / "d.dvt", "--repeat", "1"}).exit == 0);
  CHECK(test::dovetail({"profile", folder / "d.dvt", "--cpu", "avx2"}).exit == 2);
}

TEST_CASE("the digits run on the CPU for every class of processor, interpreted or compiled, and from a bundle") {
  for (const char* cpu :
       {"interpreter", "baseline", "avx2", "avx2-vnni", "avx512", "avx512-vnni", "avx512-amx", "native"}) {
    const Finished run = test::dovetail(
        {"run", model("digits_int8.onnx"), "--target", "cpu", "--cpu", cpu, "--check", "--threads", "2"});
    if (run.exit == 2 || run.exit == 1)
      CHECK_THAT(run.error, ContainsSubstring("they are made for the processor class"));
    else CHECK_THAT(run.out, ContainsSubstring("all equal"));
  }
  CHECK(test::dovetail({"run", model("digits_int8.onnx"), "--target", "cpu", "--cpu", "z80"}).exit != 0);
}

TEST_CASE("run --engine cycle: the same values, and a table of where the cycles went") {
  const test::TemporaryFolder folder;
  for (const char* memory : {"ideal", "bank:ddr4-2400"}) {
    const Finished run =
        test::dovetail({"run", model("digits_int8.onnx"), "--target", "accel", "--hw", "1x16x16-ext", "--engine",
                        "cycle", "--memory", memory, "--check", "--details", "--report", folder / "r.json", "--trace",
                        folder / (std::string(memory).substr(0, 4) + ".json")});
    CHECK(run.error == "");
    REQUIRE(run.exit == 0);
    CHECK_THAT(run.out, ContainsSubstring("all equal") && ContainsSubstring("of the tightest") &&
                            ContainsSubstring("the same instructions with"));
    const Json report = read_json_file(folder / "r.json").value();
    const std::uint64_t cycles = report["cycles"];
    for (const Json& step : report["steps"]) {
      if (step["target"] != "accel") continue;
      const Json& timing = step["timing"];
      CHECK(timing["cycles"] == cycles);
      // Every cycle of every unit has a class and a layer.
      for (const auto& [unit, classes] : timing["units"].items()) {
        std::uint64_t by_class = 0, by_layer = 0;
        for (const Json& part : classes) by_class += part.get<std::uint64_t>();
        for (const Json& layer : timing["layers"]) by_layer += layer[unit]["cycles"].get<std::uint64_t>();
        CHECK(by_class == cycles);
        CHECK(by_layer == cycles);
      }
      for (const auto& [unit, classes] : timing["units"].items()) CHECK(timing["program"][unit]["cycles"] == cycles);
      CHECK(timing["program"]["compute"]["waiting"]["token_prev"].get<std::uint64_t>() > 0);
      CHECK(timing["of_tightest_bound"].get<double>() > 0.3);
      CHECK(timing["of_tightest_bound"].get<double>() <= 1);
      CHECK(timing["what_if"].size() == 8);
      // Waits for memory are divided without a remainder, and a DRAM has causes that an ideal memory does not have.
      std::uint64_t row_misses = 0;
      for (const auto& [unit, classes] : timing["units"].items()) {
        std::uint64_t divided = 0, by_layer = 0;
        for (const Json& part : timing["waits"][unit]) divided += part.get<std::uint64_t>();
        for (const Json& layer : timing["layers"])
          for (const Json& part : layer[unit]["memory"]) by_layer += part.get<std::uint64_t>();
        CHECK(divided == classes["memory"]);
        CHECK(by_layer == classes["memory"]);
        row_misses += timing["waits"][unit]["row_miss"].get<std::uint64_t>();
      }
      CHECK((row_misses > 0) == (std::string(memory) != "ideal"));
      CHECK(timing["program"]["macs"].get<std::uint64_t>() > kMacs);  // channels are padded
      CHECK(timing["program"]["useful_macs"] == kMacs);
      // conv2 and the pooling after it are one layer of the accelerator, with both names. conv2 has 8 x 8 results of 32
      // channels, of 3 x 3 x 16 products each.
      const auto fused =
          std::ranges::find_if(timing["layers"], [](const Json& layer) { return layer["name"] == "conv2+pool1"; });
      REQUIRE(fused != timing["layers"].end());
      CHECK((*fused)["useful_macs"] == 8 * 8 * 32 * 3 * 3 * 16);
      std::uint64_t useful = 0;
      for (const Json& layer : timing["layers"])
        if (!layer["useful_macs"].is_null()) useful += layer["useful_macs"].get<std::uint64_t>();
      CHECK(useful == kMacs);
      CHECK_THAT(timing["efficiency"].get<double>(),
                 Catch::Matchers::WithinRel(static_cast<double>(kMacs) / (256.0 * static_cast<double>(cycles)), 1e-9));
      double peak = timing["efficiency"];
      for (const Json& share : timing["lost"]) {
        CHECK(share.get<double>() > 0);
        peak += share.get<double>();
      }
      CHECK_THAT(peak, Catch::Matchers::WithinRel(1.0, 1e-9));
      const Json& roofline = timing["roofline"];
      CHECK(roofline["macs_per_cycle"].get<double>() <=
            std::min(roofline["peak_macs_per_cycle"].get<double>(),
                     roofline["macs_per_byte"].get<double>() * roofline["peak_bytes_per_cycle"].get<double>()));
    }
  }
  const Finished summary = test::dovetail({"trace", folder / "idea.json"});
  CHECK(summary.exit == 0);
  CHECK_THAT(summary.out, ContainsSubstring("conv2") && ContainsSubstring("load token"));
  const Finished equal = test::dovetail({"trace", "diff", folder / "idea.json", folder / "idea.json"});
  CHECK(equal.exit == 0);
  CHECK_THAT(equal.out, ContainsSubstring("to the cycle"));
  const Finished different = test::dovetail({"trace", "diff", folder / "idea.json", folder / "bank.json"});
  CHECK(different.exit == 1);
  CHECK_THAT(different.out, ContainsSubstring("different     launch 0, instruction 0 of conv1: issue"));

  // Steps that did not run on the accelerator have no page.
  const Finished nothing = test::dovetail(
      {"run", model("digits_int8.onnx"), "--target", "cpu", "--engine", "cycle", "--html", folder / "n.html"});
  CHECK(nothing.exit == 2);
  CHECK_THAT(nothing.error, ContainsSubstring("nothing ran on the accelerator"));
  CHECK_FALSE(std::filesystem::exists(folder / "n.html"));

  // profile reports the accelerator's cycles even without --engine, and writes the page.
  const Finished profile =
      test::dovetail({"profile", model("digits_int8.onnx"), "--target", "accel", "--hw", "1x16x16-ext", "--repeat", "1",
                      "--html", folder / "p.html", "--report", folder / "p.json", "--details"});
  CHECK(profile.error == "");
  REQUIRE(profile.exit == 0);
  CHECK_THAT(profile.out, ContainsSubstring("memory stalls") && ContainsSubstring("roofline") &&
                              ContainsSubstring("multiplications of the model") && ContainsSubstring("utilization") &&
                              ContainsSubstring("res1_conv1") && ContainsSubstring("DRAM read"));
  CHECK(std::filesystem::file_size(folder / "p.html") > 10'000);
  CHECK_THAT(test::dovetail({"inspect", folder / "p.html"}).out,
             ContainsSubstring("digits_int8.onnx") && ContainsSubstring("region1") && ContainsSubstring("1x16x16-ext"));
  std::size_t layers = 0;
  const Json report = read_json_file(folder / "p.json").value();
  for (const Json& step : report["steps"])
    if (step.contains("timing")) layers += step["timing"]["layers"].size();
  CHECK(layers >= 9);
}

TEST_CASE("count-cycles: at most as many cycles, the same values, and the source of each schedule") {
  const auto cycles = [](std::vector<std::string> more) {
    std::vector<std::string> arguments{"run",      model("digits_int8.onnx"),
                                       "--target", "accel",
                                       "--hw",     "1x16x16-ext",
                                       "--engine", "cycle",
                                       "--memory", "ideal",
                                       "--check",  "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const test::Finished ran = test::dovetail(arguments);
    INFO(ran.error);
    REQUIRE(ran.exit == 0);
    return parse_json(ran.out, "run").value().at("cycles").get<std::uint64_t>();
  };
  const std::uint64_t plain = cycles({}), counted = cycles({"--count-cycles", "6"});
  CHECK(counted < plain);
  CHECK(cycles({"--count-cycles", "1"}) == plain);
  const test::Finished compiled = test::dovetail(
      {"compile", model("digits_int8.onnx"), "--target", "accel", "--hw", "1x16x16-ext", "--count-cycles", "6"});
  CHECK(compiled.exit == 0);
  CHECK_THAT(compiled.out, ContainsSubstring("by records, ") && ContainsSubstring("counted: the region takes "));
  for (const char* bad : {"0", "10001", "many"}) {
    const test::Finished refused =
        test::dovetail({"compile", model("digits_int8.onnx"), "--target", "accel", "--count-cycles", bad});
    CHECK(refused.exit == 2);
    CHECK_THAT(refused.error, ContainsSubstring("--count-cycles"));
  }
}
