// Energy in the reports of run, profile and simulate; the part that each engine can report; the user's own table.
#include "base/file.h"
#include "base/json.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
using test::kDigits;

namespace {

Json energy_report(const std::string& command, const std::string& engine, std::vector<std::string> more = {}) {
  const test::TemporaryFolder folder;
  std::vector<std::string> arguments{command,       kDigits,    "--target", "accel",    "--hw",
                                     "1x16x16-ext", "--engine", engine,     "--report", folder / "r.json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Finished run = test::dovetail(arguments);
  CAPTURE(run.error);
  REQUIRE(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("energy        ") && ContainsSubstring("a model at 45 nm"));
  return read_json_file(folder / "r.json").value();
}

double part(const Json& energy, std::string_view component) {
  for (const Json& part : energy["parts"])
    if (part["component"] == component) return part["joules"];
  return 0;
}

}  // namespace

TEST_CASE("energy: parts that depend on time need an engine with a clock") {
  const Json functional = energy_report("run", "functional")["energy"], cycle = energy_report("run", "cycle")["energy"];
  CHECK(part(functional, "clock") == 0);
  CHECK(part(functional, "leakage of SRAM") == 0);
  CHECK_THAT(functional["missing"].dump(), ContainsSubstring("the engine has no clock"));
  CHECK(part(cycle, "clock") > 0);
  CHECK(part(cycle, "leakage of SRAM") > 0);
  // The same events: both engines count them.
  for (const char* component : {"MAC", "ALU", "SRAM wgt", "SRAM inp", "SRAM acc", "SRAM out", "SRAM uop"}) {
    CAPTURE(component);
    CHECK(part(functional, component) > 0);
    CHECK(part(functional, component) == Approx(part(cycle, component)));
  }
  CHECK(part(cycle, "MAC") == Approx(cycle["executed_macs"].get<double>() * 0.3e-12));
}

TEST_CASE("energy: commands of the DRAM, and its standby by the clock") {
  const Json ddr4 = energy_report("run", "cycle", {"--memory", "bank:ddr4-2400"});
  const Json& energy = ddr4["energy"];
  const Json& dram = ddr4["counters"]["dram"];
  CHECK(part(energy, "DRAM rows") ==
        Approx((dram["activates"].get<double>() * 1560 + dram["precharges"].get<double>() * 1903) * 1e-12));
  const double seconds = ddr4["cycles"].get<double>() / 350e6;
  CHECK(part(energy, "DRAM standby") == Approx(0.413 * seconds));
  CHECK(energy["dram_joules"].get<double>() > part(energy, "DRAM standby"));
}

TEST_CASE("energy: profile and run report the same, and a file replaces rows") {
  const Json run = energy_report("run", "cycle"), profile = energy_report("profile", "cycle", {"--repeat", "1"});
  CHECK(run["energy"]["joules"].get<double>() == Approx(profile["energy"]["joules"].get<double>()));

  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "mine.json",
                          R"({"rows": {"mac.int8": {"value": 0.6, "unit": "pJ", "source": "twice the kit's"}}})")
              .ok());
  const Json changed = energy_report("run", "cycle", {"--energy", folder / "mine.json"})["energy"];
  CHECK(part(changed, "MAC") == Approx(2 * part(run["energy"], "MAC")));
  CHECK(part(changed, "ALU") == part(run["energy"], "ALU"));
  CHECK_THAT(changed["statement"].get<std::string>(), ContainsSubstring("table cmos45 with "));
}

TEST_CASE("energy: an invalid overlay is bad input") {
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "mine.json", R"({"rows": {"mac.int9": {"value": -1, "unit": "pJ", "source": "x"}}})")
              .ok());
  const Finished run = test::dovetail({"run", kDigits, "--target", "accel", "--energy", folder / "mine.json"});
  CHECK(run.exit == 2);
  CHECK(run.out == "");
  CHECK_THAT(run.error, ContainsSubstring("there is no row of this name. Hint: did you mean `mac.int8`?"));
}
