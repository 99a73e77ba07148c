#include "base/memory_limit.h"

#include "base/file.h"
#include "base/npy.h"
#include "base/zip.h"
#include "tests/catch.h"
#include "tests/environment.h"
#include "tests/temporary_folder.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("bytes are written with binary units") {
  CHECK(parse_bytes("4096") == 4096);
  CHECK(parse_bytes("512MiB") == std::uint64_t{512} << 20);
  CHECK(parse_bytes("8GiB") == std::uint64_t{8} << 30);
  for (const char* text : {"", "GiB", "8GB", "1.5GiB", "-1", "8 GiB", "9223372036854775808", "9000000TiB"})
    CHECK(parse_bytes(text) == std::nullopt);
}

TEST_CASE("the memory limit is the environment's, or a fraction of the machine's") {
  {
    const test::Environment variable("DOVETAIL_MEMORY_LIMIT", "3MiB");
    CHECK(memory_limit().value() == std::uint64_t{3} << 20);
    CHECK(check_memory("cannot hold", "x", std::uint64_t{3} << 20).ok());
    const auto refused = check_memory("cannot hold", "x.npz, member y", (std::uint64_t{3} << 20) + 1);
    CHECK_THAT(to_string(refused.errors()),
               ContainsSubstring("cannot hold (x.npz, member y): 3145729 bytes of memory > "
                                 "limit 3145728") &&
                   ContainsSubstring("raise DOVETAIL_MEMORY_LIMIT"));
  }
  {
    const test::Environment variable("DOVETAIL_MEMORY_LIMIT", "much");
    CHECK_THAT(to_string(memory_limit().errors()), ContainsSubstring("invalid value for DOVETAIL_MEMORY_LIMIT (much)"));
  }
  CHECK(memory_limit().value() > std::uint64_t{1} << 27);
}

TEST_CASE("a file that exceeds the memory limit is not read") {
  const test::TemporaryFolder folder;
  REQUIRE(write_file(folder / "f", std::vector<std::byte>(1000)).ok());
  const test::Environment variable("DOVETAIL_MEMORY_LIMIT", "999");
  CHECK_THAT(to_string(read_file(folder / "f").errors()), ContainsSubstring("1000 bytes of memory > limit 999"));
}

// Deflated zeros: the file has a thousandth of their bytes, and only the file's size is limited by the disk.
TEST_CASE("an archive that inflates beyond the memory limit is refused by its directory, naming the member") {
  const auto deflated = read_file(std::filesystem::path(DOVETAIL_SOURCE_DIR) / "tests/unit/base/data/deflated.npz");
  const auto arrays = parse_npz(*deflated, "deflated.npz");
  REQUIRE(arrays.ok());
  const test::Environment variable("DOVETAIL_MEMORY_LIMIT", "1000");
  CHECK_THAT(to_string(parse_zip(*deflated, "deflated.npz").errors()),
             ContainsSubstring("cannot read zip archive (deflated.npz, with all members up to ") &&
                 ContainsSubstring(" bytes of memory > limit 1000"));
}

}  // namespace dovetail
