// Processes every model, however damaged: import, all graph passes, all printers.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace dovetail::test {

struct Taken {
  bool imported = false, compiled = false;
  std::string broken;  // the broken promise: a diagnostic with an empty part, a graph that does not verify; empty: none
};

// Throws InternalError where the kit itself fails. Must be fast for any bytes.
Taken take_model(std::span<const std::byte> bytes);

}  // namespace dovetail::test
