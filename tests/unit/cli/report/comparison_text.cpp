// The three forms of the report of a comparison.
#include "cli/report/comparison_text.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::cli;
using namespace dovetail::driver;
using Catch::Matchers::ContainsSubstring;

namespace {

Comparison some_comparison() {
  ComparedRow accel{.target = "accel", .machine = "1x16x16-ext"};
  accel.arithmetic = "integer";
  accel.seconds = 0.5e-3;
  accel.measured = {.median = 0.1e-3, .low = 0.1e-3, .high = 0.2e-3, .runs = 3};
  accel.accelerator = ComparedAccelerator{.cycles = 200'000,
                                          .clock_mhz = 500,
                                          .seconds = 0.4e-3,
                                          .memory = "ideal",
                                          .dram_read = 2048,
                                          .steps = 1,
                                          .other_steps = 2};
  accel.joules = 3e-6;
  accel.energy_from = "a model at 45 nm (table cmos45), not a measurement";
  accel.agreement = Agreement{.elements = 10};
  accel.shares = {{"accel", 0.972}, {"cpu", 0.028}};
  ComparedRow cpu{.target = "cpu", .machine = "A processor <of> some \"kind\" that has a very long name, 2 threads"};
  cpu.arithmetic = "integer";
  cpu.seconds = 2e-3;
  cpu.measured = {.median = 2e-3, .low = 1.9e-3, .high = 2.5e-3, .runs = 50};
  cpu.energy_from =
      "RAPL: /sys/class/powercap: No such file or directory, and so on, with a reason that is so long "
      "that it has to be wrapped to fit";
  cpu.agreement = Agreement{.elements = 10, .different = 3, .largest = 0.25};
  ComparedRow other = accel;
  other.machine = "other";
  other.agreement = Agreement{.elements = 10, .different = 2, .largest = 0.5, .accepted = true, .stepped = 1};
  cpu.shares = {{"cpu", 1}};
  ComparedRow cuda{.target = "cuda", .machine = "-"};
  cuda.unavailable = "this version of the kit has no target cuda (NVIDIA GPUs)";
  Comparison comparison;
  comparison.models.push_back({"m.onnx", 1, 1'000'000, {accel, cpu, cuda, other}, "its integer graph"});
  return comparison;
}

}  // namespace

TEST_CASE("comparison: the text fits 100 columns and is complete") {
  const std::string text = comparison_text(some_comparison(), Amount::details);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 100);
  }
  for (const char* part :
       {"m.onnx: 1,000,000 multiplications", "cycles     200,000 = 0.4 ms at 500 MHz", "97.2 % accel, 2.8 % cpu",
        "equal", "3 of 10 differ, by 0.25 at most", "not run", "has no target cuda", "median of 50 runs",
        "2 of 10 differ, by 0.5 at most, within the rounding of floats; 1 integer is", "agree\n", "missing: RAPL",
        "3 uJ", "4.00x", "0.1 ms in 2 steps of this machine"}) {
    CAPTURE(part);
    CHECK_THAT(text, ContainsSubstring(part));
  }
}

TEST_CASE("comparison: the summary has a row for each target, with the reason where it did not run") {
  const std::string text = comparison_text(some_comparison(), Amount::summary);
  CHECK(std::ranges::count(text, '\n') <= 24);
  for (const char* part : {"inferences/s", "speedup", "4.00x", "not run       cuda: this version", "--details"}) {
    CAPTURE(part);
    CHECK_THAT(text, ContainsSubstring(part));
  }
  CHECK(text.find("median of") == text.npos);
}

TEST_CASE("comparison: as JSON") {
  const Json json = comparison_json(some_comparison());
  CHECK(json["kind"] == "comparison");
  const Json& rows = json["models"][0]["rows"];
  CHECK(rows[0]["accelerator"]["cycles"] == 200'000);
  CHECK(rows[0]["ms"].get<double>() == Approx(0.5));
  CHECK(rows[0]["agreement"]["equal"] == true);
  CHECK(rows[0]["agreement"]["agrees"] == true);
  CHECK(rows[1]["agreement"]["agrees"] == false);
  CHECK(rows[3]["agreement"]["equal"] == false);
  CHECK(rows[3]["agreement"]["agrees"] == true);
  CHECK(rows[3]["agreement"]["stepped"] == 1);
  CHECK(rows[1]["accelerator"].is_null());
  CHECK(rows[1]["joules"].is_null());
  CHECK(rows[1]["agreement"]["largest_difference"] == 0.25);
  CHECK(rows[2]["available"] == false);
  CHECK_THAT(rows[2]["why"].get<std::string>(), ContainsSubstring("no target cuda"));
}

TEST_CASE("comparison: the page is self-contained, and names are only text in it") {
  const std::string page = comparison_page(comparison_json(some_comparison()));
  CHECK_THAT(page, ContainsSubstring("default-src 'none'"));
  CHECK_THAT(page, ContainsSubstring("prefers-color-scheme: dark"));
  CHECK(page.find("http://") == page.npos);
  CHECK(page.find("https://") == page.npos);
  CHECK(page.find("<script") == page.npos);
  CHECK(page.find("<of>") == page.npos);
  CHECK_THAT(page, ContainsSubstring("&lt;of&gt; some &quot;kind&quot;"));
  CHECK_THAT(page, ContainsSubstring("not run: this version of the kit has no target cuda"));
}
