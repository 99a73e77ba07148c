// The store of uploaded files: uploads that continue, hashes, limits.
#include "remote/store.h"

#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include <sys/stat.h>

#include "base/file.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using remote::BlobStore;
namespace fs = std::filesystem;

namespace {

// Content that differs for each letter.
struct Blob {
  explicit Blob(char letter, std::size_t size = 1000) : text(size, letter) {}
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(text)); }
  std::span<const std::byte> piece(std::size_t from, std::size_t count) const { return bytes().subspan(from, count); }
  std::string hash() const { return sha256(bytes()); }
  std::string text;
};

BlobStore open_store(const fs::path& folder, const remote::StoreLimits& limits = {}) {
  auto store = BlobStore::open(folder, limits);
  REQUIRE(store.ok());
  return *std::move(store);
}

void upload(BlobStore& store, const Blob& blob) {
  const auto there = store.append(blob.hash(), blob.text.size(), 0, blob.bytes());
  REQUIRE(there.ok());
  REQUIRE(*there == blob.text.size());
  std::this_thread::sleep_for(std::chrono::milliseconds(15));  // the times of two uses differ in the file system
}

std::uint64_t bytes_here(BlobStore& store, const Blob& blob) {
  return store.have(blob.hash(), blob.text.size()).value();
}

std::string error_of(const Diagnostics& errors) { return to_string(errors); }

}  // namespace

TEST_CASE("store: a file arrives in pieces, is complete with the last one, and is copied to a command") {
  const test::TemporaryFolder folder;
  BlobStore store = open_store(folder / "store");
  const Blob blob('a');
  CHECK(bytes_here(store, blob) == 0);
  CHECK(store.append(blob.hash(), 1000, 0, blob.piece(0, 400)).value() == 400);
  CHECK(bytes_here(store, blob) == 400);
  CHECK_THAT(error_of(store.place(blob.hash(), folder / "early").errors()), ContainsSubstring("no complete file"));
  CHECK(store.append(blob.hash(), 1000, 400, blob.piece(400, 600)).value() == 1000);
  CHECK(bytes_here(store, blob) == 1000);
  CHECK(store.stored_bytes() == 1000);

  REQUIRE(store.place(blob.hash(), folder / "copy").ok());
  CHECK(read_text_file(folder / "copy").value() == blob.text);
  // A command may change its copy, but not the original.
  REQUIRE(write_text_file(folder / "copy", "changed").ok());
  std::ofstream(folder / "copy", std::ios::app) << "more";
  CHECK(store.place(blob.hash(), folder / "another").ok());
  CHECK(read_text_file(folder / "another").value() == blob.text);
  // Neither an existing file nor the target of a link is overwritten.
  fs::create_symlink(folder / "copy", folder / "link");
  for (const char* name : {"copy", "link"}) CHECK_FALSE(store.place(blob.hash(), folder / name).ok());
  CHECK(read_text_file(folder / "copy").value() == "changedmore");
}

TEST_CASE("store: an upload continues after a restart, and a complete file stays") {
  const test::TemporaryFolder folder;
  const Blob partial('a'), complete('b'), unchecked('c');
  {
    BlobStore store = open_store(folder / "store");
    REQUIRE(store.append(partial.hash(), 1000, 0, partial.piece(0, 700)).ok());
    upload(store, complete);
    REQUIRE(store.append(unchecked.hash(), 1000, 0, unchecked.piece(0, 700)).ok());
  }
  // As if the board had been ended before it checked the last bytes.
  std::ofstream(folder / "store" / "partial" / unchecked.hash(), std::ios::app) << unchecked.text.substr(700);
  BlobStore store = open_store(folder / "store");
  CHECK(bytes_here(store, partial) == 700);
  CHECK(bytes_here(store, complete) == 1000);
  CHECK(bytes_here(store, unchecked) == 1000);
  CHECK(store.append(partial.hash(), 1000, 700, partial.piece(700, 300)).value() == 1000);
  for (const Blob* blob : {&partial, &complete, &unchecked}) {
    REQUIRE(store.place(blob->hash(), folder / blob->hash()).ok());
    CHECK(read_text_file(folder / blob->hash()).value() == blob->text);
  }
  CHECK(fs::is_empty(folder / "store" / "partial"));
}

