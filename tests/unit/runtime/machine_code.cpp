// Which code of a bundle is machine code, and the record of compiled code.
#include "runtime/machine_code.h"

#include <filesystem>

#include "base/file.h"
#include "base/machine_code_permission.h"
#include "base/sha256.h"
#include "base/shared_library.h"
#include "runtime/device/all.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/environment.h"
#include "tests/temporary_folder.h"
#include "tests/unit/runtime/sample_scaler.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Environment;
namespace fs = std::filesystem;

namespace {

class CodeScaler : public runtime::Device {
 public:
  explicit CodeScaler(bool machine_code) : machine_code_(machine_code) {}
  std::string_view name() const override { return "scaler"; }
  bool runs_machine_code() const override { return machine_code_; }
  Result<runtime::DeviceProgram> load(const bundle::Bundle&) override {
    return Diagnostic{"the bundle was loaded", "", "", ""};
  }

 private:
  bool machine_code_;
};

std::string error_of(const bundle::Bundle& bundle, std::vector<std::shared_ptr<runtime::Device>> devices) {
  const auto made = runtime::Executor::make(bundle, runtime::simulator_factory("functional").value(),
                                            {.threads = 1, .devices = std::move(devices)});
  return made.ok() ? "" : to_string(made.errors());
}
std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("an untrusted bundle runs on the accelerator and the interpreter, and loads no other code") {
  bundle::Bundle plain = test::sample_bundle(), scaled = test::sample_bundle_with_scaler();
  plain.machine_code = scaled.machine_code = bundle::MachineCode::untrusted;
  CHECK(error_of(plain, {}) == "");
  const auto code = std::make_shared<CodeScaler>(true), data = std::make_shared<CodeScaler>(false);
  CHECK_THAT(error_of(scaled, {code}), ContainsSubstring("the bundle contains machine code, in the steps of scaler"));
  CHECK_THAT(error_of(scaled, {data}), ContainsSubstring("the bundle was loaded"));
  bundle::Bundle several = plain;
  several.other_shapes = {scaled};
  CHECK(runtime::machine_code_targets(several, {code}) == std::vector<std::string>{"scaler"});
  CHECK(runtime::machine_code_targets(several, {data}).empty());
  scaled.machine_code = bundle::MachineCode::trusted;
  CHECK_THAT(error_of(scaled, {code}), ContainsSubstring("the bundle was loaded"));

  const auto devices = runtime::built_in_devices({});
  CHECK(runtime::machine_code_targets(plain, devices).empty());
  plain.steps[0].target = "cpu";
  CHECK(runtime::machine_code_targets(plain, devices) == std::vector<std::string>{"cpu"});
}

TEST_CASE("a process that may not execute machine code runs only the accelerator and the interpreter") {
  bundle::Bundle plain = test::sample_bundle(), scaled = test::sample_bundle_with_scaler();
  scaled.machine_code = bundle::MachineCode::trusted;
  const auto code = std::make_shared<CodeScaler>(true), data = std::make_shared<CodeScaler>(false);
  for (const std::string value : {"forbidden", "misspelled"}) {
    const Environment permission(kMachineCodeVariable, value);
    CHECK_FALSE(may_execute_machine_code());
    CHECK(error_of(plain, {}) == "");
    CHECK_THAT(error_of(scaled, {data}), ContainsSubstring("the bundle was loaded"));
    CHECK_THAT(error_of(scaled, {code}), ContainsSubstring("(target scaler): it needs machine code") &&
                                             ContainsSubstring("DOVETAIL_MACHINE_CODE=" + value) &&
                                             ContainsSubstring("the client's certificate lacks the role run-code"));
    CHECK_THAT(to_string(SharedLibrary::load(bytes_of("not a shared object"), "kernels").errors()),
               ContainsSubstring("(kernels): it needs machine code"));
  }
  const Environment permission(kMachineCodeVariable, "allowed");
  CHECK_THAT(error_of(scaled, {code}), ContainsSubstring("the bundle was loaded"));
  CHECK_THAT(to_string(SharedLibrary::load(bytes_of("not a shared object"), "kernels").errors()),
             ContainsSubstring("cannot load the shared object"));
}

TEST_CASE("the record proves which code was recorded, if no other user may write to it") {
  const test::TemporaryFolder folder;
  const Environment state("XDG_STATE_HOME", folder / "state");
  const auto one = bytes_of("one"), two = bytes_of("two");
  const fs::path record = runtime::bundle_record().value();
  CHECK(record == folder / "state/dovetail/compiled-bundles");
  CHECK_THAT(runtime::not_recorded(one).value_or(""), ContainsSubstring("is not in " + record.string()));
  for (int i = 0; i < 3; ++i) REQUIRE(runtime::record_bundle({one}, "a\nb.dvt").ok());
  CHECK_FALSE(runtime::not_recorded(one).has_value());
  CHECK(runtime::not_recorded(two).has_value());
  const std::string text = read_text_file(record).value();
  CHECK_THAT(text, ContainsSubstring(sha256(one) + "  ") && ContainsSubstring("a\\x0ab.dvt\n"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);

  // An incomplete line of a killed writer hides no other line.
  REQUIRE(write_text_file(record, text + sha256(two).substr(0, 40)).ok());
  CHECK(runtime::not_recorded(two).has_value());
  REQUIRE(runtime::record_bundle({two}, "two.dvt").ok());
  CHECK_FALSE(runtime::not_recorded(one).has_value());
  CHECK_FALSE(runtime::not_recorded(two).has_value());

  for (const fs::path& path : {record, record.parent_path()}) {
    fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
    CHECK_THAT(runtime::not_recorded(one).value_or(""), ContainsSubstring("everyone can write to"));
    fs::permissions(path, fs::perms::others_write, fs::perm_options::remove);
  }
  CHECK_FALSE(runtime::not_recorded(one).has_value());
  const Environment nowhere("XDG_STATE_HOME", ""), homeless("HOME", "");
  CHECK_FALSE(runtime::record_bundle({one}, "one.dvt").ok());
  CHECK_THAT(runtime::not_recorded(one).value_or(""), ContainsSubstring("there is no record of compiled bundles"));
}
