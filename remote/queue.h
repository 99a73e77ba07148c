// The queue: boards and clients connect to it; it leases each board to one client at a time, and passes their messages
// on. It reads no file and no command of a client.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "remote/address.h"

namespace dovetail::remote {

struct QueueOptions {
  Address address;                                         // to listen at; port 0: any free one
  std::optional<std::filesystem::path> certificates = {};  // needed unless the address is a Unix socket
  std::optional<std::filesystem::path> revoked = {};       // fingerprints of certificates, one a line
  std::chrono::milliseconds heartbeat{5000};               // a peer that is silent for three of them is lost
  std::chrono::milliseconds lease{30000};                  // a lease ends unless it is renewed in this time
  std::chrono::seconds longest_lease{std::chrono::hours(12)};
  std::function<void(const std::string& line)> log = nullptr;  // of connections and leases
};

class Queue {
 public:
  // Listens. Errors: the certificates cannot be used; the address is taken.
  static Result<Queue> open(QueueOptions options);
  Queue(Queue&&) noexcept;
  ~Queue();

  const Address& address() const;  // with its real port
  // Serves until `stopped`, which is asked several times a second.
  void run(const std::function<bool()>& stopped);

 private:
  struct State;
  explicit Queue(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dovetail::remote
