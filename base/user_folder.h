// The folders that hold the kit's files of one user (XDG Base Directory Specification), and whether another user can
// have written a file: code, and the record of trusted code, are never taken from other users.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace dovetail {

// The value of an environment variable; nullopt: not set, or empty.
std::optional<std::string> environment(const char* name);

enum class UserFolder {
  cache,  // files that can be made again: $XDG_CACHE_HOME/dovetail, or ~/.cache/dovetail
  state   // persistent state: $XDG_STATE_HOME/dovetail, or ~/.local/state/dovetail
};
// Its path; it need not exist. Error: the variables are not set, and a folder that others can write to is not a
// substitute.
Result<std::filesystem::path> user_folder(UserFolder kind);

// Creates `path` and its missing parent folders, for this user alone. Error: one cannot be created, or `path` belongs
// to another user.
Result<void> make_private_folder(const std::filesystem::path& path);

// Removes the least recently written files of the folder of `file`, except `file`, while all exceed `most_bytes`.
void keep_recent_files(const std::filesystem::path& file, std::uintmax_t most_bytes);

// Why a user other than this one and root may have created or changed this file or folder: its owner, or its write
// permissions. nullopt: no such user can have, or it does not exist. A group whose number equals the user's counts as
// the user's own.
std::optional<std::string> other_hands(const std::filesystem::path& path);

}  // namespace dovetail
