#include "runtime/device/cuda/find_library.h"

#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/user_folder.h"

namespace dovetail::runtime::cuda {

namespace {

std::vector<std::string> candidates(const LibraryNames& names) {
  if (const auto given = environment(names.variable)) return {*given};
  std::vector<std::string> paths(names.files.begin(), names.files.end());  // searched by the loader
  std::vector<std::filesystem::path> folders;
  if (const auto toolkit = environment("CUDA_PATH")) folders.push_back(std::filesystem::path(*toolkit) / "lib64");
  folders.emplace_back("/usr/local/cuda/lib64");
  if (const auto cache = user_folder(UserFolder::cache); cache.ok() && !other_hands(*cache / "cuda"))
    folders.push_back(*cache / "cuda" / "nvidia" / names.folder / "lib");
  for (const auto& folder : folders)
    for (const std::string_view file : names.files) paths.push_back((folder / file).string());
  return paths;
}

}  // namespace

Result<std::string> find_library(const LibraryNames& names,
                                 const std::function<std::string(const SharedLibrary&)>& bind) {
  std::string why;
  for (const std::string& path : candidates(names)) {
    auto library = SharedLibrary::open(path);
    if (!library.ok()) {
      if (why.empty()) why = library.errors().front().why;
      continue;
    }
    if (const std::string lacks = bind(*library); !lacks.empty()) {
      why = fmt::format("{} {}", path, lacks);
      continue;
    }
    library->keep();  // its threads and handles outlive this object
    return path;
  }
  return Diagnostic{fmt::format("cannot run with {}", names.title), std::string(names.files.front()),
                    fmt::format("the library is not on this machine: {}", why),
                    fmt::format("`pip3 install --target ~/.cache/dovetail/cuda {}` installs it; or set {} to the "
                                "file's path, or remove {} from --target",
                                names.wheel, names.variable, names.target)};
}

}  // namespace dovetail::runtime::cuda
