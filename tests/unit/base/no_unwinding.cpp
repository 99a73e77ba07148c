// A process whose memory ends where no exception may pass.
#include "base/no_unwinding.h"

#include <array>
#include <new>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "tests/catch.h"

namespace dovetail {

namespace {

struct End {
  int status = -1;
  std::string stderr_text;
};

// Of a process that does `work` and then, where that comes back, ends with 3.
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

// As a heap without memory does it, in a build with any sanitizer.
[[noreturn]] void run_out_of_memory() {
  for (;;) {
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

}  // namespace

TEST_CASE("no unwinding: memory that ends within it ends the process with its word") {
  const End end = end_of([] {
    const NoUnwinding outer;
    { const NoUnwinding inner; }
    run_out_of_memory();
  });
  CHECK(end.status == 1);
  CHECK(end.stderr_text == kOutOfMemory);
}

TEST_CASE("no unwinding: behind it an exception passes again") {
  const End end = end_of([] {
    { const NoUnwinding scope; }
    run_out_of_memory();
  });
  CHECK(end.status == 4);
}

TEST_CASE("no unwinding: a loaded object ends as its loader does") {
  const End end = end_of([] {
    end_out_of_memory_by([] { ::_exit(5); });
    const NoUnwinding scope;
    run_out_of_memory();
  });
  CHECK(end.status == 5);
}

// More than any address space: operator new refuses without asking the system, or by its handler.
TEST_CASE("no unwinding: memory for a value of JSON ends the process") {
  const End end = end_of([] { JsonAllocator<Json>().allocate(std::size_t{1} << 56); });
  CHECK(end.status == 1);
  CHECK(end.stderr_text == kOutOfMemory);
}

}  // namespace dovetail
