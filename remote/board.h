// A board: connects to a queue, and runs the commands of the clients that it is leased to, one at a time, each in a
// folder with the client's files and in a sandbox.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "remote/address.h"
#include "remote/messages.h"

namespace dovetail::remote {

// The environment variable that gives a command the name of its board and its facts, each on a line.
inline constexpr const char* kBoardVariable = "DOVETAIL_BOARD";

struct BoardOptions {
  Address queue;
  std::optional<std::filesystem::path> certificates = {};   // needed unless the queue is at a Unix socket
  BoardEntry entry;                                         // machine_code: allowed, if the sandbox can confine it
  std::filesystem::path folder;                             // for files of clients; created, for this user alone
  std::uint64_t most_store_bytes = std::uint64_t{8} << 30;  // of all clients together
  std::filesystem::path program;                            // executes the commands
  // The file in a command's folder that lists the SHA-256 of files whose machine code may run: those of a client with
  // the role run-code. Empty: none is written.
  std::filesystem::path record = {};
  std::vector<std::string> commands;                       // the first arguments that clients may give
  std::chrono::seconds most_time{std::chrono::hours(12)};  // of a command
  std::uint64_t most_memory_bytes = 0;                     // of a command; 0: half of the machine's
  std::uint64_t most_file_bytes = std::uint64_t{4} << 30;  // of each file that a command writes, and of all results
  // A device of the board, whose open files commands inherit (SandboxOrder::inherited), with the variable that names
  // them. Only commands that `is_used_by` accepts, by their arguments, get it; and since most devices reach all memory
  // of the machine, these run no machine code, unless it is confined.
  struct Device {
    std::string variable, value;
    std::vector<int> files;
    bool confined = false;
    std::function<bool(const std::vector<std::string>& arguments)> is_used_by;
  };
  std::optional<Device> device = {};
  std::function<void(const std::string& line)> log = nullptr;
};

class Board {
 public:
  // Errors: the certificates or the folder cannot be used; another process serves from the folder.
  static Result<Board> open(BoardOptions options);
  Board(Board&&) noexcept;
  ~Board();

  // Whether commands of clients with the role run-code may run machine code; if not, the reason.
  Result<void> machine_code() const;
  // Connects, again and again if the queue is not there, and serves until `stopped`, which is asked several times a
  // second. Error: the queue refuses the board, also later, because its certificate has been revoked.
  Result<void> run(const std::function<bool()>& stopped);

 private:
  struct State;
  explicit Board(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dovetail::remote
