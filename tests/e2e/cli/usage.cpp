// Help, exit codes, and the commands that only report.
#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

namespace {
const std::vector<std::string> kCommands{"compile", "run",     "simulate", "check",  "asm",          "disasm", "isa",
                                         "hw",      "zoo",     "inspect",  "doctor", "profile",      "trace",  "debug",
                                         "rtl",     "records", "evaluate", "export", "certificates", "queue",  "serve"};
}

TEST_CASE("every command's help ends with an example and exit code 0") {
  CHECK(test::dovetail({"--help"}).exit == 0);
  CHECK_THAT(test::dovetail({"--version"}).out, ContainsSubstring("dovetail "));
  for (const std::string& command : kCommands) {
    const Finished help = test::dovetail({command, "--help"});
    INFO(command);
    CHECK(help.exit == 0);
    CHECK_THAT(help.out, ContainsSubstring("Example: dovetail " + command));
  }
}

TEST_CASE("without a command, dovetail lists the commands") {
  const Finished bare = test::dovetail({});
  CHECK(bare.exit == 2);
  CHECK(bare.out.empty());
  for (const std::string& command : kCommands) CHECK_THAT(bare.error, ContainsSubstring("  " + command + " "));
}

TEST_CASE("bad usage is exit code 2 and one paragraph") {
  const std::vector<std::vector<std::string>> lines{
      {"fly"},
      {"--fly"},
      {"isa"},
      {"isa", "--format", "pdf"},
      {"hw"},
      {"hw", "fly"},
      {"hw", "area", "9x9"},
      {"hw", "area", "tiny", "--flow", "asic"},
      {"hw", "list", "x"},
      {"hw", "show", "9x9"},
      {"profile"},
      {"profile", "m.onnx", "--target", "cpu", "--repeat", "0"},
      {"run", "m.onnx", "--target", "cpu", "--threads", "0"},
      {"zoo"},
      {"zoo", "resnet19", "-o", "m.onnx"},
      {"zoo", "resnet8"},
      {"zoo", "resnet8", "-o", "m.onnx", "--batch", "0"},
      {"zoo", "resnet8", "-o", "m.onnx", "--image", "big"},
      {"zoo", "ds_cnn", "-o", "m.onnx", "--image", "32"},
      {"zoo", "list", "-o", "m.onnx"},
      {"zoo", "resnet8", "-o", "m.onnx", "--samples", "4"},
      {"zoo", "resnet8", "-o", "m.onnx", "--int8", "--samples", "0"},
      {"zoo", "resnet8", "-o", "m.onnx", "--int8", "--calibration", "best"},
      {"records"},
      {"records", "list"},
      {"records", "drop", "r.db"},
      {"records", "list", "r.db", "more"},
      {"records", "list", "r.db", "-o", "out"},
      {"records", "show", "r.db"},
      {"records", "show", "r.db", "a", "b"},
      {"records", "show", "r.db", "a", "--task", "a"},
      {"records", "merge", "r.db"},
      {"records", "import", "r.db", "missing.jsonl"},
      {"queue", "unix:"},
      {"queue", "127.0.0.1:0"},
      {"queue", "unix:/nowhere/q", "--longest", "0"},
      {"queue", "unix:q", "--json"},
      {"queue", "a:b:c"},
      {"serve"},
      {"serve", "lab.example.org"},
      {"serve", "unix:q", "--memory", "1"},
      {"run", "m.onnx", "--on", "lab/pi4"},
      {"run", "m.onnx", "--on", "queue:lab/pi4"},
      {"run", "./missing.onnx", "--on", "queue:unix:q/pi4"},
      {"run", "m.onnx", "--on", "queue:unix:q", "--priority", "x"},
      {"explore", "m.onnx", "s.json", "--on", "queue:unix:q", "--boards", "0"},
      {"certificates"},
      {"certificates", "missing"},
      {"certificates", "farm", "--queue", ""},
      {"certificates", "farm", "--queue", "lab:7447"},
      {"certificates", "farm", "--board", "../x"},
      {"certificates", "farm", "--board", "pi4", "--board", "pi4"},
      {"certificates", "farm", "--client", "alice"},
      {"certificates", "farm", "--client", "alice:root"},
      {"certificates", "farm", "--client", "alice:board"},
      {"certificates", "farm", "--client", "alice:"},
      {"certificates", "farm", "--client", ":measure"},
      {"certificates", "farm", "--board", "pi4", "--days", "0"},
      {"certificates", "farm", "--board", "pi4", "--days", "3651"},
      {"certificates", "farm", "--days", "9"},
      {"certificates", "farm", "--renew"},
      {"certificates", "farm", "--revoke", "alice"},
      {"simulate", "p.bin"},
      {"disasm", "a", "b"},
      {"disasm", "--hw"},
      {"compile", "m.onnx"},
      {"export", "m.onnx"},
      {"export", "m.onnx", "-o", "out", "--max-arena", "much"},
      {"export", "m.onnx", "-o", "out", "--name", "for"},
      {"compile", "m.onnx", "--target", "tpu"},
      {"run", "m.onnx", "--target", "accel", "--engine", "fast"},
      {"run", "m.onnx", "--target", "accel", "--memory", "ideal"},
      {"run", "m.onnx", "--target", "accel", "--engine", "cycle", "--memory", "fast"},
      {"trace", "diff", "a.json"},
      {"trace", "a.json", "b.json"},
      {"trace", "missing.json"}};
  for (const auto& line : lines) {
    const Finished refused = test::dovetail(line);
    INFO(line.back());
    CHECK(refused.exit == 2);
    CHECK_THAT(refused.error, ContainsSubstring("error: ") && ContainsSubstring("Hint: "));
    CHECK(std::count(refused.error.begin(), refused.error.end(), '\n') == 1);
  }
  for (const std::string& command : kCommands) {
    const Finished refused = test::dovetail({command, "--no-such-option"});
    CHECK(refused.exit == 2);
    CHECK_THAT(refused.error, ContainsSubstring("bad usage of `dovetail " + command + "`"));
  }
}

