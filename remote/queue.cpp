#include "remote/queue.h"

#include <openssl/rand.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/printable.h"
#include "remote/channel.h"

namespace dovetail::remote {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostPeers = 1024;
// Connections that have not said yet who they are; of one address; and peers and orders of one name.
constexpr std::size_t kMostUnknown = 512, kMostUnknownOfAddress = 64, kMostPeersOfName = 128, kMostOrdersOfName = 1000;
constexpr std::size_t kMostOrders = 2000, kMostShownOrders = 1000;
constexpr std::size_t kMostWordBytes = 128, kMostWords = 16, kMostWhatBytes = 200;
constexpr std::uint32_t kMostPriority = 1000;
constexpr auto kFirstFrameTime = std::chrono::seconds(10);
constexpr auto kBoardEndTime = std::chrono::seconds(60);  // in which a board ends the work of a lease
constexpr auto kTick = std::chrono::milliseconds(250);

std::string random_token() {
  std::array<unsigned char, 24> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return "";
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::uint64_t seconds_since(Clock::time_point time) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - time).count());
}

// Why a board's name or labels cannot be used.
std::optional<std::string> bad_entry(const BoardEntry& entry) {
  const auto is_word = [](const std::string& word) {
    return !word.empty() && word.size() <= kMostWordBytes && std::ranges::all_of(word, [](unsigned char c) {
      return std::isalnum(c) || c == '.' || c == '_' || c == '-';
    });
  };
  if (entry.labels.size() > kMostWords || entry.facts.size() > kMostWords)
    return fmt::format("it has more than {} labels or facts", kMostWords);
  if (!is_word(entry.name) || !std::ranges::all_of(entry.labels, is_word))
    return fmt::format("names and labels are of letters, digits, and the characters . _ -, at most {}", kMostWordBytes);
  for (const std::string& fact : entry.facts)
    if (fact.size() > kMostWordBytes || printable(fact) != fact) return "a fact is too long, or not printable";
  return std::nullopt;
}

// A board or a client.
struct Peer {
  std::shared_ptr<Channel> channel;
  Identity identity;
  std::optional<BoardEntry> board;
  std::uint64_t lease = 0;  // of a board, until it has ended the lease's work
  bool is_here = true;
  bool is_revoked = false;  // it learns why, and nothing of it is taken any more
};

struct Waiter {
  std::shared_ptr<Peer> client;
  LeaseOrder order;
  Clock::time_point made = Clock::now();
  std::optional<Waiting> told = {};
};

// One end of the connection between a client and its board.
struct End {
  std::string token;  // empty: used
  std::string name, fingerprint;
  std::shared_ptr<Channel> channel = nullptr;
};

struct Leased {
  std::shared_ptr<Peer> client, board;
  std::string what;
  End client_end, board_end;
  Clock::time_point begun = Clock::now(), renewed = begun;
  std::optional<Clock::time_point> ended = {};  // and the board has been asked to end its work
};

}  // namespace

struct Queue::State {
  explicit State(QueueOptions given) : options(std::move(given)) {}

  Result<void> listen();
  asio::awaitable<void> accept_all();
  asio::awaitable<void> watch(const std::function<bool()>& stopped);
  asio::awaitable<void> meet(std::shared_ptr<Channel> channel, std::string address);
  asio::awaitable<void> serve(std::shared_ptr<Peer> peer);
  asio::awaitable<void> attach(const std::shared_ptr<Channel>& channel, const Identity& identity,
                               const std::string& token);
  asio::awaitable<void> relay(std::shared_ptr<Channel> from, std::shared_ptr<Channel> to);

  std::optional<Refusal> admit(const Hello& hello, const Identity& identity) const;
  void take(const std::shared_ptr<Peer>& peer, JoinRequest& request);
  void take_order(const std::shared_ptr<Peer>& peer, LeaseOrder order);
  void take_end(const std::shared_ptr<Peer>& peer, const LeaseEnd& end);
  void lose(const std::shared_ptr<Peer>& peer);
  void lend();
  void end(std::uint64_t lease, EndCause cause, std::string why);
  void forget(std::uint64_t lease);
  StatusReport report(const Identity& reader) const;

