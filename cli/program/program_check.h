// The static verifier's findings on a program, as text and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include "base/json.h"
#include "cli/program/program_input.h"
#include "cli/program/source_lines.h"
#include "isa/verify.h"

namespace dovetail::cli {

isa::VerifyReport verify_input(const ProgramInput& input);

// A paragraph for each finding, then their number; with source lines if they are known.
std::string findings_text(const isa::VerifyReport& report, const SourceLines& source, std::size_t instructions);
Json findings_json(const isa::VerifyReport& report, const SourceLines& source);

}  // namespace dovetail::cli
