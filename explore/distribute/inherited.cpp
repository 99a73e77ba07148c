#include "explore/distribute/inherited.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace dovetail::explore {

namespace {

class InheritedTransport : public Transport {
 public:
  explicit InheritedTransport(int socket) : socket_(socket) {}
  ~InheritedTransport() override { ::close(socket_); }
  InheritedTransport(const InheritedTransport&) = delete;

  // It knows itself and process 0 alone.
  int rank() const override { return 1; }
  int size() const override { return 2; }
  std::string host() const override {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
  }
  std::string library() const override { return "a board of a queue"; }

  Result<void> send(int, std::string_view text) override {
    if (text.size() > kMostTextBytes)
      return Diagnostic{"cannot reach process 0", "the board's socket",
                        fmt::format("a text of {} bytes is longer than {}", text.size(), kMostTextBytes),
                        "measure it with mpirun, or here", Cause::resource};
    std::string bytes(4, '\0');
    for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<char>(text.size() >> 8 * i);
    bytes += text;
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t now = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (now < 0 && errno != EINTR) return lost();
      sent += static_cast<std::size_t>(std::max<ssize_t>(now, 0));
    }
    return {};
  }

  Result<std::optional<Message>> receive(std::chrono::milliseconds patience) override {
    pollfd waits{socket_, POLLIN, 0};
    const int ready = ::poll(&waits, 1, static_cast<int>(patience.count()));
    if (ready == 0 || (ready < 0 && errno == EINTR)) return std::optional<Message>();
    std::array<unsigned char, 4> length;
    if (ready < 0 || !read_all(length.data(), length.size())) return lost();
    std::size_t bytes = 0;
    for (std::size_t i = length.size(); i-- > 0;) bytes = bytes << 8 | length[i];
    if (bytes > kMostTextBytes) return lost();
    Message message{0, std::string(bytes, '\0')};
    if (!read_all(message.text.data(), bytes)) return lost();
    return std::optional(std::move(message));
  }

 private:
  bool read_all(void* to, std::size_t bytes) const {
    for (std::size_t got = 0; got < bytes;) {
      const ssize_t now = ::recv(socket_, static_cast<char*>(to) + got, bytes - got, 0);
      if (now == 0 || (now < 0 && errno != EINTR)) return false;
      got += static_cast<std::size_t>(std::max<ssize_t>(now, 0));
    }
    return true;
  }
  static Diagnostic lost() {
    return {"cannot reach process 0", "the board's socket", "the connection has ended", "", Cause::resource};
  }

  int socket_;
};

}  // namespace

Result<std::unique_ptr<Transport>> inherited_transport() {
  const char *const is_one = std::getenv(kIsOneOfSeveral), *const number = std::getenv(kInheritedSocket);
  if (is_one == nullptr) return std::unique_ptr<Transport>();
  const int socket = number == nullptr ? -1 : std::atoi(number);
  int type = 0;
  socklen_t bytes = sizeof type;
  if (socket < 0 || ::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0)
    return Diagnostic{"cannot reach process 0", kInheritedSocket, "there is no such socket",
                      "the variable is for processes that `dovetail serve` starts"};
  return std::unique_ptr<Transport>(std::make_unique<InheritedTransport>(socket));
}

}  // namespace dovetail::explore
