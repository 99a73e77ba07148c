// Reads bundles from files, and checks their code, whether they may run, and for which targets and hardware they were
// compiled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"

namespace dovetail::driver {

// Whether the file is a bundle, by its name; any other file is read as a model. Error: the file begins like a bundle,
// but its name does not end in .dvt. Only files named .dvt are loaded as code.
Result<bool> is_bundle_file(const std::string& path);

// Checks the code of the kit's own targets (runtime::check_code). `path` names the bundle in diagnostics.
Result<void> check_code(const bundle::Bundle& bundle, std::string_view path);
// Reads a bundle to run it, and checks its code. Its machine code is trusted if the user says so, or if this user's
// compiler wrote the file (runtime/machine_code.h). Errors include: it has machine code that is not trusted.
Result<bundle::Bundle> read_bundle_to_run(const std::string& path, bool user_trusts);

// Error: a step runs neither on one of the targets nor on a fallback target.
Result<void> check_made_for_targets(const bundle::Bundle& bundle, const std::string& path,
                                    const std::vector<std::string>& targets);
// Error: a step of the accelerator was compiled for another configuration.
Result<void> check_made_for_hardware(const bundle::Bundle& bundle, const std::string& path,
                                     const std::string& hardware);

struct VerifiedBundle {
  Diagnostics problems;  // empty: every program is clean
  std::string summary;   // "2 programs, 310 instructions: no race, ..."
};
// Verifies the accelerator's programs (isa/verify), each with its memory image.
Result<VerifiedBundle> verify_programs(const bundle::Bundle& bundle);

}  // namespace dovetail::driver
