// run --repeat: the latencies of all runs, everything else from the last run.
#include "base/json.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
using test::kDigits;

TEST_CASE("run --repeat reports the least and the median latency, and checks once") {
  const test::TemporaryFolder folder;
  const Finished run = test::dovetail({"run", kDigits, "--target", "cpu", "--repeat", "5", "--check", "--report",
                                       folder / "r.json", "--output-dir", folder / "five"});
  CHECK(run.error == "");
  REQUIRE(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("repeated      5 runs: latency at least ") && ContainsSubstring("all equal"));
  CHECK(run.out.find("check  ") == run.out.rfind("check  "));
  const Json report = read_json_file(folder / "r.json").value();
  const Json& repeated = report["repeated"];
  CHECK(repeated["runs"] == 5);
  CHECK(repeated["least_ms"] <= repeated["median_ms"]);
  CHECK(repeated["median_ms"] <= repeated["most_ms"]);
  CHECK(report["latency"]["ms"] >= repeated["least_ms"]);
  CHECK(report["latency"]["ms"] <= repeated["most_ms"]);
  double sum = 0;
  for (const auto& [target, share] : report["time_shares"].items()) sum += share.get<double>();
  CHECK(sum == Approx(1));
  CHECK(report["mac_shares"]["cpu"] == 1.0);

  // The outputs are those of a single run.
  REQUIRE(test::dovetail({"run", kDigits, "--target", "cpu", "--output-dir", folder / "one"}).exit == 0);
  const std::string file = report["outputs"][0]["name"].get<std::string>() + ".npy";
  CHECK(read_npy(folder / "five" / file).value() == read_npy(folder / "one" / file).value());
}

TEST_CASE("run --repeat: cycles are the same in every run, one run is not repeated, and wrong numbers are refused") {
  const Finished cycles =
      test::dovetail({"run", kDigits, "--target", "accel", "--engine", "cycle", "--repeat", "2", "--json"});
  REQUIRE(cycles.exit == 0);
  CHECK(parse_json(cycles.out, "run").value()["repeated"]["runs"] == 2);
  const Finished once = test::dovetail({"run", kDigits, "--target", "accel", "--json"});
  const Json report = parse_json(once.out, "run").value();
  CHECK(report["repeated"].is_null());
  CHECK(report["time_shares"].empty());  // the functional engine has no times
  CHECK(report["mac_shares"]["accel"].get<double>() > 0.9);
  for (const char* wrong : {"0", "-1", "two", "1.5"})
    CHECK(test::dovetail({"run", kDigits, "--target", "cpu", "--repeat", wrong}).exit == 2);
}
