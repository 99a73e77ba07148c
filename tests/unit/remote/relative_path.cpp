#include "remote/relative_path.h"

#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace dovetail::remote {

TEST_CASE("remote: names of files are below a folder") {
  const std::filesystem::path folder = "/jobs/1";
  CHECK(path_below(folder, "a/b.npy").value() == "/jobs/1/a/b.npy");
  for (const std::string& path :
       {std::string(), std::string("/etc/passwd"), std::string(".."), std::string("a/../../b"), std::string("./a"),
        std::string("a/"), std::string(600, 'a'), std::string("a\0b", 3)}) {
    INFO(path);
    CHECK_FALSE(path_below(folder, path).ok());
  }
}

TEST_CASE("remote: links on the way to a file are seen") {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "a");
  std::filesystem::create_directory_symlink("/etc", folder / "b");
  CHECK_FALSE(has_link(folder.path(), "a/passwd"));
  CHECK(has_link(folder.path(), "b/passwd"));
}

}  // namespace dovetail::remote
