// The database of points: claims, recovery after a killed explorer, and other sweeps' files.
#include "explore/sweep/points_file.h"

#include <csignal>
#include <filesystem>

#include <sys/wait.h>
#include <unistd.h>

#include "base/out_of_memory.h"
#include "compiler/tune/sqlite.h"
#include "explore/sweep/metrics.h"
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

TEST_CASE("points file: a damaged row is named, with the way to repair the file") {
  const auto space = Space::parse(*parse_json(R"({"axes": {"bus_bytes": [8, 16]}})", "s"), "s");
  REQUIRE(space.ok());
  PointRecord whole = record("1");
  whole.values = Json::object();
  for (const MetricRow& metric : metric_table()) whole.values[std::string(metric.key)] = 1;
  whole.models = Json::parse(R"([{"model": "m", "cycles": 12, "milliseconds": 1.5, "energy_mj": 2, "regions": 1,
    "check": "equal", "layers": [{"layer": "a", "cycles": 12, "cycles_by_cause": {"work": 12}}]}])");
  CHECK(damage_of(whole, *space).empty());
  const auto error = [&](const std::string& set) {
    const test::TemporaryFolder folder;
    const auto path = folder / "points.db";
    auto file = PointsFile::open(path, kIdentity, &*space);
    REQUIRE((file.ok() && file->claim("1").ok() && file->finish(whole).ok()));
    CHECK(file->all()->size() == 1);
    auto database = tune::sqlite::Database::open(path, tune::sqlite::Access::write);
    REQUIRE(database->run("UPDATE points SET " + set).ok());
    const auto all = file->all();
    const auto one = file->find("1");
    CAPTURE(set);
    REQUIRE_FALSE(all.ok());
    if (set.find("key") == std::string::npos) CHECK_FALSE(one.ok());
    CHECK_THAT(all.errors().front().hint, Catch::Matchers::ContainsSubstring("DELETE FROM points WHERE key = '"));
    CHECK_THAT(all.errors().front().hint, Catch::Matchers::ContainsSubstring(path.string()));
    return to_string(all.errors());
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(error("state = 'done'"), ContainsSubstring("state is \"done\""));
  CHECK_THAT(error("state = 3"), ContainsSubstring("state is \"3\""));
  CHECK_THAT(error("why = x'ff'"), ContainsSubstring("why is not UTF-8"));
  CHECK_THAT(error("key = x'ff'"), ContainsSubstring("key is not UTF-8"));
  CHECK_THAT(error("machine = x'80'"), ContainsSubstring("machine is not UTF-8"));
  for (const char* column : {"chosen", "point_values", "models"}) {
    CAPTURE(column);
    for (const char* value : {"NULL", "''", "'{'", "'garbage'", "7", "'\"text\"'", "x'c3'", "'null'"})
      CHECK_THAT(error(fmt::format("{} = {}", column, value)), ContainsSubstring(column));
  }
  CHECK_THAT(error("chosen = '[]'"), ContainsSubstring("not an object"));
  CHECK_THAT(error("models = '{}'"), ContainsSubstring("not a list"));
  CHECK_THAT(error("chosen = '{}'"), ContainsSubstring("chosen is not a choice of the space"));
  CHECK_THAT(error(R"(chosen = '{"bus_bytes": 17}')"), ContainsSubstring("chosen is not a choice of the space"));
  CHECK_THAT(error("point_values = '{}'"), ContainsSubstring("point_values has no number"));
  const auto with_value = [&](const char* key, const Json& value) {
    Json values = whole.values;
    values[key] = value;
    return error("point_values = '" + values.dump() + "'");
  };
  for (const Json& value : {Json(), Json("fast"), Json::array()})
    CHECK_THAT(with_value("latency_ms", value), ContainsSubstring("no number \"latency_ms\""));
  const auto with_model = [&](const char* key, const Json& value) {
    Json models = whole.models;
    if (value.is_null()) models[0].erase(key);
    else models[0][key] = value;
    return error("models = '" + models.dump() + "'");
  };
  for (const char* key : {"model", "cycles", "milliseconds", "energy_mj", "regions"}) {
    CHECK_THAT(with_model(key, Json()), ContainsSubstring(fmt::format("\"{}\"", key)));
    CHECK_THAT(with_model(key, Json::object()), ContainsSubstring(fmt::format("\"{}\"", key)));
  }
  CHECK_THAT(with_model("regions", 1.5), ContainsSubstring("not an integer"));
  CHECK_THAT(with_model("check", 1), ContainsSubstring("\"check\" is not text"));
  CHECK_THAT(with_model("layers", 1), ContainsSubstring("\"layers\" is not a list"));
  CHECK_THAT(with_model("layers", Json::array({1})), ContainsSubstring("cycles_by_cause"));
  CHECK_THAT(error("models = '[3]'"), ContainsSubstring("models has an entry"));
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
