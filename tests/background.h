// A program that runs while the test does other things, with its output in a file. Killed at the end of the scope.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dovetail::test {

class Background {
 public:
  // `output`: for its stdout and stderr.
  Background(const std::vector<std::string>& command, std::filesystem::path output) : output_(std::move(output)) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const int file = ::open(output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    process_ = ::fork();
    if (process_ < 0 || file < 0) throw std::runtime_error("cannot start " + command.front());
    if (process_ == 0) {
      ::dup2(file, 1), ::dup2(file, 2);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(file);
  }
  ~Background() { end(SIGKILL); }
  Background(const Background&) = delete;

  pid_t process() const { return process_; }
  // Sends the signal and waits for the end; the exit code, or -signal. 0 if it has ended already.
  int end(int signal) {
    if (process_ <= 0) return 0;
    if (signal != 0) ::kill(process_, signal);
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  int wait() { return end(0); }

  std::string output() const {
    std::ifstream file(output_, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  // Whether the output contains `part` within the time.
  bool says(const std::string& part, std::chrono::seconds limit = std::chrono::seconds(60)) const {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (output().find(part) == std::string::npos) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }

 private:
  std::filesystem::path output_;
  pid_t process_ = 0;
};

}  // namespace dovetail::test
