// Files of Verilated models: which model is found, and builds that run at the same time or are killed.
#include <chrono>
#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "isa/config.h"
#include "tests/catch.h"
#include "tests/e2e/cli/fake_verilator.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Environment;
using test::FakeVerilator;
using test::Finished;
namespace fs = std::filesystem;

namespace {

// A copy of the design, a file that serves as its model, and a separate cache.
struct Place {
  test::TemporaryFolder folder;
  fs::path model = folder / "model", design = folder / "hw", models = folder / "cache" / "dovetail" / "rtl";
  Environment hardware{"DOVETAIL_HW", design}, cache{"XDG_CACHE_HOME", folder / "cache"};

  Place() {
    fs::copy(DOVETAIL_SOURCE_DIR "/hw", design, fs::copy_options::recursive);
    append(design / "rtl" / "dovetail_alu.sv", "// Its own design.\n");
    REQUIRE(write_text_file(model, std::string(100'000, 'm')).ok());
  }
  static void append(const fs::path& path, const std::string& text) {
    REQUIRE(write_text_file(path, read_text_file(path).value() + text).ok());
  }
  // Files with this suffix.
  std::vector<fs::path> files(const std::string& end) const {
    std::vector<fs::path> found;
    if (!fs::exists(models)) return found;
    for (const auto& entry : fs::directory_iterator(models))
      if (entry.path().string().ends_with(end)) found.push_back(entry.path());
    return found;
  }
};

Finished build(const std::vector<std::string>& more = {}, const test::SignalWhen& signal_when = nullptr) {
  std::vector<std::string> command{DOVETAIL_CLI, "rtl", "build", "--hw", "tiny"};
  command.insert(command.end(), more.begin(), more.end());
  return test::run_process(command, std::chrono::seconds(300), signal_when);
}
bool is_found(const std::string& hardware = "tiny", const std::vector<std::string>& more = {}) {
  std::vector<std::string> command{"rtl", "find", "--hw", hardware};
  command.insert(command.end(), more.begin(), more.end());
  return test::dovetail(command).exit == 0;
}

}  // namespace

TEST_CASE("a Verilated model is found for the design and the Verilator that it was made from, and for no other") {
  const Place place;
  const FakeVerilator tools("9.1", "0", place.model);
  CHECK_FALSE(is_found());  // models next to the build belong to another design
  const Finished built = build();
  CHECK_THAT(built.error, ContainsSubstring("tiny: verilating") && ContainsSubstring("tiny: compiling the model"));
  REQUIRE(built.exit == 0);
  CHECK(is_found());

  // Found for an equal configuration with another name, but for no other configuration or kind.
  Json mine = read_json_file(DOVETAIL_SOURCE_DIR "/isa/configs/tiny.json").value();
  mine["name"] = "mine";
  REQUIRE(write_text_file(place.folder / "mine.json", mine.dump()).ok());
  CHECK(is_found(place.folder / "mine.json"));
  CHECK_FALSE(is_found("1x16x16"));
  CHECK_FALSE(is_found("tiny", {"--waves"}));

  // Every file of the design counts.
  for (const char* file :
       {"rtl/dovetail_alu.sv", "sva/dovetail_regs_sva.sv", "tb/dovetail_probe.sv", "tb/dovetail_model.cpp"}) {
    const std::string before = read_text_file(place.design / file).value();
    Place::append(place.design / file, "// Changed.\n");
    CAPTURE(file);
    CHECK_FALSE(is_found());
    REQUIRE(write_text_file(place.design / file, before).ok());
    CHECK(is_found());
  }

  {
    const FakeVerilator newer("9.2", "0", place.model);
    CHECK_FALSE(is_found());
    REQUIRE(build().exit == 0);
    CHECK(newer.verilations() == 1);
    CHECK(is_found());
  }
  // Without Verilator the model cannot be older than Verilator.
  const Environment nothing("PATH", place.folder / "nothing");
  CHECK(is_found());
}

TEST_CASE("a truncated model is reported, and built again") {
  const Place place;
  const FakeVerilator tools("9.1", "0", place.model);
  REQUIRE(build().exit == 0);
  REQUIRE(build().exit == 0);
  CHECK(tools.verilations() == 1);
  REQUIRE(place.files(".so").size() == 1);
  const fs::path model = place.files(".so").front();
  const auto size = fs::file_size(model);
  for (const auto length : {size - 1, size / 2, std::uintmax_t{0}}) {
    fs::resize_file(model, length);
    const Finished found = test::dovetail({"rtl", "find", "--hw", "tiny"});
    CHECK(found.exit == 2);
    CHECK_THAT(found.error, ContainsSubstring(model.filename().string() + ": the file is truncated"));
    REQUIRE(build().exit == 0);
    CHECK(fs::file_size(model) == size);
    CHECK(is_found());
  }
  CHECK(tools.verilations() == 4);
}

TEST_CASE("models are neither kept in nor taken from folders that others may write to") {
  const Place place;
  const FakeVerilator tools("9.1", "0", place.model);
  REQUIRE(build().exit == 0);
  const fs::path model = place.files(".so").front();
  CHECK((fs::status(place.models).permissions() & fs::perms::mask) == fs::perms::owner_all);
  const auto refused = [&](const std::string& why) {
    const Finished found = test::dovetail({"rtl", "find", "--hw", "tiny"});
    INFO(found.error);
    CHECK(found.exit == 2);
    CHECK_THAT(found.error, ContainsSubstring("the file is code, and " + why));
  };
  for (const fs::path& path : {model, place.models, place.models.parent_path()}) {
    const fs::perms before = fs::status(path).permissions();
    fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
    refused("everyone can write to " + path.string());
    fs::permissions(path, before);
    if (::geteuid() == 0) {
      REQUIRE(::chown(path.c_str(), 4711, static_cast<gid_t>(-1)) == 0);
      refused(path.string() + " belongs to user 4711, but this is user 0");
      REQUIRE(::chown(path.c_str(), 0, static_cast<gid_t>(-1)) == 0);
    }
    CHECK(is_found());
  }
  // A model that others may write to is built again; a folder that others may write to gets no model.
  fs::permissions(model, fs::perms::others_write, fs::perm_options::add);
  CHECK(build().exit == 0);
  CHECK(tools.verilations() == 2);
  fs::permissions(place.models, fs::perms::others_write, fs::perm_options::add);
  const Finished shared = build();
  CHECK(shared.exit == 1);
  CHECK_THAT(shared.error, ContainsSubstring("everyone can write to") && ContainsSubstring("chmod go-w"));

  // No folder for the user: no shared folder is used instead.
  const Environment cache("XDG_CACHE_HOME", ""), home("HOME", ""), temporary("TMPDIR", place.folder / "tmp");
  fs::create_directory(place.folder / "tmp");
  const Finished homeless = build();
  CHECK(homeless.exit == 1);
  CHECK_THAT(homeless.error, ContainsSubstring("set XDG_CACHE_HOME to a folder that no other user can write to"));
  CHECK(fs::is_empty(place.folder / "tmp"));
  // A folder that the user names is used without these checks.
  const Environment models("DOVETAIL_RTL_MODELS", place.models);
  CHECK(is_found());
}

TEST_CASE("of two processes that need a model, one builds it and the other waits for it") {
  const Place place;
  const FakeVerilator tools("9.1", "1", place.model);
  auto other = std::async(std::launch::async, [] { return build(); });
  const Finished one = build(), two = other.get();
  REQUIRE(one.exit == 0);
  REQUIRE(two.exit == 0);
  CHECK(tools.verilations() == 1);
  CHECK_THAT(one.error + two.error, ContainsSubstring("tiny: waiting for another process, which builds it"));
  CHECK_THAT(one.out + two.out, ContainsSubstring("built  ") && ContainsSubstring("is there  "));
}

TEST_CASE("a build that is killed or fails leaves no model, and does not hinder the next build") {
  const Place place;
  {
    const FakeVerilator slow("9.1", "600", place.model);
    const auto when = [&](const std::string&) { return slow.verilations() == 0 ? 0 : SIGKILL; };
    REQUIRE(build({}, when).signal == SIGKILL);
    CHECK(slow.verilations() == 1);
  }
  CHECK(place.files(".so").empty());
  CHECK_FALSE(is_found());
  {
    const FakeVerilator broken("9.1", "0", place.folder / "no model");
    const Finished failed = build();
    CHECK(failed.exit == 1);
    CHECK_THAT(failed.error, ContainsSubstring("compiling Verilator's run time failed") &&
                                 ContainsSubstring("the complete log is " + place.models.string()));
    CHECK(place.files(".so").empty());
    CHECK(place.files(".work").empty());  // nor the killed build's
  }
  const FakeVerilator sound("9.1", "0", place.model);
  REQUIRE(build().exit == 0);
  CHECK(is_found());
}
