#include "base/kit_folder.h"

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>

#include <dlfcn.h>
#include <link.h>

#include "base/user_folder.h"

namespace dovetail {

namespace {

namespace fs = std::filesystem;

bool holds_a_kit(const fs::path& prefix) {
  std::error_code ignored;
  return fs::is_directory(prefix / "share" / "dovetail", ignored);
}

// The prefix of PREFIX/bin/dovetail on the PATH, with links resolved.
std::optional<fs::path> prefix_on_path() {
  const std::string folders = environment("PATH").value_or("");
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const fs::path folder = folders.substr(begin, end - begin);
    begin = end + 1;
    std::error_code ignored;
    if (!folder.is_absolute()) continue;
    const fs::path program = fs::canonical(folder / "dovetail", ignored);
    if (program.empty()) continue;
    const fs::path prefix = program.parent_path().parent_path();
    if (holds_a_kit(prefix)) return prefix;
  }
  return std::nullopt;
}

// The prefix of the shared library that contains this code: PREFIX/lib/libdovetail.so.1, or a folder below lib/.
std::optional<fs::path> prefix_of_library() {
  Dl_info own{};
  link_map* object = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&holds_a_kit), &own, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) ==
      0)
    return std::nullopt;
  if (object == nullptr || *object->l_name == '\0') return std::nullopt;  // in the program itself
  std::error_code ignored;
  const fs::path file = fs::canonical(object->l_name, ignored);
  for (fs::path folder = file.parent_path(); folder != folder.root_path(); folder = folder.parent_path())
    if (holds_a_kit(folder)) return folder;
  return std::nullopt;
}

}  // namespace

fs::path kit_prefix() {
  if (const auto given = environment("DOVETAIL_PREFIX")) return *given;
  if (const auto of_library = prefix_of_library()) return *of_library;
  std::error_code ignored;
  const fs::path own = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  if (holds_a_kit(own)) return own;
  return prefix_on_path().value_or(own);
}

bool kit_is_a_build() {
  std::error_code ignored;
  return fs::exists(kit_prefix() / "CMakeCache.txt", ignored);
}

}  // namespace dovetail
