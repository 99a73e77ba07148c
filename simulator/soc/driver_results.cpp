#include "simulator/soc/driver_results.h"

#include <dovetail_driver.h>

namespace dovetail::simulator::soc {

std::string_view driver_result(int result) {
  switch (result) {
    case DOVETAIL_NO_DEVICE: return "no_device";
    case DOVETAIL_OTHER_VERSION: return "other_version";
    case DOVETAIL_OTHER_CONFIG: return "other_config";
    case DOVETAIL_BUSY: return "busy";
    case DOVETAIL_LAUNCH_FAILED: return "launch_failed";
    case DOVETAIL_TIMED_OUT: return "timed_out";
    case DOVETAIL_BAD_MEMORY: return "bad_memory";
    case DOVETAIL_BAD_ARENA: return "bad_arena";
    case DOVETAIL_BAD_POSITION: return "bad_position";
    default: return "";
  }
}

}  // namespace dovetail::simulator::soc
