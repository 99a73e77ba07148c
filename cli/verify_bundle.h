// What only the targets of a bundle's steps can check: their code, and the programs of accelerators.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "bundle/bundle.h"

namespace dovetail::cli {

// The code of the kit's own targets (runtime::check_code). `path` names the bundle in diagnostics.
Result<void> check_code(const bundle::Bundle& bundle, std::string_view path);
// bundle::read_bundle and the code too.
Result<bundle::Bundle> read_checked_bundle(const std::string& path);

struct VerifiedBundle {
  Diagnostics problems;  // empty: every program is clean
  std::string summary;   // "2 programs, 310 instructions: no race, ..."
};
// isa/verify over the accelerator's programs, each with its memory image.
Result<VerifiedBundle> verify_programs(const bundle::Bundle& bundle);

}  // namespace dovetail::cli
