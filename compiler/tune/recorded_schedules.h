// Schedules recorded by tuning, in the form that a compiler requests (--records).
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

// Opens the database and looks up schedules in it. `machines`: for each target, the machines whose measurements are
// used; the first with a record of the task (Measurer::machine).
Result<schedule::FindRecorded> recorded_schedules(const std::string& path,
                                                  std::map<std::string, std::vector<std::string>> machines);

}  // namespace dovetail::tune
