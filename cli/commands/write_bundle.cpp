#include "cli/commands/write_bundle.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "bundle/format.h"
#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "driver/value_text.h"
#include "runtime/device/all.h"
#include "runtime/machine_code.h"

namespace dovetail::cli {

Result<void> check_bundle_name(const std::string& path, std::string_view command) {
  if (path == kStandardStream || path.ends_with(bundle::kFileExtension)) return {};
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return {};  // a device, a pipe
  return Diagnostic{
      fmt::format("bad usage of `dovetail {}`", command), "-o",
      fmt::format("{} does not end in {}, so `dovetail run` would read it as a model", path, bundle::kFileExtension),
      fmt::format("name the file {}{}", path, bundle::kFileExtension)};
}

Result<void> write_bundle(const bundle::Bundle& bundle, const std::string& path) {
  DOVETAIL_TRY(bundle::verify(bundle));
  const bundle::Serialized file = bundle::serialize_in_pieces(bundle);
  DOVETAIL_TRY(write_result_file(path, file.pieces));
  print("bundle        {}, {}\n", path, driver::bytes_text(file.size()));
  std::error_code error;
  if (path != kStandardStream && !std::filesystem::is_regular_file(path, error)) return {};
  if (runtime::machine_code_targets(bundle, runtime::built_in_devices({})).empty()) return {};
  if (const auto recorded = runtime::record_bundle(file.pieces, path); !recorded.ok())
    print("note          running it needs --trust, since it is not recorded: {}\n",
          to_string(recorded.errors().front(), "the record"));
  return {};
}

}  // namespace dovetail::cli