TEST_CASE("hw show --json gives a configuration that --hw accepts") {
  const test::TemporaryFolder folder;
  const Json listed = parse_json(test::dovetail({"hw", "list", "--json"}).out, "list").value();
  CHECK(listed.size() >= 7);
  for (const Json& config : listed) {
    const std::string name = config["name"];
    const Json shown = parse_json(test::dovetail({"hw", "show", name, "--json"}).out, "show").value();
    CHECK(shown == config);
    const std::string file = folder / (name + ".json");
    REQUIRE(write_text_file(file, shown.dump()).ok());
    CHECK_THAT(test::dovetail({"hw", "show", file}).out, ContainsSubstring("parameter"));
    CHECK_THAT(test::dovetail({"inspect", file}).out, ContainsSubstring("hardware"));
  }
}

TEST_CASE("zoo writes a model that other commands accept") {
  const test::TemporaryFolder folder;
  const std::string file = folder / "resnet8.onnx";
  const Finished written = test::dovetail({"zoo", "resnet8", "-o", file, "--image", "16", "--seed", "5", "--json"});
  INFO(written.error);
  REQUIRE(written.exit == 0);
  const Json summary = parse_json(written.out, "zoo").value();
  CHECK(summary["parameters"] == 78186);
  CHECK(summary["bytes"] == read_file(file).value().size());
  CHECK_THAT(test::dovetail({"inspect", file}).out, ContainsSubstring("BatchNormalization      7"));
  CHECK(test::dovetail({"run", file, "--target", "cpu"}).exit == 0);
  CHECK(parse_json(test::dovetail({"zoo", "list", "--json"}).out, "list").value().size() >= 10);
}

