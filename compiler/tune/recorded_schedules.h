// Schedules that tuning has recorded, as a compiler asks for them (--records).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/schedule/recorded.h"
#include "compiler/tune/records.h"

namespace dovetail::tune {

// Opens the database and answers from it. `machines`: of each target, whose measurements count, the first that has one
// of a task (Measurer::machine).
Result<schedule::FindRecorded> recorded_schedules(const std::string& path,
                                                  std::map<std::string, std::vector<std::string>> machines);

}  // namespace dovetail::tune
