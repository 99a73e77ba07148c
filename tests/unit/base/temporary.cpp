// Temporary files, folders and processes are removed at the end, also when a signal ends the process.
#include "base/temporary.h"

#include <csignal>
#include <filesystem>

#include <sys/wait.h>
#include <unistd.h>

#include "base/child_process.h"
#include "base/file.h"
#include "tests/catch.h"
#include "tests/environment.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Environment;
namespace fs = std::filesystem;

namespace {

void fill(const fs::path& folder) {
  fs::create_directories(folder / "below");
  REQUIRE(write_text_file(folder / "below" / "file", "x").ok());
}

// Removes the handlers of the test framework.
void forget_handlers() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
}

// Runs in a separate process, which ends by the signal.
template <typename Work>
int signal_that_ends(Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    forget_handlers();
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

bool is_alive(pid_t process) { return ::kill(process, 0) == 0; }
pid_t number_in(const fs::path& file) {
  for (int i = 0; i < 500; ++i, ::usleep(10'000))
    if (const auto text = fs::exists(file) ? read_text_file(file).value() : ""; text.ends_with('\n'))
      return std::stoi(text);
  return 0;
}
bool ends(pid_t process) {
  for (int i = 0; i < 500 && is_alive(process); ++i) ::usleep(10'000);
  return !is_alive(process);
}

}  // namespace

TEST_CASE("temporary folders are made in TMPDIR and removed with their contents") {
  const test::TemporaryFolder place;
  const Environment temporary("TMPDIR", place.path());
  fs::path made;
  {
    auto folder = make_temporary_folder("test");
    REQUIRE(folder.ok());
    made = folder->path();
    CHECK(made.parent_path() == place.path());
    CHECK_THAT(made.filename().string(), ContainsSubstring("dovetail-test-"));
    fill(made);
    const TemporaryPath moved = std::move(*folder);
    CHECK(fs::exists(made / "below" / "file"));
  }
  CHECK_FALSE(fs::exists(made));
  const Environment nowhere("TMPDIR", place.path() / "nowhere");
  const auto refused = make_temporary_folder("test");
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(to_string(refused.errors()), ContainsSubstring("set TMPDIR to a writable folder"));
  CHECK(cause_of(refused.errors()) == Cause::input);
}

TEST_CASE("a signal that ends the process removes files and folders first") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const test::TemporaryFolder place;
    const fs::path file = place / "file", folder = place / "folder", kept = place / "kept";
    REQUIRE(write_text_file(kept, "x").ok());
    CHECK(signal_that_ends([&] {
            const TemporaryPath one(file), two(folder);
            { const TemporaryPath gone(place / "nothing"); }
            if (!write_text_file(file, "x").ok()) ::_exit(1);
            fs::create_directories(folder / "below");
            if (!write_text_file(folder / "below" / "file", "x").ok()) ::_exit(1);
            ::raise(signal);
            ::_exit(2);
          }) == signal);
    CHECK_FALSE(fs::exists(file));
    CHECK_FALSE(fs::exists(folder));
    CHECK(fs::exists(kept));
  }
}

TEST_CASE("programs run in their folder, with their variables, and write to their log") {
  const test::TemporaryFolder place;
  const auto end = run_child(
      {"pwd; echo \"$word\"; echo problem >&2; read line || exit 3", place.path(), {{"word", "a b"}}, place / "log"});
  REQUIRE(end.ok());
  CHECK(end->exit == 3);  // stdin was empty
  CHECK(read_text_file(place / "log").value() == place.path().string() + "\na b\nproblem\n");
  CHECK(run_child({"kill -9 $$"})->signal == SIGKILL);
  CHECK(output_of("echo said").value() == "said\n");
  CHECK_FALSE(output_of("echo said; exit 1").value().has_value());
  CHECK(is_on_path("sh"));
  CHECK_FALSE(is_on_path("no such program"));
}

TEST_CASE("programs started by a program end with it, and with this process, however it ends") {
  const test::TemporaryFolder place;
  const std::string sleeps = "sleep 1000 & echo $! > child; ";
  REQUIRE(run_child({sleeps + "exit 0", place.path()}).ok());
  CHECK(ends(number_in(place / "child")));
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    fs::remove(place / "child");
    pid_t started = 0;
    const pid_t process = ::fork();
    if (process == 0) {
      forget_handlers();
      const auto end = run_child({sleeps + "wait", place.path()});
      ::_exit(end.ok() ? 0 : 1);
    }
    started = number_in(place / "child");
    CHECK(started > 0);
    CHECK(is_alive(started));
    ::kill(process, signal);
    int status = 0;
    ::waitpid(process, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(ends(started));
  }
}
