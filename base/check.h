// Internal invariants. A violated one is a bug of the kit, not the user's mistake: it throws InternalError and never
// returns a wrong value.
#pragma once

#include <stdexcept>
#include <string>

namespace dovetail {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void throw_internal_error(const char* file, int line, const char* condition, const std::string& detail);

}  // namespace dovetail

// DOVETAIL_CHECK(condition, "detail with the values at hand"). `detail` is evaluated only on failure.
#define DOVETAIL_CHECK(condition, detail)                                         \
  do {                                                                            \
    if (!(condition)) [[unlikely]]                                                \
      ::dovetail::throw_internal_error(__FILE__, __LINE__, #condition, (detail)); \
  } while (false)
