// A child process may end in any way; its parent learns which, and nothing is left over.
#include "explore/measure/child.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::explore;

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const std::string& text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}
std::string text_of(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

ChildEnd call(const std::function<Bytes()>& function, const ChildLimits& limits = {}) {
  auto end = call_in_child(function, limits);
  REQUIRE((end.ok() ? "" : to_string(end.errors())) == "");
  return *std::move(end);
}

[[noreturn]] void hang() {
  for (;;) ::pause();
}

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

// A number that this process and its children share.
class SharedNumber {
 public:
  SharedNumber()
      : number_(static_cast<volatile int*>(
            ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedNumber() { ::munmap(const_cast<int*>(number_), sizeof(int)); }
  SharedNumber(const SharedNumber&) = delete;
  SharedNumber& operator=(const SharedNumber&) = delete;
  void set(int value) const { *number_ = value; }
  int get() const { return *number_; }
  // Once it is not 0.
  int await() const {
    for (int i = 0; i < 500 && get() == 0; ++i) ::usleep(10'000);
    return get();
  }

 private:
  volatile int* number_;
};

// A test ends with the state that it began with: the same files, and no child.
class NothingLeft {
 public:
  ~NothingLeft() {
    CHECK(open_files() == files_);
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
    CHECK(errno == ECHILD);
  }

 private:
  std::size_t files_ = open_files();
};

// Running, or about to run; the process that adopts orphans may take a while to reap them.
bool is_alive(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string number, name, state;
  return file >> number >> name >> state && state != "Z";
}
bool ends(pid_t process) {
  for (int i = 0; i < 500 && is_alive(process); ++i) ::usleep(10'000);
  return !is_alive(process);
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("child: the function's result is returned, whatever its size") {
  const NothingLeft nothing;
  int mine = 1;
  const ChildEnd small = call([&] {
    mine = 2;
    return bytes_of("answer");
  });
  CHECK(small.ending == ChildEnding::returned);
  CHECK(text_of(small.answer) == "answer");
  CHECK(mine == 1);
  CHECK(call([] { return Bytes(); }).ending == ChildEnding::returned);
  const ChildEnd large = call([] { return Bytes(std::size_t{8} << 20, std::byte{42}); });
  CHECK(large.ending == ChildEnding::returned);
  CHECK(large.answer == Bytes(std::size_t{8} << 20, std::byte{42}));
}

TEST_CASE("child: the text of an exception is returned") {
  const NothingLeft nothing;
  const ChildEnd end = call([]() -> Bytes { throw std::runtime_error("too hot"); });
  CHECK(end.ending == ChildEnding::threw);
  CHECK(to_string(end, {}) == "it failed: too hot");
  CHECK(call([]() -> Bytes { throw 1; }).ending == ChildEnding::threw);
}

TEST_CASE("child: a signal that ends it is a crash, also one that this process handles") {
  const NothingLeft nothing;
  static volatile std::sig_atomic_t handled = 0;
  const auto before = std::signal(SIGTERM, [](int) { handled = handled + 1; });
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGKILL, SIGTERM, SIGINT}) {
    const ChildEnd end = call([&]() -> Bytes {
      ::raise(signal);
      return bytes_of(handled != 0 ? "handled" : "survived");
    });
    CAPTURE(signal, text_of(end.answer));
    CHECK(end.ending == ChildEnding::crashed);
    CHECK(end.number == signal);
  }
  std::signal(SIGTERM, before);
  CHECK(call([]() -> Bytes { std::abort(); }).number == SIGABRT);
  CHECK(to_string({ChildEnding::crashed, {}, SIGSEGV}, {}) == "signal 11 ended it: Segmentation fault");
}

TEST_CASE("child: ending the process is not an answer") {
  const NothingLeft nothing;
  for (const int status : {0, 3}) {
    const ChildEnd end = call([&]() -> Bytes { ::_exit(status); });
    CHECK(end.ending == ChildEnding::exited);
    CHECK(end.number == status);
  }
  CHECK(to_string({ChildEnding::exited, {}, 3}, {}) == "the process ended with status 3");
}

TEST_CASE("child: a child that hangs is killed at its limit") {
  const NothingLeft nothing;
  const ChildLimits limits{.seconds = 0.2};
  ChildEnd end;
  const auto each_way = {std::function<Bytes()>([]() -> Bytes { hang(); }), std::function<Bytes()>([]() -> Bytes {
                           volatile bool on = true;
                           while (on) {
                           }
                           return {};
                         }),
                         // It ignores all signals that can be ignored, and closes the pipe by which it is watched.
                         std::function<Bytes()>([]() -> Bytes {
                           for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_IGN);
                           for (int file = 0; file < 1024; ++file) ::close(file);
                           hang();
                         })};
  for (const auto& way : each_way) {
    const double seconds = seconds_of([&] { end = call(way, limits); });
    CHECK(end.ending == ChildEnding::timed_out);
    CHECK(seconds >= 0.2);
  }
  CHECK(to_string(end, limits) == "the process ran for more than 0.2 s");
}

TEST_CASE("child: it is stopped with the work") {
  const NothingLeft nothing;
  Work work;
  std::thread stopping([&] {
    ::usleep(100'000);
    work.stop("enough", "");
  });
  const ChildEnd end = call([]() -> Bytes { hang(); }, {.seconds = 30, .work = &work});
  stopping.join();
  CHECK(end.ending == ChildEnding::stopped);
}

TEST_CASE("child: its output is discarded, and does not block it") {
  const NothingLeft nothing;
  const ChildEnd end = call([] {
    const std::string line(1000, 'x');
    for (int i = 0; i < 2000; ++i) {
      std::puts(line.c_str());
      std::fputs(line.c_str(), stderr);
    }
    std::fflush(stdout);
    return bytes_of(std::getchar() == EOF ? "nothing to read" : "something to read");
  });
  CHECK(text_of(end.answer) == "nothing to read");
}

TEST_CASE("child: files that are open in the parent are closed in the child") {
  const NothingLeft nothing;
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  const ChildEnd end = call([] {
    int open = 0;
    for (int i = 3; i < 1024; ++i) open += ::fcntl(i, F_GETFD) != -1;
    return bytes_of(std::to_string(open));
  });
  CHECK(text_of(end.answer) == "1");  // the pipe of its answer
  CHECK(::close(file) == 0);
}

TEST_CASE("child: other processes may inspect it only where that is allowed") {
  for (const bool open : {false, true}) {
    const auto end = explore::call_in_child(
        [] { return std::vector<std::byte>(static_cast<std::size_t>(1 + ::prctl(PR_GET_DUMPABLE))); },
        {.open_to_others = open});
    REQUIRE(end.ok());
    CHECK(end->answer.size() == (open ? 2 : 1));
  }
}

TEST_CASE("child: processes that it has started end with it") {
  const NothingLeft nothing;
  for (const bool crashes : {false, true}) {
    const SharedNumber grandchild;
    const auto starting = [&]() -> Bytes {
      const pid_t started = ::fork();
      if (started == 0) hang();
      grandchild.set(started);
      if (crashes) ::raise(SIGSEGV);
      return {};
    };
    // The call ends although the grandchild, which does not end, holds the pipe.
    const ChildEnd end = call(starting);
    CHECK(end.ending == (crashes ? ChildEnding::crashed : ChildEnding::returned));
    REQUIRE(grandchild.get() > 0);
    CHECK(ends(grandchild.get()));
  }
}

TEST_CASE("child: it ends with its parent, however that ends") {
  const SharedNumber child;
  const pid_t parent = ::fork();
  if (parent == 0) {
    const auto end = call_in_child(
        [&]() -> Bytes {
          child.set(::getpid());
          hang();
        },
        {.seconds = 60});
    ::_exit(0);
  }
  REQUIRE(child.await() > 0);
  CHECK(is_alive(child.get()));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  CHECK(ends(child.get()));
}

TEST_CASE("child: memory beyond its limit is refused") {
  const NothingLeft nothing;
  const auto take = [](std::size_t bytes) {
    return [bytes] {
      Bytes memory(bytes, std::byte{1});
      return Bytes(memory.end() - 1, memory.end());
    };
  };
  const ChildLimits limits{.memory_bytes = std::uint64_t{256} << 20};
  CHECK(call(take(std::size_t{64} << 20), limits).ending == ChildEnding::returned);
  CHECK(call(take(std::size_t{1} << 30), limits).ending != ChildEnding::returned);
}

TEST_CASE("child: threads call at the same time, each gets its own answer") {
  const NothingLeft nothing;
  std::array<int, 2> right{};
  const auto caller = [&](std::size_t me) {
    for (int i = 0; i < 30; ++i) {
      const std::string own = std::to_string(me) + " " + std::to_string(i);
      const auto end = call_in_child([&]() -> Bytes {
        if (i % 3 == 1) ::raise(SIGSEGV);
        return bytes_of(own);
      });
      const auto expected = i % 3 == 1 ? ChildEnding::crashed : ChildEnding::returned;
      right[me] += end.ok() && end->ending == expected && (i % 3 == 1 || text_of(end->answer) == own);
    }
  };
  std::thread first(caller, 0), second(caller, 1);
  first.join(), second.join();
  CHECK(right[0] == 30);
  CHECK(right[1] == 30);
}