TEST_CASE("store: bytes with another hash are removed, and the upload begins again") {
  const test::TemporaryFolder folder;
  BlobStore store = open_store(folder / "store");
  const Blob blob('a'), wrong('b');
  REQUIRE(store.append(blob.hash(), 1000, 0, wrong.piece(0, 500)).ok());
  CHECK_THAT(error_of(store.append(blob.hash(), 1000, 500, blob.piece(500, 500)).errors()),
             ContainsSubstring("the uploaded bytes have the hash"));
  CHECK(bytes_here(store, blob) == 0);
  CHECK(store.stored_bytes() == 0);
  upload(store, blob);
  // The bytes on the disk count, not those that were sent: another process may have changed them before a restart.
  const Blob other('c');
  REQUIRE(store.append(other.hash(), 1000, 0, other.piece(0, 500)).ok());
  std::ofstream(folder / "store" / "partial" / other.hash(), std::ios::app) << "longer";
  CHECK_THAT(error_of(store.append(other.hash(), 1000, 506, other.piece(506, 494)).errors()),
             ContainsSubstring("have the hash"));
}

TEST_CASE("store: a piece must continue what is here; what is here already is left out") {
  const test::TemporaryFolder folder;
  BlobStore store = open_store(folder / "store");
  const Blob blob('a');
  REQUIRE(store.append(blob.hash(), 1000, 0, blob.piece(0, 300)).ok());
  CHECK_THAT(error_of(store.append(blob.hash(), 1000, 301, blob.piece(301, 10)).errors()),
             ContainsSubstring("the piece begins at byte 301, but 300 bytes are here") &&
                 ContainsSubstring("continue at byte 300"));
  for (const std::uint64_t offset : {0U, 999U, 1001U})
    CHECK_THAT(error_of(store.append(blob.hash(), 1000, offset, std::vector<std::byte>(1001 - offset % 1000)).errors()),
               ContainsSubstring("exceed the file's 1000 bytes"));
  // A second client uploads the same file.
  CHECK(store.append(blob.hash(), 1000, 0, blob.piece(0, 200)).value() == 300);
  CHECK(store.append(blob.hash(), 1000, 0, blob.piece(0, 600)).value() == 600);
  CHECK(store.append(blob.hash(), 1000, 300, blob.piece(300, 700)).value() == 1000);
  CHECK(store.append(blob.hash(), 1000, 600, blob.piece(600, 400)).value() == 1000);
  REQUIRE(store.place(blob.hash(), folder / "copy").ok());
  CHECK(read_text_file(folder / "copy").value() == blob.text);
  CHECK_THAT(error_of(store.have(blob.hash(), 999).errors()), ContainsSubstring("has 1000 bytes, not 999"));
}

TEST_CASE("store: an empty file is complete at once") {
  const test::TemporaryFolder folder;
  BlobStore store = open_store(folder / "store");
  CHECK(store.have(sha256(Pieces()), 0).value() == 0);
  REQUIRE(store.place(sha256(Pieces()), folder / "copy").ok());
  CHECK(fs::file_size(folder / "copy") == 0);
  CHECK(store.have(Blob('a').hash(), 0).value() == 0);
  CHECK_FALSE(store.place(Blob('a').hash(), folder / "other").ok());
}

