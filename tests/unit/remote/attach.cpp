// What the queue grants to whom, seen by the messages on single connections.
#include <filesystem>
#include <optional>
#include <string>

#define ASIO_STANDALONE
#define ASIO_NO_DEPRECATED
#include "remote/certificates.h"
#include "remote/channel.h"
#include "tests/unit/remote/farm.h"

namespace dovetail::remote {

namespace {

// A connection of a test, which waits for each message.
class Dialed {
 public:
  Dialed(const Address& address, const std::filesystem::path& certificates) {
    const Credentials credentials = read_credentials(certificates, std::nullopt).value();
    tls_ = std::make_unique<asio::ssl::context>(credentials.client_context().value().release());
    wait([&]() -> asio::awaitable<void> { channel_ = (co_await Channel::connect(address, &*tls_)).value(); });
  }
  Dialed(Dialed&&) = default;
  ~Dialed() {
    if (!channel_) return;  // moved away
    channel_->close("the test ends");
    io_->restart();
    io_->run();
  }
  void send(const JoinRequest& message) {
    channel_->send(message);
    wait([&]() -> asio::awaitable<void> { co_await channel_->flushed(); });
  }
  // nullopt: the queue has ended the connection.
  std::optional<JoinResponse> read() {
    std::optional<JoinResponse> message;
    wait([&]() -> asio::awaitable<void> { message = co_await channel_->read_message<JoinResponse>(); });
    return message;
  }
  // The next message of a kind.
  template <typename Kind>
  std::optional<Kind> next() {
    while (const auto message = read())
      if (const auto* const kind = std::get_if<Kind>(&*message)) return *kind;
    return std::nullopt;
  }

 private:
  template <typename Work>
  void wait(Work&& work) {
    bool done = false;
    asio::co_spawn(*io_, std::forward<Work>(work), [&](const std::exception_ptr& thrown) {
      done = true;
      if (thrown) std::rethrow_exception(thrown);
    });
    io_->restart();
    while (!done && io_->run_one_for(milliseconds(10000)) > 0) continue;
    REQUIRE(done);
  }

  std::unique_ptr<asio::io_context> io_ = std::make_unique<asio::io_context>(1);
  std::unique_ptr<asio::ssl::context> tls_;
  std::shared_ptr<Channel> channel_;
};

struct CertifiedFarm {
  explicit CertifiedFarm(QueueOptions options = {}) {
    const std::set<Role> client{Role::measure};
    REQUIRE(
        make_certificates(
            farm, {{"queue", {Role::queue}, {"127.0.0.1"}}, {"pi4", {Role::board}}, {"alice", client}, {"bob", client}})
            .ok());
    options.address = parse_address("127.0.0.1:0").value();
    options.certificates = farm / "queue";
    queue = std::make_unique<RunningQueue>(std::move(options));
  }
  Dialed board() const {
    Dialed board = as("pi4");
    BoardEntry entry;
    entry.name = "pi4";
    board.send(Hello{kProtocolVersion, "", entry});
    REQUIRE(board.next<Welcome>());
    return board;
  }
  Dialed client(const std::string& name) const {
    Dialed client = as(name);
    client.send(Hello{});
    REQUIRE(client.next<Welcome>());
    return client;
  }
  Dialed as(const std::string& name) const { return Dialed(queue->address, farm / name); }

