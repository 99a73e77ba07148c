// The report of `dovetail soc run`.
#pragma once

#include <string>

#include "base/json.h"
#include "driver/soc.h"

namespace dovetail::cli {

struct SocFacts {
  const driver::SocRun& run;
  std::string model, engine, wait;  // wait: as on the command line
};

std::string soc_text(const SocFacts& facts);
Json soc_json(const SocFacts& facts);

}  // namespace dovetail::cli
