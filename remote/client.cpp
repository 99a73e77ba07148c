#include "remote/client.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/descriptor.h"
#include "base/sha256.h"
#include "remote/channel.h"

namespace dovetail::remote {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr std::size_t kMostEvents = 64;   // before the boards wait
constexpr milliseconds kCauseTime{3000};  // in which the queue says why a board is lost
constexpr milliseconds kShortly{5}, kAnswerTime{10000};

asio::awaitable<void> wait_for(milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  asio::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

struct KnownFile {
  SentFile file;
  std::string sha256;
  std::uint64_t bytes = 0;
};

Result<KnownFile> known(SentFile file) {
  const auto failed = [&] {
    return Diagnostic{"cannot read", file.source.string(), std::generic_category().message(errno),
                      "check the path and its permissions"};
  };
  const Descriptor source(::open(file.source.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.file() < 0) return failed();
  Sha256 hash;
  std::string buffer(kChunkBytes, '\0');
  std::uint64_t bytes = 0;
  ssize_t got = 0;
  while ((got = ::read(source.file(), buffer.data(), buffer.size())) > 0) {
    hash.add(std::as_bytes(std::span(buffer).first(static_cast<std::size_t>(got))));
    bytes += static_cast<std::uint64_t>(got);
  }
  if (got < 0) return failed();
  return KnownFile{std::move(file), hash.digits(), bytes};
}

Diagnostic as_diagnostic(const Refusal& refusal, const std::string& where) {
  return {refusal.what, where, refusal.why, refusal.hint};
}

struct RunningCommand {
  explicit RunningCommand(std::atomic<int>& all) : count(all) { ++count; }
  ~RunningCommand() { --count; }
  RunningCommand(const RunningCommand&) = delete;
  std::atomic<int>& count;
};

Diagnostic lost_board(const std::string& name) {
  return {"the board is lost", name, "the connection to it has ended", "start the command again", Cause::resource};
}

struct Held {
  std::uint64_t lease = 0;
  std::shared_ptr<Channel> channel = nullptr;
  std::optional<LeaseEnd> end = {};
};

}  // namespace

struct Client::State {
  explicit State(CommandOrder given) : order(std::move(given)) {}

  Result<void> open();
  asio::awaitable<Result<std::shared_ptr<Channel>>> join();
  asio::awaitable<void> keep();
  asio::awaitable<void> beat();
  asio::awaitable<void> work(int board, Lease lease);
  asio::awaitable<std::optional<Diagnostic>> converse(int board, const BoardEntry& entry, Channel& channel);
  asio::awaitable<std::optional<Diagnostic>> send_file(const KnownFile& file, const std::string& board,
                                                       Channel& channel);
  void report(int board, decltype(Event::what) what);
  asio::awaitable<void> reader();
  void place_order(int board);
  void fail(Diagnostic error);

  CommandOrder order;
  std::vector<KnownFile> files;
  std::optional<asio::ssl::context> tls;  // absent on a Unix socket
  asio::io_context io{1};
  std::shared_ptr<Channel> control;
  Welcome welcome;
  std::map<int, Held> held;  // by board
  bool leaving = false;
  std::atomic<int> running = 0;  // commands

  std::mutex mutex;  // protects the following members
  std::condition_variable changed;
  std::deque<Event> events;
  std::optional<Diagnostic> failed;

  std::thread thread;
};

Result<void> Client::State::open() {
  if (order.certificates) {
    DOVETAIL_ASSIGN(const Credentials credentials, read_credentials(*order.certificates, std::nullopt));
    DOVETAIL_ASSIGN(TlsContext context, credentials.client_context());
    tls.emplace(context.release());
  } else if (!order.place.queue.is_unix()) {
    return Diagnostic{"cannot connect to the queue", to_string(order.place.queue),
                      "connections between machines need certificates, and none are given",
                      "name their folder with --certificates, or in DOVETAIL_CERTIFICATES"};
  }
  return {};
}

// A connection to the queue that has been welcomed.
asio::awaitable<Result<std::shared_ptr<Channel>>> Client::State::join() {
  Result<std::shared_ptr<Channel>> connected = co_await Channel::connect(order.place.queue, tls ? &*tls : nullptr);
  if (!connected.ok()) co_return connected;
  const std::shared_ptr<Channel> channel = *connected;
  channel->send(JoinRequest(Hello{}));
  channel->close_after(kAnswerTime, "the queue does not answer");
  const auto answer = co_await channel->read_message<JoinResponse>();
  channel->stop_timer();
  const std::string where = to_string(order.place.queue);
  if (answer && std::holds_alternative<Refusal>(*answer)) co_return as_diagnostic(std::get<Refusal>(*answer), where);
  if (!answer || !std::holds_alternative<Welcome>(*answer)) co_return channel->problem(where);
  welcome = std::get<Welcome>(*answer);
  co_return channel;
}

void Client::State::fail(Diagnostic error) {
  const std::lock_guard lock(mutex);
  if (!failed) failed = std::move(error);
  changed.notify_all();
}

void Client::State::report(int board, decltype(Event::what) what) {
  const std::lock_guard lock(mutex);
  events.push_back({board, std::move(what)});
  changed.notify_all();
}

// Waits while the reader of the events is far behind.
asio::awaitable<void> Client::State::reader() {
  while (!leaving) {
    {
      const std::lock_guard lock(mutex);
      if (events.size() < kMostEvents) co_return;
    }
    co_await wait_for(kShortly);
  }
}

void Client::State::place_order(int board) {
  held[board] = {};
  control->send(
      JoinRequest(LeaseOrder{static_cast<std::uint64_t>(board), order.place.label, order.priority, order.what}));
}

asio::awaitable<void> Client::State::beat() {
  const milliseconds every(std::min(welcome.heartbeat_ms / 2, welcome.lease_ms / 3));
  while (control->is_open()) {
    control->send(JoinRequest(Heartbeat{}));
    for (const auto& [board, each] : held)
      if (each.lease != 0 && !each.end) control->send(JoinRequest(LeaseRenewal{each.lease}));
    co_await wait_for(std::max(every, milliseconds(1)));
    if (Channel::Clock::now() - control->heard() > 3 * milliseconds(welcome.heartbeat_ms))
      control->close("the queue is silent");
  }
}

asio::awaitable<void> Client::State::keep() {
  asio::co_spawn(io, beat(), asio::detached);
  for (int board = 1; board <= order.boards; ++board) place_order(board);
  while (auto message = co_await control->read_message<JoinResponse>()) {
    if (const auto* const waiting = std::get_if<Waiting>(&*message)) {
      report(static_cast<int>(waiting->order), *waiting);
    } else if (auto* const lease = std::get_if<Lease>(&*message)) {
      const int board = static_cast<int>(lease->order);
      if (!held.contains(board) || held[board].lease != 0) continue;
      held[board].lease = lease->lease;
      asio::co_spawn(io, work(board, std::move(*lease)), asio::detached);
    } else if (const auto* const end = std::get_if<LeaseEnd>(&*message)) {
      for (auto& [board, each] : held)
        if (each.lease == end->lease) {
          each.end = *end;
          if (each.channel) each.channel->close(end->why);
        }
    } else if (const auto* const refusal = std::get_if<Refusal>(&*message)) {
      fail(as_diagnostic(*refusal, to_string(order.place.queue)));
    }
  }
  if (!leaving)
    fail({"the connection to the queue is lost", to_string(order.place.queue), control->why(),
          "the command has been ended; start it again when the queue is there", Cause::resource});
  for (auto& [board, each] : held)
    if (each.channel) each.channel->close("the queue is lost");
}

// The work on a leased board, up to the command's end.
asio::awaitable<void> Client::State::work(int board, Lease lease) {
  const std::string name = lease.board.name;
  report(board, Began{lease.board});
  Result<std::shared_ptr<Channel>> connected = co_await Channel::connect(order.place.queue, tls ? &*tls : nullptr);
  std::optional<Diagnostic> problem;
  if (connected.ok() && !held[board].end) {
    const std::shared_ptr<Channel> channel = *connected;
    held[board].channel = channel;
    channel->send(JoinRequest(Attach{lease.token}));
    const auto answer = co_await channel->read_message<JoinResponse>();
    if (answer && std::holds_alternative<Welcome>(*answer)) problem = co_await converse(board, lease.board, *channel);
    else problem = lost_board(name);
    channel->close("finished");
  } else if (!connected.ok()) {
    problem = connected.errors().front();
  }
  // Finished, refused, or lost; the queue may know why.
  const bool is_refused = problem && problem->cause == Cause::input;
  for (milliseconds waited{0}; problem && !is_refused && !held[board].end && control->is_open() && waited < kCauseTime;
       waited += kShortly)
    co_await wait_for(kShortly);
  const std::optional<LeaseEnd> end = held[board].end;
  if (!end) control->send(JoinRequest(LeaseEnd{lease.lease, EndCause::finished, ""}));
  held.erase(board);
  if (!control->is_open() && !is_refused) co_return;  // keep() says so
  if (!problem && !end) co_return;
  if (!problem) problem = lost_board(name);
  Lost lost{is_refused ? EndCause::refused : EndCause::board_lost, *problem, false};
  if (end && !is_refused) {
    lost.cause = end->cause;
    lost.error = {fmt::format("the work on a board ended: {}", to_string(end->cause)), name,
                  end->why.empty() ? "the queue gives no reason" : end->why,
                  "`dovetail queue --status` lists the boards; start the command again", Cause::resource};
  }
  lost.is_replaced = order.texts && lost.cause == EndCause::board_lost && control->is_open();
  const bool is_replaced = lost.is_replaced;
  report(board, std::move(lost));
  if (is_replaced) place_order(board);
}

// Error with Cause::input: the board refuses; else it is lost.
asio::awaitable<std::optional<Diagnostic>> Client::State::converse(int board, const BoardEntry& entry,
                                                                   Channel& channel) {
  const Diagnostic gone = lost_board(entry.name);
  CommandStart start{order.arguments, {}, order.results, order.texts};
  for (const KnownFile& file : files) {
    std::optional<Diagnostic> problem = co_await send_file(file, entry.name, channel);
    if (problem) co_return problem;
    start.files.push_back({file.file.path, file.sha256});
  }
  channel.send(WorkRequest(start));
  const RunningCommand counted(running);
  bool ended = false;
  while (!ended) {
    std::optional<WorkResponse> message = co_await channel.read_message<WorkResponse>();
    if (!message) co_return gone;
    if (const auto* const refusal = std::get_if<Refusal>(&*message)) co_return as_diagnostic(*refusal, entry.name);
    ended = std::holds_alternative<CommandEnd>(*message);
    if (auto* const output = std::get_if<Output>(&*message)) report(board, std::move(*output));
    else if (auto* const text = std::get_if<Text>(&*message)) report(board, std::move(*text));
    else if (auto* const chunk = std::get_if<FileChunk>(&*message)) report(board, std::move(*chunk));
    else if (auto* const end = std::get_if<CommandEnd>(&*message)) report(board, std::move(*end));
    co_await reader();
  }
  co_return std::nullopt;
}

asio::awaitable<std::optional<Diagnostic>> Client::State::send_file(const KnownFile& file, const std::string& board,
                                                                    Channel& channel) {
  const Diagnostic gone = lost_board(board);
  channel.send(WorkRequest(FileOffer{file.sha256, file.bytes}));
  std::optional<WorkResponse> answer = co_await channel.read_message<WorkResponse>();
  if (!answer) co_return gone;
  if (const auto* const refusal = std::get_if<Refusal>(&*answer)) co_return as_diagnostic(*refusal, board);
  const auto* const wanted = std::get_if<FileWanted>(&*answer);
  if (wanted == nullptr || wanted->offset > file.bytes) co_return gone;
  const Descriptor source(::open(file.file.source.c_str(), O_RDONLY | O_CLOEXEC));
  FileChunk chunk{file.sha256, wanted->offset, "", false};
  if (source.file() < 0 || ::lseek(source.file(), static_cast<off_t>(chunk.offset), SEEK_SET) < 0)
    co_return Diagnostic{"cannot read", file.file.source.string(), "the file has changed", "start the command again"};
  // An empty file is one empty chunk.
  while (channel.is_open() && !chunk.last && (chunk.offset < file.bytes || file.bytes == 0)) {
    chunk.data.resize(kChunkBytes);
    const ssize_t got = ::read(source.file(), chunk.data.data(), chunk.data.size());
    chunk.data.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    chunk.last = chunk.offset + chunk.data.size() >= file.bytes;
    if (got <= 0 && file.bytes > 0)
      co_return Diagnostic{"cannot read", file.file.source.string(), "the file has changed", "start the command again"};
    channel.send(WorkRequest(chunk));
    chunk.offset += chunk.data.size();
    co_await channel.room();
  }
  co_return std::nullopt;
}

Client::Client(std::unique_ptr<State> state) : state_(std::move(state)) {}

Client::~Client() {
  if (!state_->thread.joinable()) return;
  asio::post(state_->io, [state = state_.get()] {
    state->leaving = true;
    for (const auto& [board, each] : state->held)
      if (each.lease != 0 && !each.end) state->control->send(JoinRequest(LeaseEnd{each.lease, EndCause::finished, ""}));
    asio::co_spawn(
        state->io,
        [](State& of) -> asio::awaitable<void> {
          of.control->close_after(milliseconds(1000), "finished");
          co_await of.control->flushed();
          of.io.stop();
        }(*state),
        asio::detached);
  });
  state_->thread.join();
}

Result<std::unique_ptr<Client>> Client::start(CommandOrder order) {
  auto state = std::make_unique<State>(std::move(order));
  DOVETAIL_TRY(state->open());
  for (SentFile& file : state->order.files) {
    DOVETAIL_ASSIGN(KnownFile one, known(std::move(file)));
    state->files.push_back(std::move(one));
  }
  CommandStart start{state->order.arguments, {}, state->order.results, state->order.texts};
  for (const KnownFile& file : state->files) start.files.push_back({file.file.path, file.sha256});
  if (const std::size_t bytes = encode(WorkRequest(start)).size(); bytes > kMostFrameBytes)
    return Diagnostic{"cannot send the command", state->order.what,
                      fmt::format("its {} files and arguments take {} bytes, of at most {}", start.files.size(), bytes,
                                  kMostFrameBytes),
                      "name fewer files, or put them into one archive"};
  std::optional<Result<std::shared_ptr<Channel>>> joined;
  asio::co_spawn(
      state->io,
      [](State& of, auto& result) -> asio::awaitable<void> {
        result = co_await of.join();
        of.io.stop();
      }(*state, joined),
      asio::detached);
  state->io.run();
  if (!joined) return Diagnostic{"cannot connect to the queue", to_string(state->order.place.queue), "", ""};
  DOVETAIL_ASSIGN(state->control, *std::move(joined));
  state->io.restart();
  std::unique_ptr<Client> client(new Client(std::move(state)));
  State& own = *client->state_;
  asio::co_spawn(own.io, own.keep(), asio::detached);
  own.thread = std::thread([&own] {
    const auto work = asio::make_work_guard(own.io);
    own.io.run();
  });
  return client;
}

Result<std::optional<Event>> Client::next(milliseconds patience) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, patience, [&] { return !state_->events.empty() || state_->failed; });
  if (!state_->events.empty()) {
    Event event = std::move(state_->events.front());
    state_->events.pop_front();
    return std::optional(std::move(event));
  }
  if (state_->failed) return *state_->failed;
  return std::optional<Event>();
}

