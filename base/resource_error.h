// The machine has run out of a resource, detected where no Result can be returned: in a constructor, in a callback.
// Like std::bad_alloc it propagates through all code that does not expect it.
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
