// The machine has no more of something, noticed where no Result can say so: in a constructor, in a callback. Like
// std::bad_alloc it passes through everything that is not prepared for it.
#pragma once

#include <stdexcept>
#include <utility>

#include "base/diagnostic.h"

namespace dovetail {

class ResourceError : public std::runtime_error {
 public:
  explicit ResourceError(Diagnostic diagnostic)
      : std::runtime_error(to_string(diagnostic)), diagnostic_(std::move(diagnostic)) {
    diagnostic_.cause = Cause::resource;
  }
  const Diagnostic& diagnostic() const { return diagnostic_; }

 private:
  Diagnostic diagnostic_;
};

}  // namespace dovetail
