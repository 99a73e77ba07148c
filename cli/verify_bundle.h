// isa/verify over the programs of a bundle, each with its memory image.
#pragma once

#include <string>

#include "base/result.h"
#include "bundle/bundle.h"

namespace dovetail::cli {

struct VerifiedBundle {
  Diagnostics problems;  // empty: every program is clean
  std::string summary;   // "2 programs, 310 instructions: no race, ..."
};
VerifiedBundle verify_programs(const bundle::Bundle& bundle);

}  // namespace dovetail::cli
