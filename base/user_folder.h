// The folders that hold what the kit keeps for one user (XDG Base Directory Specification), and whether a file can have
// come from anyone else: code, and the record of the code that is trusted, is taken from no other hands.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace dovetail {

// An environment variable; nullopt: not set, or empty.
std::optional<std::string> environment(const char* name);

enum class UserFolder {
  cache,  // what can be made again: $XDG_CACHE_HOME/dovetail, or ~/.cache/dovetail
  state   // what the kit remembers: $XDG_STATE_HOME/dovetail, or ~/.local/state/dovetail
};
// Its path; it need not exist. Error: the variables say nothing, and no folder that others write to takes its place.
Result<std::filesystem::path> user_folder(UserFolder kind);

// Makes `path` and the folders above it that are missing, for this user alone. Error: one cannot be made, or `path` is
// of other hands.
Result<void> make_private_folder(const std::filesystem::path& path);

// Why somebody other than this user and root may have put this file or folder there, or changed it: its owner, or who
// may write to it. nullopt: nobody may, or it is not there. A group of the user's own number is the user's own.
std::optional<std::string> other_hands(const std::filesystem::path& path);

}  // namespace dovetail
