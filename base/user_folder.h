// The folders with the kit's files of one user (XDG Base Directory Specification), and whether another user may have
// written a file: code, and the record of trusted code, are never read from other users' files.
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
// The folder's path; it need not exist. Error: the variables are not set. (A folder that others can write to is not
// a safe substitute.)
Result<std::filesystem::path> user_folder(UserFolder kind);

// Creates `path` and its missing parent folders, for this user alone. Error: one cannot be created, or `path` belongs
// to another user.
Result<void> make_private_folder(const std::filesystem::path& path);

// Removes the least recently written files next to `file` until the folder has at most `most_bytes`.
void keep_recent_files(const std::filesystem::path& file, std::uintmax_t most_bytes);

// Why a user other than this one and root may have created or changed this file or folder: its owner, or its write
// permissions. nullopt: no such user can have, or it does not exist. A group whose number equals the user's counts as
// this user.
std::optional<std::string> other_hands(const std::filesystem::path& path);

}  // namespace dovetail
