#include "cli/program/program_check.h"

#include <utility>

#include <fmt/format.h>

#include "base/diagnostic.h"

namespace dovetail::cli {

isa::VerifyReport verify_input(const ProgramInput& input) {
  isa::VerifyOptions options;
  options.launches = input.launches;
  if (input.has_image) options.dram = isa::DramImage{input.dram.base, input.dram.bytes};
  options.program_base = input.program_base;
  options.offset = input.offset;
  return isa::verify(input.machine.hardware, input.program, options);
}

std::string findings_text(const isa::VerifyReport& report, const SourceLines& source, std::size_t instructions) {
  std::string lines;
  for (const isa::Finding& finding : report.findings)
    lines += source.cite(to_string(finding.diagnostic,
                                   fmt::format("{}{}", finding.possible ? "possible " : "", name(finding.kind)))) +
             "\n";
  const std::size_t count = report.findings.size() + report.suppressed;
  lines += fmt::format("{} finding{} in {} instructions", count, count == 1 ? "" : "s", instructions);
  if (report.suppressed > 0) lines += fmt::format(", {} of them not described", report.suppressed);
  return lines + "\n";
}

Json findings_json(const isa::VerifyReport& report, const SourceLines& source) {
  const auto line_json = [&](std::optional<std::size_t> instruction) {
    const auto line = instruction ? source.of(*instruction) : std::nullopt;
    return line ? Json(*line) : Json(nullptr);
  };
  Json findings = Json::array();
  for (const isa::Finding& finding : report.findings) {
    const Diagnostic& diagnostic = finding.diagnostic;
    Json json{{"kind", name(finding.kind)},
              {"instruction", finding.instruction},
              {"other", finding.other ? Json(*finding.other) : Json(nullptr)},
              {"possible", finding.possible},
              {"what", diagnostic.what},
              {"where", diagnostic.where},
              {"why", diagnostic.why},
              {"hint", diagnostic.hint}};
    if (!source.lines.empty()) {
      json["source"] = line_json(finding.instruction);
      json["other_source"] = line_json(finding.other);
    }
    findings.push_back(std::move(json));
  }
  return {{"kind", "check"}, {"clean", report.clean()}, {"findings", findings}, {"suppressed", report.suppressed}};
}

}  // namespace dovetail::cli
