#include <system_error>

#include "base/child_process.h"
#include "base/resource_error.h"
#include "base/user_folder.h"
#include "simulator/soc/system.h"

namespace dovetail::simulator::soc {

namespace fs = std::filesystem;

Result<fs::path> find_core() {
  constexpr const char* kHint =
      "let DOVETAIL_PICORV32 name the file picorv32.v, for example that of `python3 -m pip install "
      "pythondata-cpu-picorv32`";
  std::error_code ignored;
  if (const auto named = environment("DOVETAIL_PICORV32")) {
    if (fs::is_regular_file(*named, ignored)) return fs::absolute(*named);
    return Diagnostic{"there is no PicoRV32", *named, "DOVETAIL_PICORV32 names no file", kHint};
  }
  DOVETAIL_ASSIGN(const auto found,
                  output_of("exec python3 -c 'import pythondata_cpu_picorv32 as core; print(core.data_location)' "
                            "2>/dev/null"));
  if (found) {
    const fs::path path = fs::path(found->substr(0, found->find('\n'))) / "picorv32.v";
    if (fs::is_regular_file(path, ignored)) return path;
  }
  return Diagnostic{"there is no PicoRV32", "picorv32.v",
                    "DOVETAIL_PICORV32 is not set, and python3 finds no package pythondata_cpu_picorv32", kHint};
}

}  // namespace dovetail::simulator::soc
