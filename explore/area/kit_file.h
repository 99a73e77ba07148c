// Errors of the files that the kit's area models are made of.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace dovetail::explore {

inline Diagnostic bad_kit_file(std::string_view where, std::string why) {
  return {"cannot read the kit's area data", std::string(where), std::move(why), "install the kit again"};
}

}  // namespace dovetail::explore
