#include "base/file.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <sys/stat.h>

#include "base/expected_file.h"
#include "tests/catch.h"
#include "tests/environment.h"
#include "tests/temporary_folder.h"

namespace dovetail {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using test::TemporaryFolder;

TEST_CASE("a written file reads back") {
  const TemporaryFolder folder;
  const std::string text = std::string("one\n\0two", 8) + std::string(200000, 'x');
  REQUIRE(write_text_file(folder / "new/deep/file.txt", text).ok());
  CHECK(*read_text_file(folder / "new/deep/file.txt") == text);
  CHECK(read_file(folder / "new/deep/file.txt")->size() == text.size());
}

TEST_CASE("writing replaces a file and leaves no other file") {
  const TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "a", "long content").ok());
  REQUIRE(write_text_file(folder / "a", "").ok());
  CHECK(read_text_file(folder / "a")->empty());
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("writing through a symbolic link keeps the link") {
  const TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "target", "old").ok());
  fs::create_symlink("target", folder / "link");
  REQUIRE(write_text_file(folder / "link", "new").ok());
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(*read_text_file(folder / "target") == "new");
}

TEST_CASE("devices are written in place") {
  CHECK(write_text_file("/dev/null", "gone").ok());
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(read_text_file("/dev/null")->empty());
}

TEST_CASE("read errors name the path and the reason") {
  const TemporaryFolder folder;
  CHECK_THAT(to_string(read_file(folder / "none").errors()),
             ContainsSubstring("cannot read file") && ContainsSubstring("none") && ContainsSubstring("no such file"));
  CHECK_THAT(to_string(read_file(folder.path()).errors()), ContainsSubstring("the path is a directory"));
}

TEST_CASE("the size limit holds, also where the size is not known in advance") {
  const TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "five", "12345").ok());
  CHECK(read_file(folder / "five", 5).ok());
  CHECK_THAT(to_string(read_file(folder / "five", 4).errors()), ContainsSubstring("5 bytes > limit 4 bytes"));
  CHECK_THAT(to_string(read_file("/dev/zero", 1000).errors()), ContainsSubstring("> limit 1000 bytes"));
}

TEST_CASE("an endless device ends early: where it is of another kind, and at the memory limit") {
  const auto zeros = [](bool allowed) {
    return ExpectedFile{"zeros", [=](std::span<const std::byte> so_far) { return allowed && so_far.size() < 300000; }};
  };
  CHECK_THAT(to_string(read_file("/dev/zero", SIZE_MAX, zeros(false)).errors()),
             ContainsSubstring("its first 65537 bytes do not begin zeros"));
  CHECK_THAT(to_string(read_file("/dev/zero", SIZE_MAX, zeros(true)).errors()),
             ContainsSubstring("bytes do not begin zeros"));
  CHECK(read_file("/dev/null", SIZE_MAX, zeros(false))->empty());
  const test::Environment limit("DOVETAIL_MEMORY_LIMIT", "1MiB");
  CHECK_THAT(to_string(read_file("/dev/zero", SIZE_MAX).errors()),
             ContainsSubstring("bytes of memory > limit 1048576"));
}

TEST_CASE("a pipe is read like a file, and one to which no program writes is refused") {
  const TemporaryFolder folder;
  const fs::path pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THAT(to_string(read_file(pipe).errors()), ContainsSubstring("no program writes to it"));
  CHECK_THAT(to_string(read_text_file(pipe).errors()), ContainsSubstring("no program writes to it"));
  const std::string text(300000, 'x');
  for (const bool late : {false, true}) {
    std::thread writer([&] {
      if (late) std::this_thread::sleep_for(std::chrono::milliseconds(200));
      std::ofstream out(pipe, std::ios::binary);
      out << text.substr(0, 7) << std::flush;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      out << text.substr(7);
    });
    const auto content = read_text_file(pipe);
    writer.join();
    CHECK((content.ok() && *content == text));
  }
  // A program that ends without a byte: an empty file.
  std::thread writer([&] { const std::ofstream out(pipe); });
  const auto content = read_text_file(pipe);
  writer.join();
  CHECK((content.ok() && content->empty()));
}

TEST_CASE("a device without an end is not a text") {
  CHECK_THAT(to_string(read_text_file("/dev/zero").errors()), ContainsSubstring("do not begin a text"));
}

TEST_CASE("write errors name the path and the reason") {
  const TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "file", "x").ok());
  CHECK_THAT(to_string(write_text_file(folder.path(), "x").errors()), ContainsSubstring("the path is a directory"));
  CHECK_THAT(to_string(write_text_file(folder / "file/below", "x").errors()),
             ContainsSubstring("cannot write file") && ContainsSubstring("file/below"));
  CHECK(!write_text_file("", "x").ok());
  CHECK_THAT(to_string(write_text_file("/dev/full", std::string(100000, 'x')).errors()),
             ContainsSubstring("No space left"));
}

}  // namespace dovetail
