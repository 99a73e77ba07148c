#include "base/check.h"

#include <fmt/format.h>

namespace dovetail {

void throw_internal_error(const char* file, int line, const char* condition, const std::string& detail) {
  throw InternalError(fmt::format("internal error at {}:{}: `{}` is false: {}", file, line, condition, detail));
}

}  // namespace dovetail
