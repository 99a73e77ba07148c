// Bundles from files: whether they may run, for what they were made, and what only the targets of their steps can
// check.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"

namespace dovetail::driver {

// The file is a bundle, by its name; else it is taken for a model. Error: it has the first bytes of a bundle and
// another name. Only what is named .dvt is loaded as code.
Result<bool> is_bundle_file(const std::string& path);

// The code of the kit's own targets (runtime::check_code). `path` names the bundle in diagnostics.
Result<void> check_code(const bundle::Bundle& bundle, std::string_view path);
// bundle::read_bundle and the code too; a bundle to run. Its machine code is trusted where the user says so, or this
// user's compiler has written the file (runtime/machine_code.h). Error, among others: it has machine code that is not
// trusted.
Result<bundle::Bundle> read_bundle_to_run(const std::string& path, bool user_trusts);

// Error: a step that runs on none of the targets, and on none that takes what others leave, which may be all.
Result<void> check_made_for_targets(const bundle::Bundle& bundle, const std::string& path,
                                    const std::vector<std::string>& targets);
// Error: a step of the accelerator that is made for another configuration.
Result<void> check_made_for_hardware(const bundle::Bundle& bundle, const std::string& path,
                                     const std::string& hardware);

struct VerifiedBundle {
  Diagnostics problems;  // empty: every program is clean
  std::string summary;   // "2 programs, 310 instructions: no race, ..."
};
// isa/verify over the accelerator's programs, each with its memory image.
Result<VerifiedBundle> verify_programs(const bundle::Bundle& bundle);

}  // namespace dovetail::driver
