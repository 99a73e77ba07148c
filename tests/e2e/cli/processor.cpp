// DOVETAIL_PROCESSOR: one variable for compiler, simulators and runtime.
#include <filesystem>
#include <regex>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/processor.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/environment.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

namespace {

Json doctor() { return parse_json(test::dovetail({"doctor", "--json"}).out, "doctor").value(); }

}  // namespace

TEST_CASE("DOVETAIL_PROCESSOR lowers the class of everything that a command uses") {
  for (const std::string_view name : processor_classes()) {
    if (!runs_here(name)) continue;
    const std::string processor(name);
    CAPTURE(processor);
    const test::Environment cap(kProcessorVariable, processor);
    const Json report = doctor();
    CHECK(report["cpu"] == processor);
    CHECK(report["processor"]["cap"] == processor);
    CHECK(report["processor"]["class"] == machine_class());
    CHECK(report["processor"]["runs"].back() == processor);
    CHECK(report["kernel"] == (processor.starts_with("avx2") || processor == "avx512" ? "avx2"
                               : processor == "baseline"                              ? "baseline"
                                                                                      : "avx512vnni"));
    if (processor != machine_class())
      CHECK_THAT(test::dovetail({"doctor"}).out,
                 ContainsSubstring("DOVETAIL_PROCESSOR=" + processor + ": the machine itself is of class " +
                                   std::string(machine_class())));
    // Code is compiled and runs; code for a higher class is refused where it is to run, not where it is compiled.
    const test::TemporaryFolder folder;
    for (const std::string target : {"cpu", "accel,cpu"}) {
      const Finished run = test::dovetail({"run", test::kDigits, "--target", target, "--check"});
      CHECK_THAT(run.out, ContainsSubstring("all equal"));
    }
    for (const std::string_view above : processor_classes()) {
      const std::string file = folder / "above.dvt";
      const Finished made =
          test::dovetail({"compile", test::kDigits, "--target", "cpu", "--cpu", std::string(above), "-o", file});
      CAPTURE(above, made.error);
      REQUIRE(made.exit == 0);
      const Finished run = test::dovetail({"run", file});
      CHECK(run.exit == (runs_here(above) ? 0 : 2));
      if (run.exit == 0) continue;
      CHECK_THAT(run.error, ContainsSubstring("they are made for the processor class " + std::string(above)));
      CHECK_THAT(run.error, ContainsSubstring("DOVETAIL_PROCESSOR=" + processor));
    }
  }
}

TEST_CASE("DOVETAIL_PROCESSOR: a class above this machine's ends every command with exit code 2") {
  const std::vector<std::string> digits{"run", test::kDigits, "--target", "accel"};
  const test::Environment unknown(kProcessorVariable, "avx3");
  for (const std::vector<std::string>& command : {digits, {"doctor"}, {"hw", "list"}}) {
    const Finished refused = test::dovetail(command);
    CHECK(refused.exit == 2);
    CHECK(refused.out == "");
    CHECK_THAT(
        refused.error,
        ContainsSubstring("invalid value for DOVETAIL_PROCESSOR (avx3): there is no processor class of this name"));
  }
}

// The table of cli/shell/environment_variables.cpp, the table of the page, and the variables that the sources read.
TEST_CASE(
    "every environment variable of the kit is listed by `dovetail --help` and in docs/reference/command-line.md") {
  namespace fs = std::filesystem;
  const fs::path root = DOVETAIL_SOURCE_DIR;
  const auto names_in = [](const std::string& text, const std::regex& pattern) {
    std::set<std::string> names;
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) names.insert((*at)[1]);
    return names;
  };
  std::set<std::string> asked;
  for (const char* folder :
       {"base", "isa", "loops", "bundle", "simulator", "compiler", "runtime", "explore", "remote", "cli"})
    for (const fs::directory_entry& file : fs::recursive_directory_iterator(root / folder)) {
      if (file.path().filename() == "environment_variables.cpp") continue;
      if (file.path().extension() != ".cpp" && file.path().extension() != ".h") continue;
      // The variables of tests are in docs/reference/trust-and-limits.md.
      asked.merge(names_in(read_text_file(file.path().string()).value(), std::regex("\"(DOVETAIL_(?!TEST)[A-Z_]+)\"")));
    }
  CHECK(asked.contains("DOVETAIL_PROCESSOR"));
  CHECK(names_in(test::dovetail({"--help"}).out, std::regex("\n  (DOVETAIL_[A-Z_]+) ")) == asked);
  CHECK(names_in(read_text_file((root / "docs" / "reference" / "command-line.md").string()).value(),
                 std::regex("\n\\| `(DOVETAIL_[A-Z_]+)`")) == asked);
}
