// A client: orders boards from a queue, and lets them run a command on files that it sends. A thread of the client's
// own keeps the connections; what happens on them arrives as events, in the order of each board.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "remote/address.h"
#include "remote/messages.h"

namespace dovetail::remote {

struct SentFile {
  std::string path;              // in the command's folder
  std::filesystem::path source;  // here
};

struct CommandOrder {
  Place place;
  std::optional<std::filesystem::path> certificates = {};  // needed unless the queue is at a Unix socket
  std::string what;                                        // for status reports: "tune resnet18.onnx"
  std::vector<std::string> arguments;                      // as of CommandStart
  std::vector<SentFile> files;
  std::vector<std::string> results;
  bool texts = false;          // the boards are processes of a distributed search; a lost one is replaced
  int boards = 1;              // with the label; each runs the command
  std::uint32_t priority = 0;  // larger ones first
};

// What happens on a board, numbered from 1; Waiting on none.
struct Began {
  BoardEntry board;
};
struct Lost {
  EndCause cause = EndCause::unspecified;
  Diagnostic error;
  bool is_replaced = false;  // another board will do the work
};
struct Event {
  int board = 0;
  std::variant<Waiting, Began, Output, Text, FileChunk, CommandEnd, Lost> what;
};

class Client {
 public:
  // Connects, and orders the boards. Errors: the queue is not there, or refuses the client; a file cannot be read.
  static Result<std::unique_ptr<Client>> start(CommandOrder order);
  ~Client();  // gives the boards back; commands that run are ended

  // The next event; nullopt: none in this time. Error: the connection to the queue is lost.
  Result<std::optional<Event>> next(std::chrono::milliseconds patience);
  void send(int board, std::string text);  // to the command there
  // Asks the commands on the boards to end in their own way (SIGINT). Their results then come, and their ends. False:
  // none runs.
  bool interrupt();

  // The boards of a queue, and who waits for them; an administrator may first end a lease. Error: there is no such
  // lease, or it is another client's and this one is no administrator.
  static Result<StatusReport> status(const Address& queue, const std::optional<std::filesystem::path>& certificates,
                                     std::optional<std::uint64_t> ended_lease = std::nullopt);

 private:
  struct State;
  explicit Client(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dovetail::remote
