// `dovetail compare`: the same network on each target, with outputs compared with one reference, in all three forms.
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "simulator/systemc_engine.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/environment.h"
#include "tests/process.h"
#include "tests/skip.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
using test::kDigits;

namespace {

// Properties of every accelerator row.
void check_accelerator(const Json& row) {
  CHECK(row["arithmetic"] == "integer");
  const Json& accel = row["accelerator"];
  CHECK(accel["ms"].get<double>() == Approx(accel["cycles"].get<double>() / (accel["clock_mhz"].get<double>() * 1e3)));
  CHECK(row["ms"].get<double>() >= accel["ms"].get<double>());
  CHECK(accel["dram_read_bytes"].get<double>() > accel["dram_written_bytes"].get<double>());
  CHECK(row["inferences_per_second"].get<double>() == Approx(1e3 / row["ms"].get<double>()));
  CHECK(row["agreement"]["equal"] == true);
  CHECK(row["shares"]["accel"].get<double>() > 0.99);
  double sum = 0;
  for (const Json& part : row["energy"]["parts"]) sum += part["joules"].get<double>();
  CHECK(row["joules"].get<double>() == Approx(sum));
  // On the chip an 8-bit MAC at 45 nm costs 0.3 pJ; in every step weights, inputs and accumulators of 1x16x16 come from
  // SRAM, which adds 2 pJ; the clock adds half a picojoule where every cycle multiplies, and several where few do.
  CHECK(row["energy"]["pj_per_executed_mac"]["chip"].get<double>() > 2);
  CHECK(row["energy"]["pj_per_executed_mac"]["chip"].get<double>() < 12);
  // A multiplication of the model costs more: padding multiplies too.
  CHECK(row["energy"]["useful_macs"].get<double>() < row["energy"]["executed_macs"].get<double>());
  CHECK(row["energy"]["pj_per_mac"]["all"].get<double>() ==
        Approx(row["energy"]["joules"].get<double>() * 1e12 / row["energy"]["useful_macs"].get<double>()));
}

}  // namespace

