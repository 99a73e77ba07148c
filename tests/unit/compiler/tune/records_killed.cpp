// Killed writers: committed records are present exactly once, and no record is partial.
#include <csignal>
#include <filesystem>
#include <set>

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/tune/records.h"
#include "tests/catch.h"
#include "tests/ordinary_user.h"
#include "tests/temporary_folder.h"
#include "tests/unit/compiler/tune/sample_record.h"

using namespace dovetail;
using namespace dovetail::tune;
using test::sample_record;
using test::TemporaryFolder;
using Open = Records::Open;
namespace fs = std::filesystem;

namespace {

// The process is killed, not the machine: a real disk would only be slower.
fs::path fast_folder() {
  const fs::path memory = "/dev/shm";
  return fs::is_directory(memory) ? memory : fs::temp_directory_path();
}

std::string integrity(const fs::path& path) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  sqlite3_stmt* check = nullptr;
  REQUIRE(sqlite3_prepare_v2(database, "PRAGMA integrity_check", -1, &check, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_step(check) == SQLITE_ROW);
  const std::string text = reinterpret_cast<const char*>(sqlite3_column_text(check, 0));
  sqlite3_finalize(check);
  sqlite3_close(database);
  return text;
}

// The numbers (`tile`) of the stored records.
std::set<int> numbers(const fs::path& path, Open mode = Open::read) {
  auto records = Records::open(path, mode);
  if (!records.ok()) FAIL(to_string(records.errors()));
  std::set<int> all;
  const std::vector<Record> there = records->all().value();
  for (const Record& record : there) CHECK(all.insert(std::stoi(record.decisions.at("tile"))).second);
  return all;
}

Record large_record(int number) {  // several pages, so that a transaction takes several writes
  Record record = sample_record(number);
  record.trace.append(9000, 'x');
  return record;
}

// A child process that runs `work`, which may report numbers to this one.
class Child {
 public:
  explicit Child(const std::function<void(const std::function<void(int)>& report)>& work) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    id_ = ::fork();
    REQUIRE(id_ >= 0);
    if (id_ == 0) {
      ::close(ends[0]);
      work([&](int number) {
        if (::write(ends[1], &number, sizeof number) != sizeof number) ::_exit(2);
      });
      ::_exit(0);
    }
    ::close(ends[1]);
    reports_ = ends[0];
  }
  ~Child() {
    kill();
    ::close(reports_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The next report; nullopt: the child has ended.
  std::optional<int> report() {
    int number = 0;
    if (::read(reports_, &number, sizeof number) != sizeof number) return std::nullopt;
    return number;
  }
  void kill() {
    if (!ended_) ::kill(id_, SIGKILL);
    end();
  }
  // Returns whether the child was killed.
  bool end() {
    if (!ended_) ::waitpid(id_, &status_, 0);
    ended_ = true;
    return WIFSIGNALED(status_);
  }

 private:
  pid_t id_ = -1;
  int reports_ = -1, status_ = 0;
  bool ended_ = false;
};

// ---- A process that kills itself at its n-th change of a file, after half of a write ----

int changes_left = 0;
ssize_t (*real_pwrite)(int, const void*, std::size_t, off_t) = nullptr;
int (*real_unlink)(const char*) = nullptr;
int (*real_ftruncate)(int, off_t) = nullptr;

bool is_last_change() { return --changes_left == 0; }
ssize_t mortal_pwrite(int file, const void* bytes, std::size_t count, off_t place) {
  if (is_last_change()) {
    (void)!real_pwrite(file, bytes, count / 2, place);
    ::kill(::getpid(), SIGKILL);
  }
  return real_pwrite(file, bytes, count, place);
}
int mortal_unlink(const char* path) {
  if (is_last_change()) ::kill(::getpid(), SIGKILL);
  return real_unlink(path);
}
int mortal_ftruncate(int file, off_t size) {
  if (is_last_change()) ::kill(::getpid(), SIGKILL);
  return real_ftruncate(file, size);
}

template <typename Call>
void replace_call(const char* name, Call& real, Call mortal) {
  sqlite3_vfs* files = sqlite3_vfs_find(nullptr);
  const sqlite3_syscall_ptr call = files->xGetSystemCall(files, name);
  if (call == nullptr) return;
  real = reinterpret_cast<Call>(call);
  files->xSetSystemCall(files, name, reinterpret_cast<sqlite3_syscall_ptr>(mortal));
}
void die_at_change(int n) {
  changes_left = n;
  for (const char* name : {"pwrite", "pwrite64"}) replace_call(name, real_pwrite, &mortal_pwrite);
  replace_call("unlink", real_unlink, &mortal_unlink);
  replace_call("ftruncate", real_ftruncate, &mortal_ftruncate);
}

// Adds 1 and 2 together, then 3; reports each after add() has returned.
void add_two_and_one(const fs::path& path, const std::function<void(int)>& report) {
  auto records = Records::open(path, Open::write);
  if (!records.ok()) ::_exit(3);
  report(0);
  if (!records->add({large_record(1), large_record(2)}).ok()) ::_exit(3);
  report(2);
  if (!records->add({large_record(3)}).ok()) ::_exit(3);
  report(3);
}

}  // namespace

TEST_CASE("records: a writer killed at any change of a file loses no committed record and leaves no partial one") {
  int kills = 0;
  for (const bool there_before : {false, true}) {
    for (int n = 1;; ++n) {
      const TemporaryFolder folder(fast_folder());
      const fs::path path = folder / "r.db";
      if (there_before) REQUIRE(Records::open(path, Open::write).value().add({large_record(10)}).ok());
      Child child([&](const auto& report) {
        die_at_change(n);
        add_two_and_one(path, report);
      });
      int reported = -1;
      while (const auto number = child.report()) reported = *number;
      const bool killed = child.end();
      INFO("change " << n << ", reported " << reported);
      // Where the writer was killed before its first commit there are no records to read, and the next writer creates
      // the table.
      std::set<int> left = numbers(path, reported < 0 && !there_before ? Open::write : Open::read);
      CHECK(left.erase(10) == (there_before ? 1 : 0));
      CHECK((left.empty() || left == std::set{1, 2} || left == std::set{1, 2, 3}));
      CHECK(static_cast<int>(left.size()) >= reported);
      CHECK(integrity(path) == "ok");
      REQUIRE(Records::open(path, Open::write).value().add({large_record(20)}).ok());
      CHECK(numbers(path).size() == left.size() + (there_before ? 2 : 1));
      CHECK_FALSE(fs::exists(path.string() + "-journal"));
      if (!killed) {
        CHECK(reported == 3);
        break;
      }
      ++kills;
    }
  }
  CHECK(kills > 40);
}

TEST_CASE("records: a read-only user gets an error where a killed writer has left a transaction to undo") {
  int refusals = 0;
  for (int n = 1; refusals == 0 && n < 100; ++n) {
    const TemporaryFolder folder(fast_folder());
    const fs::path path = folder / "d/r.db";
    REQUIRE(Records::open(path, Open::write).value().add({large_record(1)}).ok());
    Child child([&](const auto& report) {
      die_at_change(n);
      add_two_and_one(path, report);
    });
    REQUIRE(child.end());
    {
      const test::OrdinaryUser user;
      fs::permissions(path, fs::perms(0444));
      fs::permissions(folder / "d", fs::perms(0555));
      if (const auto records = Records::open(path, Open::read); !records.ok()) {
        ++refusals;
        CHECK_THAT(records.errors()[0].why,
                   Catch::Matchers::ContainsSubstring("a writer was killed during a transaction"));
      }
      fs::permissions(folder / "d", fs::perms(0755));
      fs::permissions(path, fs::perms(0644));
    }
    CHECK(numbers(path).contains(1));
  }
  CHECK(refusals == 1);
}

TEST_CASE("records: of several writers of one database one is killed: no committed record is lost or duplicated") {
  const TemporaryFolder folder(fast_folder());
  const fs::path path = folder / "r.db";
  constexpr int kEach = 30, kOverlap = 10;
  std::set<int> committed;
  const auto writer = [&](int first, int count) {
    return [&path, first, count](const auto& report) {
      auto records = Records::open(path, Open::write);
      for (int number = first; number < first + count; ++number) {
        if (!records.ok() || !records->add({large_record(number)}).ok()) ::_exit(3);
        report(number);
      }
    };
  };
  for (int round = 0; round < 3; ++round) {
    const int first = 1000 * round;
    Child kept(writer(first, kEach)), killed(writer(first + kEach - kOverlap, 1000));
    for (int i = 0; i < 7 + 4 * round; ++i) committed.insert(killed.report().value());
    killed.kill();
    while (const auto number = killed.report()) committed.insert(*number);  // reported before it died
    int of_kept = 0;
    for (; const auto number = kept.report(); ++of_kept) committed.insert(*number);
    CHECK_FALSE(kept.end());
    CHECK(of_kept == kEach);
  }
  const std::set<int> there = numbers(path);
  for (const int number : committed) CHECK(there.contains(number));
  CHECK(there.size() <= committed.size() + 3);  // records that a killed writer has committed, but not reported
  CHECK(integrity(path) == "ok");
}
