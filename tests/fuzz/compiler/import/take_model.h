// What every model, however damaged, is put through: import, all graph passes, all printers.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace dovetail::test {

struct Taken {
  bool imported = false, compiled = false;
  std::string
      broken;  // which promise was broken: a diagnostic without words, a graph that does not verify; empty if none
};

// Throws InternalError where the kit itself fails. Precondition of a quick answer: none, that is the point.
Taken take_model(std::span<const std::byte> bytes);

}  // namespace dovetail::test
