
#include <fmt/format.h>

#include "cli/commands/all.h"
#include "cli/report/describe.h"
#include "cli/report/text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "driver/value_text.h"

namespace dovetail::cli {

namespace {

class Inspect : public Command {
 public:
  void declare(Options& options) override {
    options.positional(
        "FILE", file_,
        "a bundle, .npy, .npz, hardware or report JSON, page of a run, database of records, ONNX model or tensor, "
        "assembly, raw program",
        Need::required, File::read);
    options.value("--hw", "CONFIG", hardware_, fmt::format("for raw programs: {}", kHardwareHelp), File::read);
    options.json(json_);
    options.footer("Example: dovetail inspect digits.dvt");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const Description description, describe(file_, hardware_));
    if (json_) print_json(description.json);
    else print("file          {}, {}\n{}", file_, driver::bytes_text(description.bytes), description.text);
    return Exit::success;
  }

 private:
  std::string file_;
  std::optional<std::string> hardware_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_inspect() { return std::make_unique<Inspect>(); }

}  // namespace dovetail::cli
