#include "remote/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include <fmt/format.h>

namespace dovetail::remote {

namespace {

constexpr std::size_t kFewBytes = std::size_t{1} << 20, kMostQueuedBytes = std::size_t{16} << 20;
constexpr auto kHandshakeTime = std::chrono::seconds(10);

auto no_throw(asio::error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

std::string reason_of(const asio::error_code& error) {
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated)
    return "the other end closed the connection";
  return error.message();
}

// The other end of a Unix socket: the user that this process runs as, or root.
Result<Identity> local_peer(Channel::Socket& socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
    return Diagnostic{"refused a connection", "", "the system does not say which user it is from", ""};
  if (peer.uid != ::geteuid() && peer.uid != 0)
    return Diagnostic{"refused a connection", fmt::format("user {}", peer.uid), "a Unix socket is for one user",
                      "use certificates between users"};
  return Identity{fmt::format("user {}", peer.uid), {Role::board, Role::measure, Role::run_code, Role::admin}, ""};
}

}  // namespace

Channel::Channel(Socket socket, Side side, asio::ssl::context* tls)
    : socket_(std::move(socket)), side_(side), progress_(socket_.get_executor()), timer_(socket_.get_executor()) {
  progress_.expires_at(Clock::time_point::max());  // canceled at each step, which wakes all that wait
  if (tls != nullptr) tls_ = std::make_unique<asio::ssl::stream<Socket&>>(socket_, *tls);
}

asio::awaitable<asio::error_code> Channel::shake_hands() {
  asio::error_code error;
  if (!tls_) co_return error;
  const auto side = side_ == Side::queue ? asio::ssl::stream_base::server : asio::ssl::stream_base::client;
  co_await tls_->async_handshake(side, no_throw(error));
  co_return error;
}

asio::awaitable<Result<std::shared_ptr<Channel>>> Channel::connect(const Address& address, asio::ssl::context* tls,
                                                                   bool* is_revoked) {
  const auto executor = co_await asio::this_coro::executor;
  const auto failed = [&](std::string why, std::string hint) {
    return Diagnostic{"cannot connect to the queue", to_string(address), std::move(why), std::move(hint),
                      Cause::resource};
  };
  asio::error_code error;
  Socket socket(executor);
  if (address.is_unix()) {
    asio::local::stream_protocol::socket local(executor);
    co_await local.async_connect(asio::local::stream_protocol::endpoint(address.path), no_throw(error));
    if (error) co_return failed(error.message(), "is `dovetail queue` running there?");
    socket = std::move(local);
    const Result<Identity> queue = local_peer(socket);  // not a socket that another user has put there
    if (!queue.ok()) co_return failed(queue.errors().front().why, "name the socket of your own queue");
  } else {
    asio::ip::tcp::resolver resolver(executor);
    const auto found = co_await resolver.async_resolve(address.host, std::to_string(address.port), no_throw(error));
    if (error) co_return failed(error.message(), "check the host's name");
    asio::ip::tcp::socket tcp(executor);
    asio::steady_timer timer(executor, kHandshakeTime);
    timer.async_wait([&tcp](const asio::error_code& canceled) {
      asio::error_code ignored;
      if (!canceled) tcp.close(ignored);
    });
    co_await asio::async_connect(tcp, found, no_throw(error));
    timer.cancel();
    if (error) co_return failed(error.message(), "is `dovetail queue` running there, and its port open?");
    tcp.set_option(asio::ip::tcp::no_delay(true), error);
    socket = std::move(tcp);
  }
  const auto channel = std::make_shared<Channel>(std::move(socket), Side::peer, tls);
  if (channel->tls_) {
    const Result<void> set = set_dialed_host(*channel->tls_->native_handle(), address.host);
    if (!set.ok()) co_return set.errors();
  }
  channel->close_after(kHandshakeTime, "the handshake takes too long");
  error = co_await channel->shake_hands();
  const bool is_verified = !error;
  std::optional<JoinResponse> greeting;
  if (error) channel->end(error);
  else greeting = co_await channel->read_message<JoinResponse>(kMostFirstFrameBytes);
  channel->stop_timer();
  if (greeting) co_return channel;
  const asio::error_code& refusal = channel->error_;
  if (is_revoked != nullptr && is_verified && refusal.category() == asio::error::get_ssl_category())
    *is_revoked = is_revoked_alert(static_cast<unsigned long>(refusal.value()));
  co_return channel->problem(to_string(address));
}

asio::awaitable<Result<Identity>> Channel::accept() {
  close_after(kHandshakeTime, "the handshake takes too long");
  const asio::error_code error = co_await shake_hands();
  stop_timer();
  if (error) {
    end(error);
    co_return problem("");
  }
  Result<Identity> identity = tls_ ? peer_identity(*tls_->native_handle()) : local_peer(socket_);
  if (identity.ok()) send(JoinResponse(Heartbeat{}));
  co_return identity;
}

Diagnostic Channel::problem(const std::string& where) const {
  Diagnostic problem{"the connection to the queue ended", where, why_, "is `dovetail queue` running there?",
                     Cause::resource};
  if (side_ == Side::queue) problem = {"refused a connection", where, why_, ""};
  if (tls_ && error_ && error_.category() == asio::error::get_ssl_category())
    problem = why_refused(*tls_->native_handle(), static_cast<unsigned long>(error_.value()));
  if (problem.where.empty()) problem.where = where;
  return problem;
}

asio::awaitable<asio::error_code> Channel::read_all(asio::mutable_buffer buffer) {
  asio::error_code error;
  if (tls_) co_await asio::async_read(*tls_, buffer, no_throw(error));
  else co_await asio::async_read(socket_, buffer, no_throw(error));
  co_return error;
}

asio::awaitable<std::optional<std::string>> Channel::read(std::size_t most_bytes) {
  const auto self = shared_from_this();
  std::string length(kLengthBytes, '\0'), frame;
  asio::error_code error;
  if (open_) error = co_await read_all(asio::buffer(length));
  if (open_ && !error) {
    const std::size_t bytes = length_of(length);
    if (bytes > most_bytes) {
      close(fmt::format("a message of {} bytes; at most {} are allowed here", bytes, most_bytes));
      co_return std::nullopt;
    }
    frame.resize(bytes);
    error = co_await read_all(asio::buffer(frame));
  }
  if (error) end(error);
  if (!open_) co_return std::nullopt;
  heard_ = Clock::now();
  co_return frame;
}

void Channel::send(std::string frame) {
  if (!open_) return;
  queued_.push_back(framed(frame));
  queued_bytes_ += queued_.back().size();
  if (queued_bytes_ > kMostQueuedBytes) return close("it does not read what is sent");
  if (!writing_) {
    writing_ = true;
    asio::co_spawn(socket_.get_executor(), write_queued(), asio::detached);
  }
}

asio::awaitable<void> Channel::write_queued() {
  const auto self = shared_from_this();
  while (open_ && !queued_.empty()) {
    const std::string frame = std::move(queued_.front());
    queued_.pop_front();
    asio::error_code error;
    if (tls_) co_await asio::async_write(*tls_, asio::buffer(frame), no_throw(error));
    else co_await asio::async_write(socket_, asio::buffer(frame), no_throw(error));
    queued_bytes_ -= frame.size();
    progress_.cancel();
    if (error) end(error);
  }
  writing_ = false;
  progress_.cancel();
}

asio::awaitable<void> Channel::wait_for_queue(std::size_t most_bytes) {
  const auto self = shared_from_this();
  while (open_ && queued_bytes_ > most_bytes) {
    asio::error_code canceled;
    co_await progress_.async_wait(no_throw(canceled));
  }
}

asio::awaitable<void> Channel::room() { return wait_for_queue(kFewBytes); }
asio::awaitable<void> Channel::flushed() { return wait_for_queue(0); }

void Channel::end(const asio::error_code& error) {
  if (open_) error_ = error;
  close(reason_of(error));
}

void Channel::close(std::string why) {
  if (!open_) return;
  open_ = false;
  why_ = std::move(why);
  asio::error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_both, ignored);
  socket_.close(ignored);
  timer_.cancel();
  progress_.cancel();
}

void Channel::close_after(std::chrono::milliseconds time, std::string why) {
  timer_.expires_after(time);
  timer_.async_wait([self = weak_from_this(), why = std::move(why)](const asio::error_code& canceled) mutable {
    if (const auto channel = self.lock(); channel && !canceled) channel->close(std::move(why));
  });
}

}  // namespace dovetail::remote
