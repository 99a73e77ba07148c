// The store of uploaded files: uploads that continue, hashes, limits.
#include "remote/store.h"

#include <chrono>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/catch.h"
#include "tests/skip.h"
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

std::uint64_t stored_bytes(const fs::path& store) {
  std::uint64_t sum = 0;
  for (const char* part : {"files", "partial"})
    for (const auto& entry : fs::directory_iterator(store / part)) sum += entry.file_size();
  return sum;
}

std::size_t files_in(const fs::path& store, const char* part) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(store / part), fs::directory_iterator()));
}

void make_old(const fs::path& path, std::chrono::hours age) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - age);
}

// Runs `work` in a child whose file system at `folder` has `bytes`; nullopt: the system does not let it.
std::optional<int> in_small_file_system(const fs::path& folder, std::size_t bytes, const std::function<bool()>& work) {
  constexpr int kCannot = 77;
  const uid_t user = ::getuid();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (::unshare(CLONE_NEWNS | (user == 0 ? 0 : CLONE_NEWUSER)) != 0) ::_exit(kCannot);
    if (user != 0) (void)write_text_file("/proc/self/uid_map", fmt::format("{0} {0} 1", user)).ok();
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("none", folder.c_str(), "tmpfs", 0, fmt::format("size={},mode=0700", bytes).c_str()) != 0)
      ::_exit(kCannot);
    ::_exit(work() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCannot) return std::nullopt;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
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
  CHECK(stored_bytes(folder / "store") == 1000);

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
  CHECK(stored_bytes(folder / "store") == 0);
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
  CHECK(stored_bytes(folder / "store") == 3000);
  {
    const auto pin = store.pin(third.hash());
    REQUIRE(pin.ok());
    upload(store, fifth);  // the oldest is the third, then the first
    CHECK(bytes_here(store, third) == 1000);
    CHECK(bytes_here(store, first) == 0);
    const auto more = store.pin(fifth.hash()), last = store.pin(fourth.hash());
    CHECK_THAT(error_of(store.append(first.hash(), 1000, 0, first.bytes()).errors()),
               ContainsSubstring("1000 bytes more, with 3000 bytes in use, > limit 3000 bytes of the store"));
    CHECK(stored_bytes(folder / "store") == 3000);
  }
  CHECK_THAT(error_of(store.append(large.hash(), 2001, 0, large.piece(0, 1)).errors()),
             ContainsSubstring("2001 bytes > limit 2000 bytes of a file"));
  // The room for the whole file is made before its first byte is written.
  REQUIRE(store.append(two.hash(), 2000, 0, two.piece(0, 1)).ok());
  CHECK(stored_bytes(folder / "store") == 1001);
  upload(store, two);
  CHECK(stored_bytes(folder / "store") == 3000);
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
  CHECK(stored_bytes(folder / "store") == 0);
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

TEST_CASE("store: the stores of several clients share one limit, also those that are not open") {
  const test::TemporaryFolder folder;
  const Blob old('o'), mine('m'), other('n'), more('p');
  {
    BlobStore closed = open_store(folder / "closed");
    upload(closed, old);
  }
  const auto room = std::make_shared<remote::StoreRoom>(remote::StoreLimits{.total_bytes = 3000});
  for (const char* name : {"closed", "mine", "other"}) room->add(folder / name);
  BlobStore first = *BlobStore::open(folder / "mine", room), second = *BlobStore::open(folder / "other", room);
  CHECK(room->bytes() == 1000);
  upload(first, mine);
  upload(second, other);
  CHECK(stored_bytes(folder / "closed") == 1000);
  upload(second, more);  // in place of the least recently used one, which is another client's
  CHECK(stored_bytes(folder / "closed") == 0);
  CHECK(stored_bytes(folder / "mine") == 1000);
  const auto pin = first.pin(mine.hash());
  upload(second, old);
  CHECK(bytes_here(first, mine) == 1000);
  CHECK(bytes_here(second, other) == 0);
  CHECK(room->bytes() == 3000);
}

