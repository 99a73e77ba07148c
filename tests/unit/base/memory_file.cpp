// Files and pipes in memory, for libraries that accept only paths.
#include "base/memory_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "base/collecting_pipe.h"
#include "base/file.h"
#include "tests/catch.h"

using namespace dovetail;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("a file in memory can be read at its path while it is held") {
  std::string path;
  {
    auto file = MemoryFile::make("test");
    REQUIRE(file.ok());
    REQUIRE(file->write(bytes_of("one ")).ok());
    REQUIRE(file->write(bytes_of("two")).ok());
    const MemoryFile held = *std::move(file);
    path = held.path();
    CHECK(text_of(held.read().value()) == "one two");
    CHECK(read_text_file(path).value() == "one two");
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("everything written into a collecting pipe can be read from it, whatever the size") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{3} << 20}) {
    auto pipe = CollectingPipe::make();
    REQUIRE(pipe.ok());
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>('a' + i % 23);
    if (size > 0) std::ofstream((*pipe)->path(), std::ios::binary) << text;
    CHECK(text_of((*pipe)->finish()) == text);
  }
  const auto unused = CollectingPipe::make();
  CHECK(unused.ok());
}
