// The folders of a user, and files that may belong to others.
#include "base/user_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/catch.h"
#include "tests/environment.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Environment;
namespace fs = std::filesystem;

TEST_CASE("a user's folders are those of the variables, and never a shared one") {
  const Environment home("HOME", "/home/a"), cache("XDG_CACHE_HOME", ""), state("XDG_STATE_HOME", "/s");
  CHECK(user_folder(UserFolder::cache).value() == "/home/a/.cache/dovetail");
  CHECK(user_folder(UserFolder::state).value() == "/s/dovetail");
  {
    const Environment relative("XDG_STATE_HOME", "s");
    CHECK(user_folder(UserFolder::state).value() == "/home/a/.local/state/dovetail");
  }
  const Environment homeless("HOME", "");
  CHECK(user_folder(UserFolder::state).ok());
  const auto none = user_folder(UserFolder::cache);
  REQUIRE_FALSE(none.ok());
  CHECK_THAT(to_string(none.errors()),
             ContainsSubstring("set XDG_CACHE_HOME to a folder that no other user can write to"));
}

TEST_CASE("private folders are accessible only to their user") {
  const test::TemporaryFolder folder;
  const mode_t before = ::umask(0);
  const auto made = make_private_folder(folder / "a/b/c");
  ::umask(before);
  REQUIRE((made.ok() ? "" : to_string(made.errors())) == "");
  for (const char* name : {"a", "a/b", "a/b/c"})
    CHECK((fs::status(folder / name).permissions() & fs::perms::mask) == fs::perms::owner_all);
  CHECK(make_private_folder(folder / "a/b/c").ok());  // there already
  REQUIRE(write_text_file(folder / "file", "").ok());
  CHECK_FALSE(make_private_folder(folder / "file").ok());
  CHECK_FALSE(make_private_folder(folder / "file/d").ok());
}

TEST_CASE("a file that others own or may write to is not trusted") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "f";
  CHECK_FALSE(other_hands(path).has_value());  // not there
  REQUIRE(write_text_file(path, "x").ok());
  fs::permissions(path, fs::perms(0644));
  CHECK_FALSE(other_hands(path).has_value());
  fs::permissions(path, fs::perms(0646));
  CHECK_THAT(other_hands(path).value_or(""), ContainsSubstring("everyone can write to"));
  fs::permissions(path, fs::perms(0664));
  CHECK(other_hands(path).has_value() == (::getegid() != ::geteuid()));
  fs::permissions(path, fs::perms(0644));
  if (::geteuid() != 0) return;  // only root can give a file away
  REQUIRE(::chown(path.c_str(), 4711, static_cast<gid_t>(-1)) == 0);
  CHECK_THAT(other_hands(path).value_or(""), ContainsSubstring("belongs to user 4711, but this is user 0"));
  fs::permissions(folder.path(), fs::perms(0777));
  CHECK_FALSE(make_private_folder(folder.path()).ok());
}