TEST_CASE("compare: digits on two configurations, the CPU, and an unknown target") {
  const test::TemporaryFolder folder;
  const test::Environment none("DOVETAIL_CUBLAS", folder / "none.so");
  const Finished run =
      test::dovetail({"compare", kDigits, "--target", "accel,cpu,cublas", "--hw", "1x16x16-ext,1x8x8,requant=true",
                      "--repeat", "3", "--json", "--html", folder / "page.html"});
  CHECK(run.error == "");
  REQUIRE(run.exit == 0);
  const Json json = Json::parse(run.out);
  const Json& rows = json["models"][0]["rows"];
  const Json& last = rows.back();
  CHECK(json["models"][0]["macs"] == 607'872);
  CHECK(rows[0]["machine"] == "1x16x16-ext");
  CHECK(rows[1]["machine"] == "1x8x8,requant=true");
  check_accelerator(rows[0]);
  CHECK(rows[1]["agreement"]["equal"] == true);
  CHECK(rows[1]["accelerator"]["cycles"].get<double>() > rows[0]["accelerator"]["cycles"].get<double>());
  if (rows[2]["available"] == true) {
    CHECK(rows[2]["measured"]["runs"] == 3);
    CHECK(rows[2]["shares"]["cpu"] == 1);
    CHECK(rows[2]["measured"]["low_ms"].get<double>() <= rows[2]["measured"]["high_ms"].get<double>());
    // Either a number and its source, or the reason why there is none.
    CHECK(!rows[2]["energy_from"].get<std::string>().empty());
    // The same network without the rounding of its activations.
    REQUIRE(rows.size() == 5);
    CHECK(rows[2]["arithmetic"] == "integer");
    CHECK(rows[2]["agreement"]["equal"] == true);
    CHECK(rows[3]["arithmetic"] == "float");
    CHECK(rows[3]["agreement"]["equal"] == false);
  } else {
    REQUIRE(rows.size() == 4);
  }
  CHECK(last["available"] == false);
  CHECK_THAT(last["why"].get<std::string>(), ContainsSubstring("does not run target cublas"));
  const std::string page = read_text_file(folder / "page.html").value();
  CHECK_THAT(page, ContainsSubstring("digits_int8.onnx") && ContainsSubstring("1x8x8,requant=true"));
}

TEST_CASE("compare: cycles and energy are the same as in run's report") {
  const test::TemporaryFolder folder;
  const Finished compared = test::dovetail(
      {"compare", kDigits, "--target", "accel", "--hw", "1x16x16-ext", "--memory", "bank:lpddr4", "--json"});
  const Finished run = test::dovetail({"run", kDigits, "--target", "accel,cpu", "--hw", "1x16x16-ext", "--engine",
                                       "cycle", "--memory", "bank:lpddr4", "--report", folder / "r.json"});
  REQUIRE(compared.exit == 0);
  REQUIRE(run.exit == 0);
  const Json row = Json::parse(compared.out)["models"][0]["rows"][0];
  const Json report = read_json_file(folder / "r.json").value();
  CHECK(row["accelerator"]["cycles"] == report["cycles"]);
  CHECK(row["joules"].get<double>() == Approx(report["energy"]["joules"].get<double>()));
}

TEST_CASE("compare: several accelerators: batch cycles as in run, the rate of all, energy of one inference") {
  const test::TemporaryFolder folder;
  const std::string memory = "bank:ddr4-2400";
  const Finished compared =
      test::dovetail({"compare", kDigits, "--target", "accel", "--hw", "1x16x16-ext,1x16x16-ext,accelerators=4",
                      "--memory", memory, "--json", "--html", folder / "page.html"});
  INFO(compared.error);
  REQUIRE(compared.exit == 0);
  const Json rows = Json::parse(compared.out)["models"][0]["rows"];
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["accelerator"]["accelerators"] == 1);
  CHECK(rows[1]["accelerator"]["accelerators"] == 4);
  CHECK(rows[1]["inferences_per_second"].get<double>() == Approx(4e3 / rows[1]["ms"].get<double>()));
  CHECK(rows[1]["accelerator"]["dram_read_bytes"].get<double>() ==
        4 * rows[0]["accelerator"]["dram_read_bytes"].get<double>());
  CHECK(rows[1]["joules"].get<double>() == Approx(rows[1]["energy"]["joules"].get<double>() / 4));
  for (const std::string engine : {"cycle", "systemc"}) {
    if (engine == "systemc" && !simulator::find_systemc_engine()) continue;
    const Finished run =
        test::dovetail({"run", kDigits, "--target", "accel,cpu", "--hw", "1x16x16-ext", "--accelerators", "4",
                        "--engine", engine, "--memory", memory, "--report", folder / "r.json"});
    INFO(run.error);
    REQUIRE(run.exit == 0);
    const Json report = read_json_file(folder / "r.json").value();
    // The same in every run, wherever this machine places the image in memory.
    CHECK(report["cycles"] == rows[1]["accelerator"]["cycles"]);
    CHECK(report["energy"]["joules"].get<double>() == Approx(rows[1]["energy"]["joules"].get<double>()));
    CHECK(report["system"]["accelerators"] == 4);
  }
  const Finished rtl = test::dovetail(
      {"run", kDigits, "--target", "accel", "--hw", "1x16x16-ext,accelerators=2", "--engine", "rtl", "--no-build"});
  CHECK(rtl.exit == 2);
  CHECK_THAT(rtl.error, ContainsSubstring("one accelerator with its own memory"));
}

TEST_CASE("compare: ResNet-8 on the accelerator and the CPU agrees with the reference") {
  const std::string model = DOVETAIL_SOURCE_DIR "/../shared/models/resnet8_int8/model.onnx";
  if (!std::filesystem::exists(model)) return test::skip(model + " is not there");
  const Finished run = test::dovetail({"compare", model, "--hw", "1x16x16-ext", "--repeat", "3", "--json"});
  CHECK(run.error == "");
  REQUIRE(run.exit == 0);
  const Json rows = Json::parse(run.out)["models"][0]["rows"];
  check_accelerator(rows[0]);
  if (rows[1]["available"] == true) CHECK(rows[1]["agreement"]["equal"] == true);
}

