// The processor's energy counters, as a folder of files: sums of packages, a counter that wraps around, and the reason
// where there are none.
#include "explore/measure/package_energy.h"

#include <filesystem>
#include <string>

#include "base/file.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using namespace dovetail::explore;
using Catch::Matchers::ContainsSubstring;

namespace {

void write_zone(const std::filesystem::path& folder, const std::string& name, const std::string& kind,
                const std::string& energy) {
  std::filesystem::create_directories(folder / name);
  REQUIRE(write_text_file(folder / name / "name", kind + "\n").ok());
  REQUIRE(write_text_file(folder / name / "max_energy_range_uj", "1000000\n").ok());
  REQUIRE(write_text_file(folder / name / "energy_uj", energy + "\n").ok());
}

}  // namespace

TEST_CASE("package energy: packages are added up, their parts are not") {
  const test::TemporaryFolder folder;
  write_zone(folder.path(), "intel-rapl:0", "package-0", "100000");
  write_zone(folder.path(), "intel-rapl:0:0", "core", "100000");
  write_zone(folder.path(), "intel-rapl:1", "package-1", "900000");
  auto energy = PackageEnergy::open(folder.path());
  REQUIRE(energy.ok());
  CHECK(energy->packages() == 2);
  CHECK(energy->joules().value() == 0);
  write_zone(folder.path(), "intel-rapl:0", "package-0", "350000");
  write_zone(folder.path(), "intel-rapl:0:0", "core", "999999");
  CHECK(energy->joules().value() == Approx(0.25));
  write_zone(folder.path(), "intel-rapl:1", "package-1", "50000");  // wrapped around
  CHECK(energy->joules().value() == Approx(0.25 + 0.15));
}

TEST_CASE("package energy: the reason is given where there is none") {
  const test::TemporaryFolder folder;
  CHECK_THAT(to_string(PackageEnergy::open(folder.path() / "nothing").errors()),
             ContainsSubstring("No such file or directory"));
  CHECK_THAT(to_string(PackageEnergy::open(folder.path()).errors()),
             ContainsSubstring("there is no power zone for a package"));
  write_zone(folder.path(), "intel-rapl:0", "package-0", "many");
  CHECK_THAT(to_string(PackageEnergy::open(folder.path()).errors()), ContainsSubstring("the file contains no number"));
}
