// The capabilities of this build on this machine, for `dovetail doctor` and the C interface.
#pragma once

#include <string>

#include "base/json.h"

namespace dovetail::cli {

std::string doctor_text();
Json doctor_json();  // "kind": "doctor"

}  // namespace dovetail::cli
