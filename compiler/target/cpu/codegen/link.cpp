#include "compiler/target/cpu/codegen/link.h"

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>

#include <fmt/format.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include "base/check.h"
#include "base/file.h"

LLD_HAS_DRIVER(elf)

namespace dovetail::cpu {

namespace {

// lld reads and writes files: they live in a folder of their own, removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "dovetail-link-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path;
};

}  // namespace

Result<std::vector<std::byte>> link_shared(std::span<const std::vector<std::byte>> objects) {
  const Folder folder;
  if (folder.path.empty())
    return Diagnostic{"cannot link the kernels", std::filesystem::temp_directory_path().string(),
                      "no folder can be made there", "free some space, or set TMPDIR to a folder that can be written"};
  const std::string output = (folder.path / "kernels.so").string();
  std::vector<std::string> names;
  for (const auto& object : objects) {
    names.push_back((folder.path / fmt::format("{}.o", names.size())).string());
    DOVETAIL_TRY(write_file(names.back(), object));
  }
  std::vector<const char*> arguments{"ld.lld",        "-shared", "-o",  output.c_str(),     "--no-undefined",
                                     "--gc-sections", "-z",      "now", "--hash-style=gnu", "--threads=1"};
  for (const std::string& name : names) arguments.push_back(name.c_str());

  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
  const lld::Result result = lld::lldMain(arguments, stream, stream, drivers);
  DOVETAIL_CHECK(result.retCode == 0 && result.canRunAgain, "the kernels' objects link: " + stream.str());
  return read_file(output);
}

}  // namespace dovetail::cpu
