// Where the kit's own files lie: those that it was installed with. A build folder is laid out as an installed kit is,
// so no program of the kit holds a path of the machine that it was built on, and an installed kit may be moved.
#pragma once

#include <filesystem>

namespace dovetail {

// The folder with bin/dovetail, lib/dovetail (engines and models, loaded at run time) and share/dovetail (the design,
// examples, tables): that which DOVETAIL_PREFIX names; that which this program was installed or built in; that of the
// `dovetail` on the PATH, for a user's program. Where none of them holds a kit, that of this program.
std::filesystem::path kit_prefix();

// kit_prefix() is a folder that the kit was built in.
bool kit_is_a_build();

// How a diagnostic ends where a file of the kit is missing.
inline constexpr const char* kKitHint =
    "let DOVETAIL_PREFIX name the folder that the kit is installed in, or have its bin/ on the PATH";

}  // namespace dovetail
