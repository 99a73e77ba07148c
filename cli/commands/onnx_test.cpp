#include "driver/onnx_test.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/text_table.h"
#include "cli/commands/all.h"
#include "cli/report/text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/model_arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/progress.h"
#include "driver/compile_model.h"
#include "explore/measure/child.h"

namespace dovetail::cli {
namespace {

constexpr driver::OnnxVerdict kVerdicts[] = {driver::OnnxVerdict::passed, driver::OnnxVerdict::refused,
                                             driver::OnnxVerdict::wrong, driver::OnnxVerdict::failed};
using Counts = std::map<driver::OnnxVerdict, int>;

Json to_json(const Counts& counts) {
  Json json = Json::object();
  for (const driver::OnnxVerdict verdict : kVerdicts) {
    const auto found = counts.find(verdict);
    json[std::string(name(verdict))] = found == counts.end() ? 0 : found->second;
  }
  return json;
}

class OnnxTest : public Command {
 public:
  void declare(Options& options) override {
    options.positionals("DIR", folders_, "folders with a model.onnx, or folders that contain such folders");
    model_.declare_target(options);
    options.value("--list", "FILE", list_, "run only the tests whose names this file contains (test_ may be left out)",
                  File::read);
    options.value("--timeout", "SECONDS", timeout_, "time limit of each test (default 60)");
    options.flag("--compile-only", compile_only_, "run nothing: a test passes if its model compiles");
    options.flag("--failures", failures_, "do not print the tests that pass");
    options.json(json_, "print JSON: each test, and totals by operator");
    options.footer(
        "Runs tests in the format of the ONNX backend tests (model.onnx, test_data_set_*/input_*.pb and output_*.pb) "
        "with "
        "its runner's tolerances:\n"
        "relative 1e-3, absolute 1e-7, or those of the test's data.json. refused: import or compilation reports why; "
        "wrong: an output differs;\n"
        "failed: anything else. Inputs whose values are needed at compile time are constants. Exit code 1 unless all "
        "pass.\n"
        "--list reads names separated by spaces or lines; a line may begin with \"GROUP (N):\"; # begins a "
        "comment.\n"
        "Example: dovetail onnx-test onnx/backend/test/data/node --target cpu");
  }

  Result<Exit> run() override {
    if (folders_.empty())
      return Diagnostic{"bad usage of `dovetail onnx-test`", "", "no folder is given", "name one or more folders"};
    if (!model_.targets)
      return Diagnostic{"bad usage of `dovetail onnx-test`", folders_.front(), "no target is given",
                        "add --target host, or cpu, or accel,cpu"};
    DOVETAIL_ASSIGN(options_, model_.parse());
    DOVETAIL_TRY(check_target_apart());
    DOVETAIL_ASSIGN(const std::int64_t timeout, parse_count("--timeout", timeout_, 1, 86'400));
    DOVETAIL_ASSIGN(std::vector<std::filesystem::path> tests, driver::find_onnx_tests(folders_));
    if (list_) DOVETAIL_TRY(keep_listed(tests));
    options_.threads = 1;  // the tests are small
    ProgressLine progress;
    driver::OnnxTestProcess process(options_,
                                    compile_only_ ? driver::OnnxRun::not_at_all : driver::OnnxRun::on_each_data_set,
                                    static_cast<int>(timeout), [] { flush_output(); });
    for (const std::filesystem::path& test : tests) {
      driver::OnnxTestResult result = process.run(test);
      progress.end();  // before lines of tests are printed
      add(std::move(result));
      progress.count(fmt::format("{} tests", tests.size()), static_cast<double>(results_.size()),
                     static_cast<double>(tests.size()));
    }
    progress.end();
    if (json_) print_json(report());
    else print("{}", totals());
    return counts_[driver::OnnxVerdict::passed] == static_cast<int>(tests.size()) ? Exit::success : Exit::failed;
  }

 private:
  // Checks the targets in a child process: tests run in children, which cannot use a GPU's driver that this process
  // used.
  Result<void> check_target_apart() const {
    DOVETAIL_ASSIGN(const explore::ChildEnd end, explore::call_in_child([&] {
                      return std::vector<std::byte>(check_target_options(options_).ok() ? 1 : 0);
                    }));
    const bool ok = end.ending == explore::ChildEnding::returned && !end.answer.empty();
    return ok ? Result<void>() : check_target_options(options_);
  }
  Result<void> keep_listed(std::vector<std::filesystem::path>& tests) {
    DOVETAIL_ASSIGN(const std::string text, read_text_file(*list_));
    const std::set<std::string> names = driver::parse_test_names(text);
    std::erase_if(tests, [&](const auto& test) { return !driver::holds_test(names, test.filename().string()); });
    listed_ = names.size();
    if (tests.empty())
      return Diagnostic{"cannot find tests", *list_,
                        fmt::format("none of the {} names in the list is a test in the folders", names.size()),
                        "give names of test folders, one per line"};
    return {};
  }

  void add(driver::OnnxTestResult result) {
    ++counts_[result.verdict];
    for (const std::string& op : result.operators) ++by_operator_[op][result.verdict];
    if (!json_ && !(failures_ && result.verdict == driver::OnnxVerdict::passed))
      print("{:8} {}{}{}\n", name(result.verdict), result.test, result.reason.empty() ? "" : ": ", result.reason);
    results_.push_back(std::move(result));
  }

  std::string totals() {
    const auto count = [&](driver::OnnxVerdict verdict) { return counts_[verdict]; };
    std::string text = fmt::format("total    {} tests: {} passed, {} refused, {} wrong, {} failed\n", results_.size(),
                                   count(driver::OnnxVerdict::passed), count(driver::OnnxVerdict::refused),
                                   count(driver::OnnxVerdict::wrong), count(driver::OnnxVerdict::failed));
    if (listed_ > results_.size())
      text += fmt::format("note     the list has {} names; the folders contain {} of them\n", listed_, results_.size());
    return text;
  }

  Json report() const {
    Json tests = Json::array(), operators = Json::object();
    for (const driver::OnnxTestResult& result : results_)
      tests.push_back({{"test", result.test},
                       {"verdict", name(result.verdict)},
                       {"reason", result.reason},
                       {"operators", result.operators},
                       {"ran_on", result.ran_on},
                       {"kernels", result.kernels}});
    for (const auto& [op, counts] : by_operator_) operators[op] = to_json(counts);
    return {{"kind", "onnx-test"},
            {"targets", *model_.targets},
            {"totals", to_json(counts_)},
            {"operators", operators},
            {"tests", tests}};
  }

  ModelArguments model_;
  driver::ModelOptions options_;
  std::vector<std::string> folders_;
  std::optional<std::string> list_;
  std::string timeout_ = "60";
  bool compile_only_ = false, failures_ = false, json_ = false;
  std::vector<driver::OnnxTestResult> results_;
  Counts counts_;
  std::map<std::string, Counts> by_operator_;
  std::size_t listed_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_onnx_test() { return std::make_unique<OnnxTest>(); }

}  // namespace dovetail::cli
