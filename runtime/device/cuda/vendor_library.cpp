#include "runtime/device/cuda/vendor_library.h"

#include <fmt/format.h>

namespace dovetail::runtime::cuda {

Diagnostic vendor_refusal(const LibraryNames& names, std::string_view action, VendorStatus status, const char* text,
                          Trouble trouble) {
  Diagnostic problem{fmt::format("{} reports an error", names.title), std::string(action),
                     fmt::format("{} ({})", text == nullptr ? "an unknown error" : text, status),
                     fmt::format("remove {} from --target, and report this with `dovetail doctor`", names.target)};
  switch (trouble) {
    case Trouble::other: break;
    case Trouble::not_initialized:
      problem.hint = "check `nvidia-smi`: the driver may be older than the library needs";
      break;
    case Trouble::other_architecture:
      problem.hint = fmt::format(
          "the library has no code for this device: install another version, or remove {} from --target", names.target);
      break;
    case Trouble::no_memory:
      problem.hint = "close other programs that use the device, or run fewer samples at once";
      problem.cause = Cause::resource;
      break;
  }
  return problem;
}

}  // namespace dovetail::runtime::cuda