void Client::send(int board, std::string text) {
  asio::post(state_->io, [state = state_.get(), board, text = std::move(text)]() mutable {
    const auto found = state->held.find(board);
    if (found != state->held.end() && found->second.channel)
      found->second.channel->send(WorkRequest(Text{std::move(text)}));
  });
}

bool Client::interrupt() {
  if (state_->running == 0) return false;
  asio::post(state_->io, [state = state_.get()] {
    for (const auto& [board, each] : state->held)
      if (each.channel) each.channel->send(WorkRequest(Interrupt{}));
  });
  return true;
}

Result<StatusReport> Client::status(const Address& queue, const std::optional<fs::path>& certificates,
                                    std::optional<std::uint64_t> ended_lease) {
  CommandOrder order;
  order.place.queue = queue;
  order.certificates = certificates;
  State state(std::move(order));
  DOVETAIL_TRY(state.open());
  std::optional<Result<StatusReport>> found;
  asio::co_spawn(
      state.io,
      [](State& of, std::optional<std::uint64_t> ended, auto& result) -> asio::awaitable<void> {
        Result<std::shared_ptr<Channel>> joined = co_await of.join();
        if (!joined.ok()) {
          result.emplace(joined.errors());
          co_return;
        }
        const std::shared_ptr<Channel> channel = *joined;
        if (ended) channel->send(JoinRequest(LeaseEnd{*ended, EndCause::canceled, ""}));
        channel->send(JoinRequest(StatusQuery{}));
        channel->close_after(kAnswerTime, "the queue does not answer");
        std::optional<JoinResponse> answer = co_await channel->read_message<JoinResponse>();
        if (answer && std::holds_alternative<StatusReport>(*answer))
          result.emplace(std::get<StatusReport>(*std::move(answer)));
        else if (answer && std::holds_alternative<Refusal>(*answer))
          result.emplace(as_diagnostic(std::get<Refusal>(*answer), to_string(of.order.place.queue)));
        else result.emplace(channel->problem(to_string(of.order.place.queue)));
        channel->close("finished");
      }(state, ended_lease, found),
      asio::detached);
  state.io.run();
  return *std::move(found);
}

}  // namespace dovetail::remote
