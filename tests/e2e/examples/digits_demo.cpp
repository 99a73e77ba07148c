// Runs ./dev demo on a few images.
#include <filesystem>

#include "base/json.h"
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/skip.h"
#include "tests/torture/models.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("the digits demonstration ends on the design itself, which agrees in values and cycles") {
  const std::string demo = DOVETAIL_BINARY_DIR "/bin/digits_demo";
  if (!std::filesystem::exists(demo)) return test::skip("digits_demo is not built");
  const bool has_model = test::rtl_model(isa::load_config("1x16x16-ext").value()).has_value();
  const test::TemporaryFolder folder;
  const test::Finished run = test::run_process({demo, folder.path(), "--images", "3"});
  CHECK(run.error == "");
  REQUIRE(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("All agree, bit for bit."));
  const Json design = read_json_file(folder / "report.json").value()["design"];
  if (!has_model) {
    CHECK_THAT(design["skipped"].get<std::string>(), ContainsSubstring("install verilator"));
    return;
  }
  CHECK(design["images"] == 3);
  CHECK(design["logits"] == Json{{"compared", 30}, {"equal_to_functional", 30}, {"equal_to_cycle", 30}});
  CHECK(design["images_of_equal_times"] == 3);
  CHECK(design["cycles_per_image"].get<int>() > 5000);
}
