
#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/commands/all.h"
#include "cli/output.h"
#include "cli/program_file.h"
#include "cli/text.h"
#include "isa/verify.h"

namespace dovetail::cli {

namespace {

class Check : public Command {
 public:
  void declare(Options& options) override {
    options.positional("PROGRAM.bin", program_, "raw instructions, 16 bytes each (32 in the wide encoding)");
    options.value("--hw", "CONFIG", hardware_, kHardwareHelp, Need::required);
    options.value("--dram", "IN.bin", dram_,
                  "the memory image, which holds the micro-ops; without it GEMM and ALU may touch\n"
                  "anything, and findings say «possible»");
    options.value("--dram-base", "ADDR", dram_base_, "physical address of the image's first byte (default 0)");
    options.value("--program-base", "ADDR", program_base_, "physical address of the program, if a STORE may reach it");
    options.values("--launch", "BEGIN:COUNT", launches_,
                   "these instructions run to completion; repeatable (default: one launch of all)");
    options.flag("--json", json_, "print the findings as JSON");
    options.footer(
        "Exit codes: 0 clean, 1 findings, 2 the program cannot be read.\n"
        "Example: dovetail check p.bin --hw 1x16x16 --dram in.bin --dram-base 4096");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const auto config, isa::load_config(hardware_));
    DOVETAIL_ASSIGN(const auto program, read_program(program_, config));
    DOVETAIL_ASSIGN(const auto launches, parse_launches(launches_, program.size()));
    if (dram_base_ && !dram_)
      return Diagnostic{"bad usage of `dovetail check`", "--dram-base", "there is no --dram for it to place",
                        "add --dram IN.bin"};
    isa::VerifyOptions options;
    options.launches = launches;
    std::vector<std::byte> image;
    if (dram_) {
      DOVETAIL_ASSIGN(const std::uint64_t base, parse_address("--dram-base", dram_base_.value_or("0")));
      DOVETAIL_ASSIGN(image, read_image(*dram_, base, config));
      options.dram = isa::DramImage{base, image};
    }
    if (program_base_) {
      DOVETAIL_ASSIGN(options.program_base, parse_address("--program-base", *program_base_));
    }

    const isa::VerifyReport report = isa::verify(config, program, options);
    print("{}", json_ ? json_text(to_json(report)) : text(report, program.size()));
    if (report.clean()) return Exit::success;
    // The findings are this command's output; stderr gets the first, as every failure does.
    return fail(Exit::failed, {report.findings.front().diagnostic});
  }

 private:
  static Json to_json(const isa::VerifyReport& report) {
    Json findings = Json::array();
    for (const isa::Finding& finding : report.findings) {
      const Diagnostic& diagnostic = finding.diagnostic;
      findings.push_back({{"kind", name(finding.kind)},
                          {"instruction", finding.instruction},
                          {"other", finding.other ? Json(*finding.other) : Json(nullptr)},
                          {"possible", finding.possible},
                          {"what", diagnostic.what},
                          {"where", diagnostic.where},
                          {"why", diagnostic.why},
                          {"hint", diagnostic.hint}});
    }
    return {{"kind", "check"}, {"clean", report.clean()}, {"findings", findings}, {"suppressed", report.suppressed}};
  }

  std::string text(const isa::VerifyReport& report, std::size_t instructions) const {
    if (report.clean())
      return fmt::format(
          "clean         {}, {} instructions: no race, no deadlock, no leftover token, no undefined read{}\n", program_,
          instructions, dram_ ? "" : " (without an image, micro-ops unknown)");
    std::string lines;
    for (const isa::Finding& finding : report.findings)
      lines +=
          to_string(finding.diagnostic, fmt::format("{}{}", finding.possible ? "possible " : "", name(finding.kind))) +
          "\n";
    const std::size_t count = report.findings.size() + report.suppressed;
    lines += fmt::format("{} finding{} in {} instructions", count, count == 1 ? "" : "s", instructions);
    if (report.suppressed > 0) lines += fmt::format(", {} of them not described", report.suppressed);
    return lines + "\n";
  }

  std::string program_, hardware_;
  std::optional<std::string> dram_, dram_base_, program_base_;
  std::vector<std::string> launches_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_check() { return std::make_unique<Check>(); }

}  // namespace dovetail::cli
