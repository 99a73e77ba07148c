// The database of points: claims, recovery after a killed explorer, and other sweeps' files.
#include "explore/sweep/points_file.h"

#include <csignal>
#include <filesystem>

#include <sys/wait.h>
#include <unistd.h>

#include "base/out_of_memory.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace dovetail::explore {

namespace {

const Json kIdentity{{"models", "m"}, {"space", "s"}};

PointRecord record(const std::string& key) {
  PointRecord record;
  record.key = key;
  record.machine = "1x16x16,bus_bytes=16";
  record.chosen = {{"bus_bytes", 16}};
  record.values = {{"latency_ms", 1.5}};
  record.models = Json::array({{{"model", "a, \"b\""}, {"cycles", 12}}});
  return record;
}

PointsFile opened(const std::filesystem::path& path) {
  auto file = PointsFile::open(path, kIdentity);
  REQUIRE(file.ok());
  return *std::move(file);
}

}  // namespace

TEST_CASE("points file: a point is measured by one explorer") {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "points.db";
  PointsFile a = opened(path), b = opened(path);
  CHECK(*a.claim("1") == PointsFile::Claim::ours);
  CHECK(*b.claim("1") == PointsFile::Claim::others);
  CHECK_FALSE(b.find("1")->has_value());
  REQUIRE(a.finish(record("1")).ok());
  CHECK(*b.claim("1") == PointsFile::Claim::done);
  CHECK(**b.find("1") == record("1"));
  CHECK(*b.claim("2") == PointsFile::Claim::ours);
  CHECK(a.all()->size() == 1);
}

TEST_CASE("points file: the points of an interrupted explorer are taken over") {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "points.db";
  const pid_t child = ::fork();
  if (child == 0) {
    // Killed while it has a claim: nothing is cleaned up.
    auto file = PointsFile::open(path, kIdentity);
    const bool claimed = file.ok() && file->claim("1").ok() && file->claim("2").ok() && file->finish(record("2")).ok();
    if (claimed) ::kill(::getpid(), SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  std::filesystem::path left;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (entry.path().extension() == ".lock") left = entry.path();
  REQUIRE_FALSE(left.empty());
  PointsFile file = opened(path);
  CHECK(*file.claim("1") == PointsFile::Claim::ours);
  CHECK(*file.claim("2") == PointsFile::Claim::done);
  CHECK_FALSE(std::filesystem::exists(left));
}

// SQLite manages its two files next to the database.
TEST_CASE("points file: no explorer leaves its lock file") {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "points.db";
  const auto locks = [&] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      count += entry.path().extension() == ".lock" ? 1 : 0;
    return count;
  };
  const auto ended = [&](auto end) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto file = PointsFile::open(path, kIdentity);
      if (file.ok()) end();
      ::_exit(2);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  };
  {
    const PointsFile file = opened(path);
    CHECK(locks() == 1);
  }
  CHECK(locks() == 0);
  CHECK(ended(end_out_of_memory) == 1);
  CHECK(locks() == 0);
  CHECK(ended([] { ::raise(SIGTERM); }) == -SIGTERM);
  CHECK(locks() == 0);
}

TEST_CASE("points file: another sweep's file is refused") {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "points.db";
  { const PointsFile file = opened(path); }
  const auto other = PointsFile::open(path, Json{{"models", "other"}, {"space", "s"}});
  REQUIRE_FALSE(other.ok());
  CHECK(to_string(other.errors()).find("with different models") != std::string::npos);
}

}  // namespace dovetail::explore