  void log(std::string line) const {
    if (options.log) options.log(line);
  }
  bool is_revoked(const Identity& identity) const {
    return credentials && !identity.fingerprint.empty() && credentials->is_revoked(identity.fingerprint);
  }

  QueueOptions options;
  std::optional<Credentials> credentials;
  std::optional<asio::ssl::context> tls;
  asio::io_context io{1};
  std::optional<asio::ip::tcp::acceptor> tcp;
  std::optional<asio::local::stream_protocol::acceptor> local;
  std::optional<std::pair<dev_t, ino_t>> socket;  // the file of a Unix socket, unless another one has replaced it
  std::map<std::string, std::size_t> unknown;     // connections by their address
  std::list<std::shared_ptr<Peer>> peers;
  std::list<Waiter> waiters;  // in the order in which they came
  std::map<std::uint64_t, Leased> leases;
  std::uint64_t last_lease = 0;
  std::string warned;  // of the list of revoked certificates
};

Result<void> Queue::State::listen() {
  const auto failed = [&](const asio::error_code& error) {
    return Diagnostic{"cannot listen", to_string(options.address), error.message(),
                      "name an address of this machine, and a port that no other program has", Cause::resource};
  };
  asio::error_code error;
  Address& address = options.address;
  if (address.is_unix()) {
    // A socket that a queue has left behind may be replaced, but not one that a queue listens at.
    asio::local::stream_protocol::socket probe(io);
    probe.connect(asio::local::stream_protocol::endpoint(address.path), error);
    if (!error) return failed(asio::error::address_in_use);
    struct stat found {};
    if (::stat(address.path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) ::unlink(address.path.c_str());
    local.emplace(io);
    local->open(asio::local::stream_protocol(), error);
    const mode_t before = ::umask(0177);  // only this user may connect
    if (!error) local->bind(asio::local::stream_protocol::endpoint(address.path), error);
    ::umask(before);
    if (!error) local->listen(asio::socket_base::max_listen_connections, error);
    if (!error && ::stat(address.path.c_str(), &found) == 0) socket = {found.st_dev, found.st_ino};
    return error ? Result<void>(failed(error)) : Result<void>();
  }
  asio::ip::tcp::resolver resolver(io);
  const auto found =
      resolver.resolve(address.host, std::to_string(address.port), asio::ip::tcp::resolver::passive, error);
  if (error || found.empty()) return failed(error);
  const asio::ip::tcp::endpoint endpoint = found.begin()->endpoint();
  tcp.emplace(io);
  tcp->open(endpoint.protocol(), error);
  if (!error) tcp->set_option(asio::socket_base::reuse_address(true), error);
  if (!error) tcp->bind(endpoint, error);
  if (!error) tcp->listen(asio::socket_base::max_listen_connections, error);
  if (error) return failed(error);
  address.port = tcp->local_endpoint().port();
  return {};
}

asio::awaitable<void> Queue::State::accept_all() {
  while (true) {
    asio::error_code error;
    Channel::Socket socket(io);
    std::string address;
    if (tcp) {
      asio::ip::tcp::socket accepted(io);
      co_await tcp->async_accept(accepted, asio::redirect_error(asio::use_awaitable, error));
      asio::error_code ignored;
      if (!error) accepted.set_option(asio::ip::tcp::no_delay(true), ignored);
      if (!error) address = accepted.remote_endpoint(ignored).address().to_string();
      if (!error) socket = std::move(accepted);
    } else {
      asio::local::stream_protocol::socket accepted(io);
      co_await local->async_accept(accepted, asio::redirect_error(asio::use_awaitable, error));
      if (!error) socket = std::move(accepted);
    }
    if (error == asio::error::operation_aborted) co_return;
    if (error) {  // for example no free descriptor
      log(fmt::format("cannot accept a connection: {}", error.message()));
      asio::steady_timer pause(io, std::chrono::milliseconds(100));
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    std::size_t all = 0;
    for (const auto& [each, count] : unknown) all += count;
    const auto known = unknown.find(address);
    if (all >= kMostUnknown || (known != unknown.end() && known->second >= kMostUnknownOfAddress))
      continue;  // closes it
    const auto channel = std::make_shared<Channel>(std::move(socket), Channel::Side::queue, tls ? &*tls : nullptr);
    asio::co_spawn(io, meet(channel, address), asio::detached);
  }
}

// Verifies a new connection, and serves what its first message asks for.
asio::awaitable<void> Queue::State::meet(std::shared_ptr<Channel> channel, std::string address) {
  ++unknown[address];
  Result<Identity> identity = co_await channel->accept();
  std::optional<JoinRequest> first;
  if (identity.ok()) {
    channel->close_after(kFirstFrameTime, "it does not say what it wants");
    first = co_await channel->read_message<JoinRequest>(kMostFirstFrameBytes);
    channel->stop_timer();
  }
  if (--unknown[address] == 0) unknown.erase(address);
  if (!identity.ok()) {
    log(to_string(identity.errors()));
  } else if (!first) {
    log(fmt::format("{}: {}", identity->name, channel->why()));
  } else if (auto* const attaching = std::get_if<Attach>(&*first)) {
    co_await attach(channel, *identity, attaching->token);
    co_return;  // the lease has the connection
  } else if (auto* const hello = std::get_if<Hello>(&*first)) {
    if (const std::optional<Refusal> refusal = admit(*hello, *identity)) {
      log(fmt::format("refused {}: {}", identity->name, refusal->why));
      channel->send(JoinResponse(*refusal));
      channel->close_after(kFirstFrameTime, "refused");
      co_await channel->flushed();
    } else {
      const auto peer = std::make_shared<Peer>(Peer{channel, *identity, std::move(hello->board)});
      co_await serve(peer);
    }
  } else {
    log(fmt::format("{}: the first message is of the wrong kind", identity->name));
  }
  channel->close("the queue closed the connection");
}

std::optional<Refusal> Queue::State::admit(const Hello& hello, const Identity& identity) const {
  if (hello.version != kProtocolVersion)
    return Refusal{"the queue refuses the connection",
                   fmt::format("this program speaks version {} of the protocol, and the queue version {}",
                               hello.version, kProtocolVersion),
                   "use Dovetail of the same version"};
  const auto of_name = static_cast<std::size_t>(
      std::ranges::count_if(peers, [&](const auto& peer) { return peer->identity.name == identity.name; }));
  if (peers.size() >= kMostPeers || of_name >= kMostPeersOfName)
    return Refusal{"the queue refuses the connection",
                   fmt::format("it has {} connections, {} of {}", peers.size(), of_name, identity.name),
                   "try again later"};
  if (hello.board) {
    if (!identity.is(Role::board))
      return Refusal{"the queue refuses the board",
                     fmt::format("the certificate of {} has no role board", identity.name),
                     "make one: `dovetail certificates FOLDER --board NAME`"};
    const std::string& name = hello.board->name;
    if (const auto why = bad_entry(*hello.board))
      return Refusal{"the queue refuses the board", *why, "give it another name and other labels"};
    if (!identity.fingerprint.empty() && name != identity.name)
      return Refusal{"the queue refuses the board",
                     fmt::format("its name is {}, and its certificate is for {}", name, identity.name),
                     "leave out --name, or make a certificate for the name"};
    for (const auto& peer : peers)
      if (peer->board && peer->board->name == name) {
        if (identity.fingerprint.empty() || peer->identity.fingerprint != identity.fingerprint)
          return Refusal{"the queue refuses the board", fmt::format("a board of the name {} is connected", name),
                         "give each board another name: `dovetail serve --name NAME`"};
        peer->channel->close("the board has connected again");
      }
    return std::nullopt;
  }
  if (!identity.is(Role::measure) && !identity.is(Role::run_code) && !identity.is(Role::admin))
    return Refusal{"the queue refuses the connection",
                   fmt::format("the certificate of {} has no role of a client", identity.name),
                   "make one: `dovetail certificates FOLDER --client NAME:measure`"};
  return std::nullopt;
}

asio::awaitable<void> Queue::State::serve(std::shared_ptr<Peer> peer) {
  peers.push_back(peer);
  log(peer->board ? fmt::format("board {} connected", peer->board->name)
                  : fmt::format("client {} connected", peer->identity.name));
  peer->channel->send(JoinResponse(Welcome{static_cast<std::uint32_t>(options.heartbeat.count()),
                                           static_cast<std::uint32_t>(options.lease.count()), peer->identity.name}));
  lend();
  while (auto request = co_await peer->channel->read_message<JoinRequest>(kMostFirstFrameBytes)) {
    if (!peer->is_revoked) take(peer, *request);
    co_await peer->channel->room();
  }
  lose(peer);
}

void Queue::State::take(const std::shared_ptr<Peer>& peer, JoinRequest& request) {
  if (std::holds_alternative<Heartbeat>(request)) {
    peer->channel->send(JoinResponse(Heartbeat{}));
  } else if (auto* const order = std::get_if<LeaseOrder>(&request); order != nullptr && !peer->board) {
    take_order(peer, std::move(*order));
  } else if (const auto* const renewal = std::get_if<LeaseRenewal>(&request)) {
    const auto lease = leases.find(renewal->lease);
    if (lease != leases.end() && lease->second.client == peer) lease->second.renewed = Clock::now();
  } else if (const auto* const end = std::get_if<LeaseEnd>(&request)) {
    take_end(peer, *end);
  } else if (std::holds_alternative<StatusQuery>(request)) {
    peer->channel->send(JoinResponse(report(peer->identity)));
  } else {
    peer->channel->close("a message of the wrong kind");
  }
}

void Queue::State::take_order(const std::shared_ptr<Peer>& peer, LeaseOrder order) {
  const bool may = peer->identity.is(Role::measure) || peer->identity.is(Role::run_code);
  const auto of_name = static_cast<std::size_t>(std::ranges::count_if(
      waiters, [&](const Waiter& waiter) { return waiter.client->identity.name == peer->identity.name; }));
  order.what = printable(order.what.substr(0, kMostWhatBytes));
  order.label = order.label.substr(0, kMostWordBytes);
  order.priority = std::min(order.priority, kMostPriority);
  if (!may || waiters.size() >= kMostOrders || of_name >= kMostOrdersOfName) {
    peer->channel->send(JoinResponse(Refusal{
        "the queue refuses the order",
        may ? fmt::format("{} orders wait already", waiters.size())
            : fmt::format("the certificate of {} has neither the role measure nor run-code", peer->identity.name),
        may ? "try again later" : "make one: `dovetail certificates FOLDER --client NAME:measure`"}));
    return;
  }
  waiters.push_back({peer, std::move(order)});
  lend();
}

void Queue::State::take_end(const std::shared_ptr<Peer>& peer, const LeaseEnd& given) {
  const auto lease = leases.find(given.lease);
  if (lease == leases.end()) {
    if (peer->board) return;  // it has ended already
    peer->channel->send(JoinResponse(Refusal{"cannot end the lease", fmt::format("there is no lease {}", given.lease),
                                             "`dovetail queue ADDRESS --status` lists them"}));
  } else if (lease->second.board == peer) {
    // The board has ended the lease's work, or refuses it.
    end(given.lease, given.cause, given.why);
    forget(given.lease);
    lend();
  } else if (lease->second.client == peer) {
    end(given.lease, EndCause::finished, "");
  } else if (peer->identity.is(Role::admin) || peer->identity.name == lease->second.client->identity.name) {
    end(given.lease, EndCause::canceled, fmt::format("{} ended it", peer->identity.name));
  } else {
    peer->channel->send(JoinResponse(
        Refusal{"cannot end the lease", fmt::format("the certificate of {} has no role admin", peer->identity.name),
                "ask an administrator of the queue"}));
  }
}

// Its connection has ended.
void Queue::State::lose(const std::shared_ptr<Peer>& peer) {
  peer->is_here = false;
  peers.remove(peer);
  log(fmt::format("{} {}: {}", peer->board ? "board" : "client", peer->board ? peer->board->name : peer->identity.name,
                  peer->channel->why()));
  waiters.remove_if([&](const Waiter& waiter) { return waiter.client == peer; });
  std::vector<std::uint64_t> lost;
  for (const auto& [number, lease] : leases)
    if (lease.client == peer || lease.board == peer) lost.push_back(number);
  for (const std::uint64_t number : lost) {
    const bool is_board = leases.at(number).board == peer;
    end(number, is_board ? EndCause::board_lost : EndCause::client_lost, peer->channel->why());
    if (is_board) forget(number);
  }
  lend();
}

// Leases idle boards to those that wait for one: by priority, then to the client that has fewest boards, then to the
// one that came first.
void Queue::State::lend() {
  while (true) {
    std::map<std::string, std::size_t> held;
    for (const auto& [number, lease] : leases) ++held[lease.client->identity.name];
    const auto fits = [](const Waiter& waiter, const Peer& peer) {
      const std::string& label = waiter.order.label;
      return peer.board && (label.empty() || peer.board->name == label ||
                            std::ranges::find(peer.board->labels, label) != peer.board->labels.end());
    };
    auto best = waiters.end();
    std::shared_ptr<Peer> board;
    for (auto waiter = waiters.begin(); waiter != waiters.end(); ++waiter) {
      if (best != waiters.end()) {
        const std::size_t his = held[waiter->client->identity.name], least = held[best->client->identity.name];
        if (waiter->order.priority < best->order.priority ||
            (waiter->order.priority == best->order.priority && his >= least))
          continue;
      }
      const auto idle = std::ranges::find_if(peers, [&](const auto& peer) {
        return fits(*waiter, *peer) && peer->lease == 0 && !peer->is_revoked && peer->channel->is_open();
      });
      if (idle == peers.end()) continue;
      best = waiter;
      board = *idle;
    }
    if (best == waiters.end()) break;
    const std::uint64_t number = ++last_lease;
    Leased lease{best->client,
                 board,
                 best->order.what,
                 {random_token(), best->client->identity.name, best->client->identity.fingerprint},
                 {random_token(), board->identity.name, board->identity.fingerprint}};
    board->lease = number;
    board->channel->send(JoinResponse(LeaseStart{number, lease.board_end.token, best->client->identity.name,
                                                 best->client->identity.is(Role::run_code),
                                                 static_cast<std::uint64_t>(options.longest_lease.count())}));
    best->client->channel->send(JoinResponse(Lease{best->order.order, number, lease.client_end.token, *board->board}));
    log(fmt::format("lease {}: board {} to {} for {}", number, board->board->name, best->client->identity.name,
                    best->order.what));
    leases.emplace(number, std::move(lease));
    waiters.erase(best);
  }
  // Those that wait learn it when something has changed for them.
  for (Waiter& waiter : waiters) {
    std::uint32_t boards = 0, before = 0;
    bool is_earlier = true;
    for (const Waiter& other : waiters) {
      is_earlier &= &other != &waiter;
      if (other.order.label != waiter.order.label || &other == &waiter) continue;
      if (other.order.priority > waiter.order.priority || (is_earlier && other.order.priority == waiter.order.priority))
        ++before;
    }
    for (const auto& peer : peers)
      if (peer->board && (waiter.order.label.empty() || peer->board->name == waiter.order.label ||
                          std::ranges::find(peer->board->labels, waiter.order.label) != peer->board->labels.end()))
        ++boards;
    const Waiting now{waiter.order.order, before, boards};
    if (waiter.told && waiter.told->before == now.before && waiter.told->boards == now.boards) continue;
    waiter.told = now;
    waiter.client->channel->send(JoinResponse(now));
  }
}

// Says so to both. The lease is forgotten when the board has ended its work.
void Queue::State::end(std::uint64_t number, EndCause cause, std::string why) {
  Leased& lease = leases.at(number);
  if (lease.ended) return;
  lease.ended = Clock::now();
  log(fmt::format("lease {}: {}{}{}", number, to_string(cause), why.empty() ? "" : ", ", why));
  const JoinResponse told(LeaseEnd{number, cause, std::move(why)});
  for (const auto& peer : {lease.client, lease.board})
    if (peer->is_here) peer->channel->send(told);
  for (End* const each : {&lease.client_end, &lease.board_end}) {
    each->token.clear();
    if (each->channel) each->channel->close("the lease has ended");
  }
}

void Queue::State::forget(std::uint64_t number) {
  leases.at(number).board->lease = 0;
  leases.erase(number);
}

// Only an administrator sees what others do.
StatusReport Queue::State::report(const Identity& reader) const {
  const auto may_see = [&](const Peer& client) {
    return reader.is(Role::admin) || client.identity.name == reader.name;
  };
  StatusReport report;
  for (const auto& peer : peers) {
    if (!peer->board) continue;
    StatusReport::Board row{*peer->board, peer->lease, "", "", 0};
    if (const auto lease = leases.find(peer->lease); lease != leases.end()) {
      row.seconds = seconds_since(lease->second.begun);
      if (may_see(*lease->second.client)) {
        row.client = lease->second.client->identity.name;
        row.what = lease->second.what;
      }
    }
    report.boards.push_back(std::move(row));
  }
  for (const Waiter& waiter : waiters) {
    if (report.orders.size() >= kMostShownOrders) break;
    const bool shown = may_see(*waiter.client);
    report.orders.push_back({shown ? waiter.client->identity.name : "", waiter.order.label,
                             shown ? waiter.order.what : "", waiter.order.priority, seconds_since(waiter.made)});
  }
  return report;
}

// The connection between a client and its board. A token is for one connection of the peer that it was given to.
asio::awaitable<void> Queue::State::attach(const std::shared_ptr<Channel>& channel, const Identity& identity,
                                           const std::string& token) {
  End *own = nullptr, *other = nullptr;
  for (auto& [number, lease] : leases)
    for (const auto& [one, another] :
         {std::pair(&lease.client_end, &lease.board_end), std::pair(&lease.board_end, &lease.client_end)})
      if (!token.empty() && one->token == token && one->name == identity.name &&
          one->fingerprint == identity.fingerprint)
        own = one, other = another;
  if (own == nullptr) {
    log(fmt::format("{}: a token that is not for it, or was used", identity.name));
    channel->send(JoinResponse(Refusal{"the queue refuses the connection", "there is no such lease now", ""}));
    channel->close_after(kFirstFrameTime, "refused");
    co_await channel->flushed();
    channel->close("refused");
    co_return;
  }
  own->token.clear();
  own->channel = channel;
  channel->send(JoinResponse(Welcome{0, 0, identity.name}));
  // The second one starts both directions; until then nothing is read.
  if (!other->channel) co_return;
  const std::shared_ptr<Channel> first = other->channel;
  asio::co_spawn(io, relay(first, channel), asio::detached);
  co_await relay(channel, first);
}

asio::awaitable<void> Queue::State::relay(std::shared_ptr<Channel> from, std::shared_ptr<Channel> to) {
  while (std::optional<std::string> frame = co_await from->read()) {
    to->send(*std::move(frame));
    co_await to->room();
  }
  to->close_after(kFirstFrameTime, "the other end reads no longer");
  co_await to->flushed();
  to->close(fmt::format("the other end: {}", from->why()));
}

// Ends what has taken too long.
asio::awaitable<void> Queue::State::watch(const std::function<bool()>& stopped) {
  asio::steady_timer tick(io);
  while (!stopped()) {
    tick.expires_after(kTick);
    asio::error_code ignored;
    co_await tick.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    const Clock::time_point now = Clock::now();
    const auto silence = 3 * options.heartbeat;
    std::vector<std::pair<std::uint64_t, EndCause>> over;
    for (const auto& [number, lease] : leases) {
      if (lease.ended) {
        if (now - *lease.ended > kBoardEndTime) lease.board->channel->close("it did not end the work of a lease");
      } else if (is_revoked(lease.client->identity) || is_revoked(lease.board->identity)) {
        over.emplace_back(number, EndCause::revoked);
      } else if (now - lease.renewed > options.lease || now - lease.begun > options.longest_lease) {
        over.emplace_back(number, EndCause::timed_out);
      }
    }
    for (const auto& [number, cause] : over)
      end(number, cause,
          cause == EndCause::revoked ? "a certificate has been revoked"
          : now - leases.at(number).renewed > options.lease
              ? "the client did not renew the lease"
              : fmt::format("a lease has at most {} s", options.longest_lease.count()));
    if (credentials) {
      const std::optional<Diagnostic> warning = credentials->revocation_warning();
      const std::string text = warning ? to_string(*warning, "warning") : "";
      if (!text.empty() && text != warned) log(text);
      warned = text;
    }
    for (const auto& peer : peers) {
      if (peer->is_revoked) continue;
      if (is_revoked(peer->identity)) {
        peer->is_revoked = true;
        peer->channel->close_after(kTick, "its certificate has been revoked");
      } else if (now - peer->channel->heard() > silence)
        peer->channel->close(fmt::format("silent for {} ms", silence.count()));
    }
  }
  std::vector<std::uint64_t> all;
  for (const auto& [number, lease] : leases) all.push_back(number);
  for (const std::uint64_t number : all) end(number, EndCause::canceled, "the queue ends");
  tick.expires_after(kTick);  // lets the messages leave
  asio::error_code ignored;
  co_await tick.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  io.stop();
}

Queue::Queue(std::unique_ptr<State> state) : state_(std::move(state)) {}
Queue::Queue(Queue&&) noexcept = default;
Queue::~Queue() {
  if (!state_ || !state_->socket) return;
  struct stat found {};
  const char* const path = state_->options.address.path.c_str();
  if (::stat(path, &found) == 0 && std::pair(found.st_dev, found.st_ino) == *state_->socket) ::unlink(path);
}

Result<Queue> Queue::open(QueueOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  if (state->options.certificates) {
    DOVETAIL_ASSIGN(state->credentials, read_credentials(*state->options.certificates, state->options.revoked));
    DOVETAIL_ASSIGN(TlsContext context, state->credentials->server_context());
    state->tls.emplace(context.release());
  } else if (!state->options.address.is_unix()) {
    return Diagnostic{"cannot listen", to_string(state->options.address),
                      "connections between machines need certificates, and none are given",
                      "make them with `dovetail certificates`, or listen at unix:PATH for this user alone"};
  }
  DOVETAIL_TRY(state->listen());
  return Queue(std::move(state));
}

const Address& Queue::address() const { return state_->options.address; }

void Queue::run(const std::function<bool()>& stopped) {
  asio::co_spawn(state_->io, state_->accept_all(), asio::detached);
  asio::co_spawn(state_->io, state_->watch(stopped), asio::detached);
  state_->io.run();
}

}  // namespace dovetail::remote
