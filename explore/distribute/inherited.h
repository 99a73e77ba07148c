// The transport of a process that a board of a queue has started: it reaches process 0 through a socket that it
// inherits. A text is preceded by its length, four bytes, the first one least significant.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"
#include "explore/distribute/transport.h"

namespace dovetail::explore {

// The variables that a board sets: the number of the socket, and that the command is to use it.
inline constexpr const char *kInheritedSocket = "DOVETAIL_MESSAGES", *kIsOneOfSeveral = "DOVETAIL_ONE_OF_SEVERAL";

// The longest text that a queue passes on, with room for its frame.
inline constexpr std::size_t kMostTextBytes = 2'000'000;

// Null if no board has started this process, or not as one of several. Error: there is no socket.
Result<std::unique_ptr<Transport>> inherited_transport();

}  // namespace dovetail::explore