TEST_CASE("store: the files that were not used for the longest time make room, except pinned ones") {
  const test::TemporaryFolder folder;
  BlobStore store = open_store(folder / "store", {.total_bytes = 3000, .file_bytes = 2000});
  const Blob first('1'), second('2'), third('3'), fourth('4'), fifth('5'), large('l', 2001), two('t', 2000);
  for (const Blob* blob : {&first, &second, &third}) upload(store, *blob);
  CHECK(bytes_here(store, first) == 1000);  // which is a use
  std::this_thread::sleep_for(std::chrono::milliseconds(15));
  upload(store, fourth);
  CHECK(bytes_here(store, second) == 0);
  CHECK(store.stored_bytes() == 3000);
  {
    const auto pin = store.pin(third.hash());
    REQUIRE(pin.ok());
    upload(store, fifth);  // the oldest is the third, then the first
    CHECK(bytes_here(store, third) == 1000);
    CHECK(bytes_here(store, first) == 0);
    const auto more = store.pin(fifth.hash()), last = store.pin(fourth.hash());
    CHECK_THAT(error_of(store.append(first.hash(), 1000, 0, first.bytes()).errors()),
               ContainsSubstring("1000 bytes more, with 3000 bytes in use, > limit 3000 bytes of the store"));
    CHECK(store.stored_bytes() == 3000);
  }
  CHECK_THAT(error_of(store.append(large.hash(), 2001, 0, large.piece(0, 1)).errors()),
             ContainsSubstring("2001 bytes > limit 2000 bytes of a file"));
  // The room for the whole file is made before its first byte is written.
  REQUIRE(store.append(two.hash(), 2000, 0, two.piece(0, 1)).ok());
  CHECK(store.stored_bytes() == 1001);
  upload(store, two);
  CHECK(store.stored_bytes() == 3000);
}

TEST_CASE("store: a damaged file is not given to a command, and is uploaded again") {
  const test::TemporaryFolder folder;
  BlobStore store = open_store(folder / "store");
  const Blob altered('a'), truncated('b');
  for (const Blob* blob : {&altered, &truncated}) upload(store, *blob);
  const fs::path files = folder / "store" / "files";
  std::fstream(files / altered.hash()) << 'x';
  fs::resize_file(files / truncated.hash(), 999);
  CHECK_THAT(error_of(store.place(altered.hash(), folder / "copy").errors()), ContainsSubstring("was damaged"));
  CHECK_FALSE(fs::exists(folder / "copy"));
  for (const Blob* blob : {&altered, &truncated}) {
    CHECK(bytes_here(store, *blob) == 0);
    upload(store, *blob);
    CHECK(store.place(blob->hash(), folder / blob->hash()).ok());
  }
}

TEST_CASE("store: what is not a hash names no file") {
  const test::TemporaryFolder folder;
  BlobStore store = open_store(folder / "store");
  const std::string good = Blob('a').hash();
  std::string upper = good, slash = good, zero = good;
  upper[0] = 'A';
  slash.replace(0, 3, "../");
  zero[63] = '\0';
  for (const std::string& bad :
       {std::string(), upper, slash, zero, good + "a", good.substr(1), std::string("../lock")}) {
    INFO(bad);
    CHECK_THAT(error_of(store.have(bad, 1).errors()), ContainsSubstring("64 hexadecimal digits"));
    CHECK_FALSE(store.append(bad, 1, 0, Blob('a', 1).bytes()).ok());
    CHECK_FALSE(store.place(bad, folder / "copy").ok());
    CHECK_FALSE(store.pin(bad).ok());
  }
  CHECK(store.stored_bytes() == 0);
}

TEST_CASE("store: two processes cannot use one folder, and others cannot read it") {
  const test::TemporaryFolder folder;
  {
    BlobStore store = open_store(folder / "store");
    CHECK_THAT(error_of(BlobStore::open(folder / "store").errors()), ContainsSubstring("another process uses it"));
    struct ::stat status;
    REQUIRE(::stat((folder / "store").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
    const BlobStore moved = std::move(store);
    CHECK_FALSE(BlobStore::open(folder / "store").ok());
  }
  CHECK(BlobStore::open(folder / "store").ok());
}
