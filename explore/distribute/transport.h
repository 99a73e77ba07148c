// Messages between the processes of one command: process 0 has the work and the database, the others do the jobs that
// it sends. Implemented with Open MPI (mpi.h), and for boards of a queue (inherited.h, cli/shell/board_processes.h);
// tests and a benchmark have other implementations.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::explore {

// Only one thread may use it.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;             // number of processes, including this one
  virtual std::string host() const = 0;     // this process's machine, for messages
  virtual std::string library() const = 0;  // "Open MPI v4.1.4"

  struct Message {
    int from = 0;
    std::string text;
    bool lost = false;  // the process has ended; one that replaces it says hello under its number
  };
  // Messages between two processes keep their order. Process 0 sends to all others, which send only to process 0.
  virtual Result<void> send(int to, std::string_view text) = 0;
  // The next message from any process; nullopt after `patience` without a message.
  virtual Result<std::optional<Message>> receive(std::chrono::milliseconds patience) = 0;
};

}  // namespace dovetail::explore
