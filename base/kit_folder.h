// Locates the kit's own files: those installed with it. A build folder is laid out like an installed kit, so no program
// of the kit contains a path of the machine that it was built on, and an installed kit may be moved.
#pragma once

#include <filesystem>

namespace dovetail {

// The folder with bin/dovetail, lib/dovetail (engines and models, loaded at run time) and share/dovetail (the design,
// examples, tables). Candidates in order: the folder that DOVETAIL_PREFIX names; the one with the shared library of the
// C interface, if this code is in it; the one that this program was installed or built in; that of the `dovetail` on
// the PATH, for a user's program. If none of them contains a kit, the program's folder.
std::filesystem::path kit_prefix();

// Whether kit_prefix() is a build folder of the kit.
bool kit_is_a_build();

// The hint of a diagnostic about a missing file of the kit.
inline constexpr const char* kKitHint =
    "let DOVETAIL_PREFIX name the folder that the kit is installed in, or have its bin/ on the PATH";

}  // namespace dovetail
