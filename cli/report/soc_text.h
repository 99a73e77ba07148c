// The reports of `dovetail soc run` and `dovetail soc boot`.
#pragma once

#include <string>

#include "base/json.h"
#include "driver/soc.h"
#include "driver/soc_boot.h"

namespace dovetail::cli {

struct SocFacts {
  const driver::SocRun& run;
  std::string model, engine, wait;  // wait: as on the command line
};

std::string soc_text(const SocFacts& facts);
Json soc_json(const SocFacts& facts);

struct SocBootFacts {
  const driver::SocBoot& boot;
  std::string program, hardware, engine, memory;
};

std::string soc_boot_text(const SocBootFacts& facts);
Json soc_boot_json(const SocBootFacts& facts);

}  // namespace dovetail::cli