TEST_CASE("zoo --int8 calibrates, reports and writes a model that runs in integers") {
  const test::TemporaryFolder folder;
  const std::string file = folder / "int8.onnx", report = folder / "report.json";
  const Finished written = test::dovetail({"zoo", "resnet8", "--int8", "-o", file, "--image", "16", "--samples", "3",
                                           "--calibration", "mse", "--report", report});
  INFO(written.error);
  REQUIRE(written.exit == 0);
  CHECK_THAT(written.out,
             ContainsSubstring("int8          16 tensors on 3 samples; ") && ContainsSubstring("worst tensors "));
  const Json summary = parse_json(read_text_file(report).value(), "report").value();
  CHECK(summary["samples"] == 3);
  CHECK(summary["tensors"].size() == 16);
  for (const Json& tensor : summary["tensors"]) CHECK(tensor["signal_to_noise_db"].get<double>() > 10);
  CHECK_THAT(test::dovetail({"compile", file, "--target", "cpu", "--dump", "integer"}).out,
             ContainsSubstring("= dovetail.qconv(") && ContainsSubstring("= dovetail.qgemm("));
  CHECK(test::dovetail({"run", file, "--target", "cpu", "--check"}).exit == 0);
}

TEST_CASE(
    "compile --dump prints the accelerator's instructions at each stage: symbolic, with micro-ops, ordered, with "
    "tokens") {
  const test::TemporaryFolder folder;
  const auto dump = [&](const char* stage) {
    const Finished printed = test::dovetail({"compile", test::kDigits, "--target", "accel", "--hw", "1x16x16", "--dump",
                                             stage, "-o", folder / "digits.dvt"});
    REQUIRE(printed.exit == 0);
    CHECK_THAT(printed.out, ContainsSubstring("gemm uop="));
    return printed.out;
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  constexpr const char *kLoad = "\nload.uop sram=", *kKernel = "\n# kernel 0, ", *kToken = " push_next";
  const std::string symbolic = dump("symbolic"), placed = dump("micro-ops"), ordered = dump("order");
  CHECK((has(symbolic, kKernel) && !has(symbolic, kLoad) && !has(symbolic, kToken)));
  CHECK((has(placed, kLoad) && !has(placed, kKernel) && !has(placed, kToken)));
  CHECK((has(ordered, kLoad) && !has(ordered, kToken)));
  CHECK(ordered != placed);
  CHECK(has(dump("stream"), kToken));
}

TEST_CASE("isa prints every format") {
  for (const auto& [format, part] :
       {std::pair{"markdown", "load"}, {"sv", "package"}, {"c", "#define"}, {"json", "{"}, {"python", "def gemm("}}) {
    const Finished printed = test::dovetail({"isa", "--format", format, "--hw", "1x32x32"});
    CHECK(printed.exit == 0);
    CHECK_THAT(printed.out, ContainsSubstring(part));
  }
}

TEST_CASE("doctor reports engines, targets and versions") {
  const Finished text = test::dovetail({"doctor"});
  CHECK(text.exit == 0);
  CHECK_THAT(text.out,
             ContainsSubstring("functional") && ContainsSubstring("cublas") && ContainsSubstring("nlohmann-json"));
  const Json json = parse_json(test::dovetail({"doctor", "--json"}).out, "doctor").value();
  CHECK(json["engines"][0]["available"] == true);
  CHECK(json["hardware"][0]["name"] == "system on chip");
  CHECK(json["hardware"][1]["name"] == "place and route");
  for (const Json& row : json["hardware"]) {
    CHECK_THAT(text.out, ContainsSubstring(row["name"].get<std::string>()));
    CHECK(row["available"] == row["missing"].get<std::string>().empty());
  }
  CHECK(json["versions"]["LLVM"].get<std::string>().starts_with("19."));
  CHECK(json["versions"]["SQLite"].get<std::string>().starts_with("3."));
  CHECK(json["cpu"] != "");  // the processor that code for this machine is compiled for
  CHECK_THAT(text.out, ContainsSubstring(json["cpu"].get<std::string>()));
}
