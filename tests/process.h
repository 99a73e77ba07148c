// Runs a program to its end and keeps its output.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/temporary_folder.h"

namespace dovetail::test {

struct Finished {
  int exit = -1;           // -1: killed by a signal or by the limit
  std::string out, error;  // stdout, stderr
  int signal = 0;          // the signal that killed it
};

// Inspects the program's stderr so far and returns the signal to send to it now; 0: none yet.
using SignalWhen = std::function<int(const std::string& error)>;

// stdin is empty. A program that runs for longer than `limit` is killed: a test must never hang.
inline Finished run_process(const std::vector<std::string>& command,
                            std::chrono::seconds limit = std::chrono::seconds(300), SignalWhen signal_when = nullptr) {
  const TemporaryFolder folder;
  const auto open_or_exit = [](const std::string& path, int flags, int descriptor) {
    const int file = ::open(path.c_str(), flags, 0600);
    if (file < 0 || ::dup2(file, descriptor) < 0) ::_exit(127);
  };
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const std::string out = folder / "out", error = folder / "error";

  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    open_or_exit("/dev/null", O_RDONLY, 0);
    open_or_exit(out, O_WRONLY | O_CREAT, 1);
    open_or_exit(error, O_WRONLY | O_CREAT, 2);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  const auto content = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  Finished finished;
  const auto end = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (const int signal = signal_when ? signal_when(content(error)) : 0; signal != 0) {
      ::kill(child, signal);
      signal_when = nullptr;
    }
  }
  if (WIFEXITED(status)) finished.exit = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) finished.signal = WTERMSIG(status);
  finished.out = content(out);
  finished.error = content(error);
  return finished;
}

// Runs the built `dovetail` with these arguments.
inline Finished dovetail(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), DOVETAIL_CLI);
  return run_process(arguments);
}

}  // namespace dovetail::test