// Embedding and normalization of bert_tiny are floats on the host; the region's inputs are rounded from them.
TEST_CASE("compare: outputs agree where run --check accepts them") {
  const test::TemporaryFolder folder;
  const std::string model = folder / "bert_tiny.onnx";
  REQUIRE(test::dovetail({"zoo", "bert_tiny", "--int8", "--sequence", "32", "-o", model}).exit == 0);
  const Finished checked =
      test::dovetail({"run", model, "--target", "accel,cpu", "--hw", "1x16x16-ext", "--check", "--json"});
  REQUIRE(checked.exit == 0);
  CHECK(Json::parse(checked.out)["check"]["different"] == 0);
  const Finished run =
      test::dovetail({"compare", model, "--target", "accel,cpu", "--hw", "1x16x16-ext", "--repeat", "1", "--json"});
  INFO(run.error);
  REQUIRE(run.exit == 0);
  const Json rows = Json::parse(run.out)["models"][0]["rows"];
  CHECK(rows[0]["agreement"]["agrees"] == true);
  if (rows.size() < 3) return;  // this machine has no CPU target
  CHECK(rows[1]["agreement"]["agrees"] == true);
  // The float network computes other values.
  CHECK(rows[2]["arithmetic"] == "float");
  CHECK(rows[2]["agreement"]["agrees"] == false);
}

TEST_CASE("compare: bad usage is refused before anything runs") {
  const auto refused = [](std::vector<std::string> arguments, const std::string& why) {
    arguments.insert(arguments.begin(), "compare");
    const Finished run = test::dovetail(arguments);
    CAPTURE(run.error);
    CHECK(run.exit == 2);
    CHECK(run.out == "");
    CHECK_THAT(run.error, ContainsSubstring(why));
  };
  refused({kDigits, "--target", "gpu"}, "there is no target \"gpu\"");
  refused({kDigits, "--target", "cpu,cpu"}, "cpu is listed twice");
  refused({kDigits, "--hw", "1x17x17"}, "1x17x17");
  refused({kDigits, "--repeat", "0"}, "--repeat");
  refused({}, "no model is given");
  refused({"missing.onnx"}, "missing.onnx");
  refused({"bundle.dvt"}, "a bundle has its target already");
  const test::TemporaryFolder folder;
  const std::string model = folder / "m.onnx";
  std::filesystem::copy_file(kDigits, model);
  refused({model, "--html", model}, "MODEL.onnx... reads");
  REQUIRE(write_text_file(folder / "e.json", R"({"rows": {"mac.int8": {"value": 1e17, "unit": "pJ", "source": "x"}}})")
              .ok());
  refused({kDigits, "--energy", folder / "e.json"}, "1e+17 pJ is outside 0.003 to 10");
  for (const char* batch : {"0", "1,x", "1,", "100000"}) refused({kDigits, "--batch", batch}, "--batch");
  refused({kDigits, "--batch", "1,2,1"}, "1 is listed twice");
  refused({kDigits, "--batch", "8"}, "no input has a batch that can be 8");
  refused({kDigits, "--batch", "1", "--explain", "--hw", "1x8x8,1x16x16"}, "--explain compares two runs of one batch");
}

TEST_CASE("compare: where no listed target runs, the command fails") {
  const Finished run =
      test::run_process({"/usr/bin/env", "DOVETAIL_ONEDNN=/no/such/library", "DOVETAIL_CUBLAS=/no/such/library",
                         DOVETAIL_CLI, "compare", kDigits, "--target", "cublas,onednn"});
  CHECK(run.exit == 1);
  CHECK_THAT(run.out,
             ContainsSubstring("does not run target cublas") && ContainsSubstring("does not run target onednn"));
  CHECK_THAT(run.error, ContainsSubstring("nothing was compared"));
}

TEST_CASE("compare: oneDNN runs the float network, or a row says that it is missing") {
  const Finished run =
      test::dovetail({"compare", kDigits, "--target", "cpu,onednn", "--repeat", "3", "--threads", "1", "--json"});
  REQUIRE(run.exit == 0);
  const Json row = Json::parse(run.out)["models"][0]["rows"].back();
  CHECK(row["target"] == "onednn");
  if (row["available"] == false) {
    CHECK_THAT(row["why"].get<std::string>(), ContainsSubstring("does not run target onednn"));
    return test::skip("oneDNN is not on this machine (package libdnnl2)");
  }
  CHECK(row["arithmetic"] == "float");
  CHECK(row["shares"]["onednn"] == 1);
}

