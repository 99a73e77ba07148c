// One end of a connection: frames over TLS, or over a Unix socket. All functions are called by the one thread that runs
// the connection's io_context.
//
// GCC 12 destroys an aggregate that is made within an expression with co_await twice (its bug 99576): in coroutines
// such values have names.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include <asio.hpp>
#include <asio/ssl.hpp>

#include "remote/address.h"
#include "remote/identity.h"
#include "remote/messages.h"
#include "remote/tls.h"

namespace dovetail::remote {

class Channel : public std::enable_shared_from_this<Channel> {
 public:
  using Socket = asio::generic::stream_protocol::socket;
  enum class Side { queue, peer };

  // `tls`: null on a Unix socket.
  Channel(Socket socket, Side side, asio::ssl::context* tls);
  Channel(const Channel&) = delete;

  // Connects to a queue, and verifies it. Error: with the reason, and a remedy. `is_revoked`: then whether the queue
  // says that this end's certificate is revoked, so that later attempts fail, too.
  static asio::awaitable<Result<std::shared_ptr<Channel>>> connect(const Address& address, asio::ssl::context* tls,
                                                                   bool* is_revoked = nullptr);
  // The queue's side of a new connection: who the peer is, once it is verified. The peer learns by the first message
  // that it is.
  asio::awaitable<Result<Identity>> accept();

  // The next frame; nullopt: the connection has ended, and why() is the reason. Only one read at a time.
  asio::awaitable<std::optional<std::string>> read(std::size_t most_bytes = kMostFrameBytes);
  // The same, decoded; a message that is not understood ends the connection.
  template <typename Message>
  asio::awaitable<std::optional<Message>> read_message(std::size_t most_bytes = kMostFrameBytes) {
    const std::optional<std::string> frame = co_await read(most_bytes);
    if (!frame) co_return std::nullopt;
    auto message = decode<Message>(*frame);
    if (!message.ok()) {
      close(message.errors().front().why);
      co_return std::nullopt;
    }
    co_return *std::move(message);
  }

  void send(std::string frame);  // queued; it is lost if the connection ends first
  template <typename Message>
  requires(!std::convertible_to<Message, std::string>) void send(const Message& message) { send(encode(message)); }
  asio::awaitable<void> room();     // waits until few bytes are queued
  asio::awaitable<void> flushed();  // waits until none are

  void close(std::string why);                                        // the first reason stays
  void close_after(std::chrono::milliseconds time, std::string why);  // unless stop_timer() comes first
  void stop_timer() { timer_.cancel(); }
  bool is_open() const { return open_; }
  const std::string& why() const { return why_; }
  Diagnostic problem(const std::string& where) const;  // the same, with a remedy if the other end refused the handshake

  using Clock = std::chrono::steady_clock;
  Clock::time_point heard() const { return heard_; }  // when the last frame came

 private:
  void end(const asio::error_code& error);
  asio::awaitable<asio::error_code> read_all(asio::mutable_buffer buffer);
  asio::awaitable<void> write_queued();
  asio::awaitable<asio::error_code> shake_hands();
  asio::awaitable<void> wait_for_queue(std::size_t most_bytes);

  Socket socket_;
  Side side_;
  std::unique_ptr<asio::ssl::stream<Socket&>> tls_;
  std::deque<std::string> queued_;
  std::size_t queued_bytes_ = 0;
  bool writing_ = false, open_ = true;
  std::string why_;
  asio::error_code error_;  // that ended it
  asio::steady_timer progress_, timer_;
  Clock::time_point heard_ = Clock::now();
};

}  // namespace dovetail::remote
