// Where the kit's own files are searched. tests/install tests an installed program.
#include "base/kit_folder.h"

#include <filesystem>

#include "tests/catch.h"
#include "tests/environment.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
namespace fs = std::filesystem;

TEST_CASE("the kit's files are those of the program's build, unless DOVETAIL_PREFIX says otherwise") {
  CHECK(fs::equivalent(kit_prefix(), DOVETAIL_BINARY_DIR));
  CHECK(kit_is_a_build());
  CHECK(fs::is_directory(kit_prefix() / "share" / "dovetail" / "hw" / "rtl"));

  const test::TemporaryFolder folder;
  const test::Environment prefix("DOVETAIL_PREFIX", folder.path());
  CHECK(kit_prefix() == folder.path());
  CHECK_FALSE(kit_is_a_build());
}

TEST_CASE("another kit on the PATH does not precede a program's own") {
  const test::TemporaryFolder folder;
  fs::create_directories(folder / "bin");
  fs::create_directories(folder / "share/dovetail");
  fs::create_symlink(DOVETAIL_CLI, folder / "bin/dovetail");
  const test::Environment path("PATH", folder / "bin");
  CHECK(fs::equivalent(kit_prefix(), DOVETAIL_BINARY_DIR));
}
