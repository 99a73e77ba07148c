// The command line.
#include <vector>

#include "capi/include/dovetail.h"
#include "cli/shell/command_process.h"

int32_t dvt_command(int32_t count, const char* const* arguments) {
  using dovetail::cli::run_command;
  try {
    std::vector<const char*> given;
    if (arguments != nullptr && count > 0) given.assign(arguments, arguments + count);
    std::erase(given, nullptr);
    if (given.empty()) given.push_back("dovetail");
    return run_command(static_cast<int>(given.size()), given.data(), dovetail::cli::Process::hosts);
  } catch (...) {  // no memory for the message of an error
    return 1;
  }
}