TEST_CASE("run: oneDNN's values are those of the reference, and a wrong library file is named") {
  const std::string digits = DOVETAIL_SOURCE_DIR "/examples/digits/digits_float.onnx";
  const Finished none = test::run_process(
      {"/usr/bin/env", "DOVETAIL_ONEDNN=/no/such/library", DOVETAIL_CLI, "run", digits, "--target", "onednn"});
  CHECK(none.exit == 2);
  CHECK_THAT(none.error, ContainsSubstring("cannot run with oneDNN (/no/such/library)"));
  const Finished run = test::dovetail({"run", digits, "--target", "onednn,cpu", "--threads", "1", "--check"});
  if (run.exit == 2 && run.error.find("libdnnl") != std::string::npos)
    return test::skip("oneDNN is not on this machine (package libdnnl2)");
  CHECK(run.error == "");
  CHECK_THAT(run.out, ContainsSubstring("all equal"));
}

TEST_CASE("compare --explain: layers and causes of two machines add up; a bundle and a report are runs too") {
  const test::TemporaryFolder folder;
  const Finished run = test::dovetail({"compare", kDigits, "--explain", "--hw", "1x16x16-ext,1x16x16-g2", "--repeat",
                                       "2", "--json", "--html", folder / "page.html"});
  REQUIRE(run.exit == 0);
  const Json json = Json::parse(run.out);
  double ms = 0, joules = 0;
  std::int64_t cycles = 0, bytes = 0;
  for (const Json& layer : json["layers"]) {
    const Json& difference = layer["difference"];
    ms += difference["ms"].get<double>();
    joules += difference["joules"].get<double>();
    cycles += difference["cycles"].get<std::int64_t>();
    bytes += difference["bytes_read"].get<std::int64_t>();
    double causes = 0;
    for (const Json& cause : difference["ms_by_cause"]) causes += cause.get<double>();
    CHECK(causes == Approx(difference["ms"].get<double>()));
  }
  const Json &whole = json["difference"], &a = json["a"], &b = json["b"];
  std::uint64_t of_a = 0;
  for (const Json& cause : a["cycles_by_cause"]) of_a += cause.get<std::uint64_t>();
  CHECK(of_a == 7'253);
  CHECK(ms == Approx(b["ms"].get<double>() - a["ms"].get<double>()));
  CHECK(ms == Approx(whole["ms"].get<double>()));
  CHECK(joules == Approx(b["joules"].get<double>() - a["joules"].get<double>()));
  CHECK(cycles == b["cycles"].get<std::int64_t>() - a["cycles"].get<std::int64_t>());
  CHECK(bytes == b["bytes_read"].get<std::int64_t>() - a["bytes_read"].get<std::int64_t>());
  CHECK(a["cycles"] == 7'253);
  CHECK_THAT(read_text_file(folder / "page.html").value(), ContainsSubstring("res1_conv2"));

  REQUIRE(test::dovetail({"compile", kDigits, "--target", "accel,cpu", "--hw", "1x16x16-ext", "-o", folder / "a.dvt"})
              .exit == 0);
  REQUIRE(test::dovetail({"profile", kDigits, "--target", "accel,cpu", "--hw", "1x16x16-ext", "--repeat", "2",
                          "--report", folder / "b.json"})
              .exit == 0);
  const Finished same = test::dovetail({"compare", "--explain", folder / "a.dvt", folder / "b.json", "--json"});
  REQUIRE(same.exit == 0);
  CHECK(Json::parse(same.out)["difference"]["cycles"] == 0);

  for (const std::vector<std::string>& bad : {std::vector<std::string>{"compare", kDigits, "--explain"},
                                              {"compare", kDigits, "--explain", "--hw", "1x8x8,1x16x16,1x32x32"},
                                              {"compare", folder / "a.dvt", "--explain", "--hw", "1x8x8,1x16x16"}}) {
    const Finished refused = test::dovetail(bad);
    CHECK(refused.exit == 2);
    CHECK_THAT(refused.error, ContainsSubstring("give two runs"));
  }
}
