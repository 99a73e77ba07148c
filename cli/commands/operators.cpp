#include "cli/commands/all.h"
#include "cli/report/operators_text.h"
#include "cli/report/text.h"
#include "cli/shell/output.h"

namespace dovetail::cli {

namespace {

class Operators : public Command {
 public:
  void declare(Options& options) override {
    options.value("--format", "FORMAT", format_, "markdown (default): the reference docs/gen/operators.md; json")
        .choices({"markdown", "json"});
    options.json(json_, "the same as --format json");
    options.footer("Example: dovetail operators --format json");
  }

  Result<Exit> run() override {
    if (json_) format_ = "json";
    if (format_ == "markdown") {
      DOVETAIL_ASSIGN(const std::string text, operators_markdown());
      write_result(text);
      return Exit::success;
    }
    if (format_ == "json") {
      DOVETAIL_ASSIGN(const Json json, operators_json());
      print_json(json);
      return Exit::success;
    }
    return Diagnostic{"bad value of --format", format_, "there is no format of that name", "formats: markdown, json"};
  }

 private:
  std::string format_ = "markdown";
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_operators() { return std::make_unique<Operators>(); }

}  // namespace dovetail::cli
