#include "base/out_of_memory.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "base/temporary.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace dovetail {

namespace {

struct End {
  int status = -1;
  std::string stderr_text;
};

// Runs `work` in a child process, which ends with exit code 3 if `work` returns.
template <typename Work>
End end_of(Work&& work) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe[1], STDERR_FILENO);
    ::close(pipe[0]);
    try {
      work();
    } catch (...) {
      ::_exit(4);
    }
    ::_exit(3);
  }
  ::close(pipe[1]);
  End end;
  std::array<char, 256> bytes{};
  for (ssize_t got = 0; (got = ::read(pipe[0], bytes.data(), bytes.size())) > 0;)
    end.stderr_text.append(bytes.data(), static_cast<std::size_t>(got));
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) end.status = WEXITSTATUS(status);
  return end;
}

}  // namespace

TEST_CASE("out of memory: the process ends with its message, and removes its temporary files") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "half written";
  const End end = end_of([&] {
    std::set_new_handler(end_out_of_memory);
    const TemporaryPath temporary(file);
    std::ofstream(file) << "half";
    ::operator new (std::size_t{1} << 56);  // more than any address space
  });
  CHECK(end.status == 1);
  CHECK(end.stderr_text == kOutOfMemory);
  CHECK_FALSE(std::filesystem::exists(file));
}

}  // namespace dovetail