  test::TemporaryFolder folder;
  std::filesystem::path farm = folder / "farm";
  std::unique_ptr<RunningQueue> queue;
};

}  // namespace

TEST_CASE("attach: a token is for one connection of the one that it was given to") {
  const CertifiedFarm farm;
  Dialed board = farm.board(), alice = farm.client("alice");
  alice.send(LeaseOrder{1, "pi4", 0, "test"});
  const auto lease = alice.next<Lease>();
  const auto start = board.next<LeaseStart>();
  REQUIRE(lease);
  REQUIRE(start);
  CHECK_FALSE(start->machine_code);  // alice measures
  CHECK(lease->token != start->token);
  const auto attach = [&](const char* who, const std::string& token) {
    Dialed dialed = farm.as(who);
    dialed.send(Attach{token});
    const auto answer = dialed.read();
    return answer && std::holds_alternative<Welcome>(*answer);
  };
  CHECK_FALSE(attach("bob", lease->token));
  CHECK_FALSE(attach("alice", start->token));
  CHECK_FALSE(attach("alice", ""));
  CHECK_FALSE(attach("alice", std::string(48, '0')));
  CHECK(attach("alice", lease->token));
  CHECK_FALSE(attach("alice", lease->token));
  CHECK(attach("pi4", start->token));
}

TEST_CASE("attach: leases of others are neither renewed nor ended") {
  const CertifiedFarm farm;
  Dialed board = farm.board(), alice = farm.client("alice"), bob = farm.client("bob");
  alice.send(LeaseOrder{1, "", 0, "test"});
  const auto lease = alice.next<Lease>();
  REQUIRE(lease);
  bob.send(LeaseEnd{lease->lease, EndCause::finished, ""});
  CHECK(bob.next<Refusal>());
  bob.send(StatusQuery{});
  const auto report = bob.next<StatusReport>();
  REQUIRE(report);
  CHECK(report->boards.at(0).lease == lease->lease);
  CHECK(report->boards.at(0).client.empty());
  alice.send(LeaseEnd{lease->lease, EndCause::finished, ""});
  const auto end = board.next<LeaseEnd>();
  REQUIRE(end);
  CHECK(end->cause == EndCause::finished);
}

TEST_CASE("attach: a client that does not renew its lease loses it") {
  // Connections that send nothing: the queue's time is short.
  QueueOptions options;
  options.lease = milliseconds(300);
  const CertifiedFarm farm(std::move(options));
  Dialed board = farm.board(), alice = farm.client("alice");
  alice.send(LeaseOrder{1, "", 0, "test"});
  REQUIRE(alice.next<Lease>());
  const auto end = alice.next<LeaseEnd>();
  REQUIRE(end);
  CHECK(end->cause == EndCause::timed_out);
  CHECK(board.next<LeaseEnd>());
}

TEST_CASE("attach: a board whose certificate is revoked ends, and one whose queue is away tries again") {
  test::TemporaryFolder lists;
  std::ofstream(lists / "revoked.txt") << "";
  QueueOptions queue_options;
  queue_options.revoked = lists / "revoked.txt";
  CertifiedFarm farm(queue_options);
  BoardOptions options;
  options.queue = farm.queue->address;
  options.certificates = farm.farm / "pi4";
  options.entry.name = "pi4";
  options.folder = farm.folder / "board";
  RunningBoard board(std::move(options));
  const auto is_connected = [&] {
    return Client::status(farm.queue->address, farm.farm / "alice").value().boards.size() == 1;
  };
  CHECK(becomes_true(is_connected));
  queue_options.address = farm.queue->address;
  queue_options.certificates = farm.farm / "queue";
  farm.queue.reset();
  std::this_thread::sleep_for(milliseconds(300));
  farm.queue = std::make_unique<RunningQueue>(queue_options);
  CHECK(becomes_true(is_connected));
  std::ofstream(lists / "revoked.txt")
      << read_credentials(farm.farm / "pi4", std::nullopt).value().identity().fingerprint << "\n";
  REQUIRE(becomes_true([&] { return board.has_ended.load(); }));
  REQUIRE_FALSE(board.end_of_run.ok());
  CHECK(board.end_of_run.errors().front().why == "the queue refuses this certificate: it is revoked");
}

TEST_CASE("attach: a board needs the role board, and a client another") {
  const CertifiedFarm farm;
  Dialed alice = farm.as("alice"), board = farm.as("pi4");
  BoardEntry entry;
  entry.name = "alice's";
  alice.send(Hello{kProtocolVersion, "", entry});
  CHECK(alice.next<Refusal>());
  board.send(Hello{});
  CHECK(board.next<Refusal>());
  Dialed other = farm.as("alice");
  other.send(Hello{kProtocolVersion + 1, "", std::nullopt});
  const auto refusal = other.next<Refusal>();
  REQUIRE(refusal);
  CHECK(refusal->why.find("version") != std::string::npos);
}

}  // namespace dovetail::remote
