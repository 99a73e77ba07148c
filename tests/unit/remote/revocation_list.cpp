#include "remote/revocation_list.h"

#include <sys/stat.h>

#include "base/file.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using remote::RevocationList;

namespace {
const std::string kA(64, 'a'), kB(64, 'b');
}

TEST_CASE("revocation list: fingerprints with and without colons, in both cases, with comments") {
  const test::TemporaryFolder folder;
  const auto path = folder / "revoked.txt";
  std::string colons;
  for (int i = 0; i < 32; ++i) colons += i == 0 ? "BB" : ":BB";
  REQUIRE(write_text_file(path, "# head\n\n  " + kA + "  # alice\r\n" + colons).ok());
  const auto list = RevocationList::read(path).value();
  CHECK(list->contains(kA));
  CHECK(list->contains(kB));
  CHECK_FALSE(list->contains(std::string(64, 'c')));
  CHECK_FALSE(list->contains(""));
  CHECK_FALSE(list->warning());
}

TEST_CASE("revocation list: every change is seen at once, also ones of equal size in quick succession") {
  const test::TemporaryFolder folder;
  const auto path = folder / "revoked.txt";
  REQUIRE(write_text_file(path, kA).ok());
  const auto list = RevocationList::read(path).value();
  for (int i = 0; i < 200; ++i) {
    const std::string &in = i % 2 == 0 ? kB : kA, &out = i % 2 == 0 ? kA : kB;
    REQUIRE(write_text_file(path, in).ok());
    CHECK(list->contains(in));
    CHECK_FALSE(list->contains(out));
  }
}

TEST_CASE("revocation list: a damaged or missing file revokes no less than before, and warns") {
  const test::TemporaryFolder folder;
  const auto path = folder / "revoked.txt";
  REQUIRE(write_text_file(path, kA + "\n").ok());
  const auto list = RevocationList::read(path).value();

  // A malformed line: the good lines count, and the former ones too.
  REQUIRE(write_text_file(path, kB + "\nalice\n").ok());
  CHECK(list->contains(kA));
  CHECK(list->contains(kB));
  REQUIRE(list->warning());
  CHECK_THAT(list->warning()->where, ContainsSubstring("revoked.txt:2"));
  CHECK_THAT(list->warning()->why, ContainsSubstring("\"alice\" is not a fingerprint"));

  REQUIRE(write_text_file(path, kB).ok());
  CHECK_FALSE(list->contains(kA));
  CHECK_FALSE(list->warning());

  std::filesystem::remove(path);
  CHECK(list->contains(kB));
  CHECK(list->warning());
  std::filesystem::create_directory(path);
  CHECK(list->contains(kB));
  CHECK(list->warning());
  std::filesystem::remove(path);

  // A list that others can write to may have been emptied by them.
  REQUIRE(write_text_file(path, "").ok());
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  CHECK(list->contains(kB));
  REQUIRE(list->warning());
  CHECK_THAT(list->warning()->why, ContainsSubstring("everyone can write"));
  REQUIRE(::chmod(path.c_str(), 0644) == 0);
  CHECK_FALSE(list->contains(kB));
  CHECK_FALSE(list->warning());
}

TEST_CASE("revocation list: at the start a file that cannot be used is an error") {
  const test::TemporaryFolder folder;
  CHECK_THAT(to_string(RevocationList::read(folder / "none").errors()), ContainsSubstring("no such file"));
  for (const std::string& text : {kA.substr(1), kA + "a", kA + kB, std::string("alice"), kA + " alice"}) {
    REQUIRE(write_text_file(folder / "bad", text).ok());
    const auto read = RevocationList::read(folder / "bad");
    INFO(text);
    REQUIRE_FALSE(read.ok());
    CHECK_FALSE(read.errors().front().hint.empty());
  }
}
