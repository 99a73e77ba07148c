#include "runtime/machine_code.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file.h"
#include "base/file_lock.h"
#include "base/printable.h"
#include "base/sha256.h"
#include "base/user_folder.h"

namespace dovetail::runtime {

namespace {

// Parses line by line: a partial line of an interrupted writer is skipped, and does not hide others.
bool holds(std::string_view record, std::string_view hash) {
  for (std::size_t begin = 0; begin < record.size();) {
    const std::size_t end = std::min(record.find('\n', begin), record.size());
    if (record.substr(begin, end - begin).starts_with(fmt::format("{}  ", hash))) return true;
    begin = end + 1;
  }
  return false;
}

Result<std::string> read_record(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::string();
  return read_text_file(path);
}

}  // namespace

std::vector<std::string> machine_code_targets(const bundle::Bundle& bundle,
                                              const std::vector<std::shared_ptr<Device>>& devices) {
  std::vector<std::string> targets;
  const auto look = [&](const bundle::Bundle& program) {
    for (const bundle::Step& step : program.steps) {
      const auto device =
          std::ranges::find(devices, step.target, [](const auto& candidate) { return candidate->name(); });
      // Steps of a device's library_targets have no machine code.
      if (device != devices.end() && (*device)->runs_machine_code() &&
          std::ranges::find(targets, step.target) == targets.end())
        targets.push_back(step.target);
    }
  };
  for (const bundle::Bundle* program : bundle::all_programs(bundle)) look(*program);
  return targets;
}

Result<std::filesystem::path> bundle_record() {
  DOVETAIL_ASSIGN(const std::filesystem::path folder, user_folder(UserFolder::state));
  return folder / "compiled-bundles";
}

Result<void> record_bundle(const Pieces& file, const std::filesystem::path& path) {
  DOVETAIL_ASSIGN(const std::filesystem::path record, bundle_record());
  DOVETAIL_TRY(make_private_folder(record.parent_path()));
  DOVETAIL_ASSIGN(const FileLock lock, FileLock::take(record.string() + ".lock"));
  DOVETAIL_ASSIGN(const std::string before, read_record(record));
  const std::string hash = sha256(file);
  if (holds(before, hash)) return {};
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  const std::string line = fmt::format("{}  {}\n", hash, printable((error ? path : absolute).string()));
  // Starts a new line after a partial line of an interrupted writer.
  return append_text_file(record, before.empty() || before.ends_with('\n') ? line : "\n" + line);
}

std::optional<std::string> not_recorded(std::span<const std::byte> bytes) {
  const auto record = bundle_record();
  if (!record.ok()) return fmt::format("there is no record of compiled bundles: {}", record.errors().front().why);
  for (const std::filesystem::path& path : {record->parent_path(), *record})
    if (const auto why = other_hands(path)) return fmt::format("the record of compiled bundles is not used: {}", *why);
  const auto text = read_record(*record);
  if (!text.ok()) return to_string(text.errors().front(), "the record of compiled bundles");
  const std::string hash = sha256(bytes);
  if (holds(*text, hash)) return std::nullopt;
  return fmt::format("the bundle's SHA-256, {}, is not in {}", hash, record->string());
}

}  // namespace dovetail::runtime
