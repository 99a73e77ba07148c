// What only the targets of a bundle's steps can check: their code, and the programs of accelerators.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "bundle/bundle.h"

namespace dovetail::cli {

// The code of the kit's own targets (runtime::check_code). `path` names the bundle in diagnostics.
Result<void> check_code(const bundle::Bundle& bundle, std::string_view path);
// Of the commands that run bundles.
inline constexpr std::string_view kTrustHelp =
    "run the machine code of a bundle that `dovetail compile` did not write for you: it can do all that you can";

// bundle::read_bundle and the code too; a bundle to run. Its machine code is trusted where the user says so
// (--trust), or this user's compiler has written the file (runtime/machine_code.h). Error, among others: it has machine
// code that is not trusted.
Result<bundle::Bundle> read_bundle_to_run(const std::string& path, bool user_trusts);

struct VerifiedBundle {
  Diagnostics problems;  // empty: every program is clean
  std::string summary;   // "2 programs, 310 instructions: no race, ..."
};
// isa/verify over the accelerator's programs, each with its memory image.
Result<VerifiedBundle> verify_programs(const bundle::Bundle& bundle);

}  // namespace dovetail::cli
