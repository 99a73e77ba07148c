// The report of `dovetail profile`, as text and as JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "cli/report/text.h"
#include "driver/profile.h"
#include "driver/session.h"

namespace dovetail::cli {

std::string profile_text(const driver::Session& session, const driver::Profile& profile, Amount amount);
Json profile_json(const driver::Session& session, const driver::Profile& profile);  // "kind": "profile"

}  // namespace dovetail::cli
