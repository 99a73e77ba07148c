
#include <fmt/format.h>

#include "cli/commands/all.h"
#include "cli/program/program_check.h"
#include "cli/program/program_input.h"
#include "cli/report/text.h"
#include "cli/shell/output.h"
#include "isa/verify.h"

namespace dovetail::cli {

namespace {

class Check : public Command {
 public:
  void declare(Options& options) override {
    input_.declare(options);
    options.json(json_, "print the findings as JSON");
    options.footer(
        "The image contains the micro-ops. Without an image, GEMM and ALU may access any element, and findings say "
        "«possible».\n"
        "Exit codes: 0 clean, 1 findings, 2 the program cannot be read.\n"
        "Example: dovetail check p.bin --hw 1x16x16 --dram in.bin --dram-base 4096");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const ProgramInput input, read_program_input(input_, "check"));
    const isa::VerifyReport report = verify_input(input);
    if (json_) print_json(findings_json(report, input.source));
    else print("{}", text(report, input));
    if (report.clean()) return Exit::success;
    // All findings go to stdout; the first one also goes to stderr, as for every failure.
    return fail(Exit::failed, input.source.cite({report.findings.front().diagnostic}));
  }

 private:
  std::string text(const isa::VerifyReport& report, const ProgramInput& input) const {
    if (!report.clean()) return findings_text(report, input.source, input.program.size());
    return fmt::format(
        "clean         {}, {} instructions: no race, no deadlock, no leftover token, no undefined read{}\n",
        input_.program, input.program.size(), input.has_image ? "" : " (without an image, micro-ops unknown)");
  }

  ProgramArguments input_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_check() { return std::make_unique<Check>(); }

}  // namespace dovetail::cli
