// Messages between the processes of one command: process 0 has the work and the database, the others do what it gives
// them. Implemented by Open MPI (mpi.h); tests and the benchmark of the master have others.
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
  virtual int size() const = 0;             // processes, this one included
  virtual std::string host() const = 0;     // this process's machine, for messages to people
  virtual std::string library() const = 0;  // "Open MPI v4.1.4"

  struct Message {
    int from = 0;
    std::string text;
  };
  // In order between two processes. Process 0 talks to all, the others to it alone.
  virtual Result<void> send(int to, std::string_view text) = 0;
  // The next message from anyone; nullopt after `patience` without one.
  virtual Result<std::optional<Message>> receive(std::chrono::milliseconds patience) = 0;
};

}  // namespace dovetail::explore