TEST_CASE("store: the sizes of files are known without reading the folder at each piece") {
  const test::TemporaryFolder folder;
  const auto room = std::make_shared<remote::StoreRoom>(remote::StoreLimits{.total_bytes = 3000});
  BlobStore store = *BlobStore::open(folder / "store", room);
  const Blob blob('a');
  REQUIRE(store.append(blob.hash(), 1000, 0, blob.piece(0, 400)).ok());
  CHECK(room->bytes() == 400);
  REQUIRE(store.append(blob.hash(), 1000, 400, blob.piece(400, 600)).ok());
  CHECK(room->bytes() == 1000);
  // A file that the store has not written is not seen.
  REQUIRE(write_text_file(folder / "store/files/foreign", std::string(2500, 'f')).ok());
  upload(store, Blob('b'));
  CHECK(room->bytes() == 2000);
  CHECK(bytes_here(store, blob) == 1000);
  const Blob damaged('d');
  REQUIRE(store.append(damaged.hash(), 1000, 0, blob.piece(0, 500)).ok());
  CHECK_FALSE(store.append(damaged.hash(), 1000, 500, blob.piece(500, 500)).ok());
  CHECK(room->bytes() == 2000);
}

TEST_CASE("store: files and incomplete uploads have a largest number") {
  const test::TemporaryFolder folder;
  BlobStore store = open_store(folder / "store", {.files = 3, .uploads = 2});
  const Blob blobs[] = {Blob('a'), Blob('b'), Blob('c'), Blob('d')};
  for (const Blob& blob : blobs) {
    REQUIRE(store.append(blob.hash(), 1000, 0, blob.piece(0, 10)).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(files_in(folder / "store", "partial") == 2);
  CHECK(bytes_here(store, blobs[1]) == 0);
  CHECK(bytes_here(store, blobs[2]) == 10);
  {
    const auto one = store.pin(blobs[2].hash()), two = store.pin(blobs[3].hash());
    CHECK_THAT(error_of(store.append(blobs[0].hash(), 1000, 0, blobs[0].piece(0, 10)).errors()),
               ContainsSubstring("2 uploads are incomplete and in use, of at most 2"));
  }
  for (const Blob& blob : blobs) upload(store, blob);
  CHECK(files_in(folder / "store", "files") == 3);
  CHECK(bytes_here(store, blobs[0]) == 0);
  const auto pins = {store.pin(blobs[1].hash()), store.pin(blobs[2].hash()), store.pin(blobs[3].hash())};
  CHECK_THAT(error_of(store.append(blobs[0].hash(), 1000, 0, blobs[0].piece(0, 10)).errors()),
             ContainsSubstring("3 files are in use, of at most 3"));
}

TEST_CASE("store: an upload that nobody continues for seven days is removed, and a complete file stays") {
  const test::TemporaryFolder folder;
  const Blob old('o'), young('y'), whole('w');
  {
    BlobStore store = open_store(folder / "store");
    for (const Blob* blob : {&old, &young}) REQUIRE(store.append(blob->hash(), 1000, 0, blob->piece(0, 10)).ok());
    upload(store, whole);
  }
  make_old(folder / "store/partial" / old.hash(), std::chrono::hours(7 * 24 + 1));
  make_old(folder / "store/partial" / young.hash(), std::chrono::hours(7 * 24 - 1));
  make_old(folder / "store/files" / whole.hash(), std::chrono::hours(365 * 24));
  BlobStore store = open_store(folder / "store");
  CHECK(bytes_here(store, old) == 0);
  CHECK(bytes_here(store, young) == 10);
  CHECK(bytes_here(store, whole) == 1000);
}

TEST_CASE("store: where the disk is full, unused files are removed, and only then an upload is refused") {
  const test::TemporaryFolder folder;
  const auto ended = in_small_file_system(folder.path(), std::size_t{1} << 20, [&] {
    constexpr std::size_t kBytes = 300'000;
    auto store = BlobStore::open(folder / "store");
    if (!store.ok()) return false;
    const auto add = [&](char letter) {
      const Blob blob(letter, kBytes);
      const auto added = store->append(blob.hash(), kBytes, 0, blob.bytes());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return added.ok() && *added == kBytes;
    };
    // Three fit. Later ones, and a copy for a command, replace those that are not used.
    for (const char letter : {'a', 'b', 'c', 'd'})
      if (!add(letter)) return false;
    const std::string last = Blob('d', kBytes).hash();
    const auto pin = store->pin(last);
    for (const char* copy : {"1", "2"})
      if (!store->place(last, folder / copy).ok()) return false;
    if (stored_bytes(folder / "store") != kBytes) return false;
    const Blob more('e', kBytes);
    const auto refused = store->append(more.hash(), kBytes, 0, more.bytes());
    const auto copied = store->place(last, folder / "3");
    return !refused.ok() && refused.errors()[0].cause == Cause::resource && !copied.ok() && !fs::exists(folder / "3") &&
           store->have(last, kBytes).value() == kBytes;
  });
  if (!ended) return test::skip("this system lets the test mount no file system");
  CHECK(*ended == 0);
}
