#include "remote/board.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/file_lock.h"
#include "base/folder.h"
#include "base/machine_code_permission.h"
#include "base/sha256.h"
#include "base/user_folder.h"
#include "remote/channel.h"
#include "remote/relative_path.h"
#include "remote/sandbox.h"
#include "remote/store.h"

namespace dovetail::remote {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kTick{100}, kLeastPause{500}, kMostPause{30000};
constexpr std::size_t kMostFiles = 20'000, kMostResults = 1000;  // of a command
constexpr double kGraceSeconds = 10;       // in which a command ends in its own way at its limit of time
constexpr double kMostResultSeconds = 60;  // before the end of a lease, in which results are sent
constexpr std::uint64_t kMostLeaseSeconds = std::uint64_t{1} << 30;
constexpr std::size_t kPipeBytes = std::size_t{64} << 10;
constexpr std::size_t kMostTextBytes = kMostFrameBytes - 64;

asio::awaitable<void> pause_for(milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  asio::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

Refusal refusal_of(const Diagnostics& errors) {
  return {errors.front().what,
          errors.front().where.empty() ? errors.front().why : errors.front().where + ": " + errors.front().why,
          errors.front().hint};
}

std::uint64_t half_of_memory() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) /
         2;
}

// The command of a lease.
struct Job {
  Job(asio::io_context& io, SandboxedProcess started, fs::path its_folder)
      : process(std::move(started)),
        folder(std::move(its_folder)),
        output(io, process.output.release()),
        error_output(io, process.errors.release()),
        texts(io, process.messages.release()),
        end(io, ::dup(process.end_event())) {
    process.input.close();
  }

  SandboxedProcess process;
  fs::path folder;
  asio::posix::stream_descriptor output, error_output, texts, end;
  std::vector<std::string> results;
  int pumps = 0;  // that read its output
  bool sends_texts = false;
};

// The times of a command that has at most `most` seconds. If its lease ends in `left` seconds, it ends before, so that
// its results still arrive.
SandboxLimits times_of_command(double most, std::optional<double> left) {
  if (left) most = std::min(most, *left - std::min(kMostResultSeconds, *left / 4));
  const double grace = std::min(kGraceSeconds, most / 4);
  return {.seconds = std::max(most - grace, 0.1), .grace_seconds = grace};
}

struct Session {
  std::uint64_t lease = 0;
  std::string token, client;
  bool machine_code = false;
  std::optional<Channel::Clock::time_point> limit = {};  // when the queue ends the lease
  std::shared_ptr<Channel> channel = nullptr;
  std::shared_ptr<Job> job = nullptr;
  std::map<std::string, std::uint64_t> offered = {};  // bytes of each file, by SHA-256
  std::vector<BlobStore::Pin> pins = {};
  // A command that has been started, before its job is made.
  std::optional<SandboxedProcess> started = {};
  std::filesystem::path folder = {};
  std::atomic<bool> over{false};  // the lease has ended
  bool finished = false;          // and the session too

  // Ends the work; the coroutines that do it then return.
  void stop(const std::string& why) {
    over = true;
    if (job) job->process.kill();
    if (channel) channel->close(why);
  }
};

}  // namespace

struct Board::State {
  State(BoardOptions given, FileLock taken) : options(std::move(given)), lock(std::move(taken)) {
    room = std::make_shared<StoreRoom>(StoreLimits{options.most_store_bytes, options.most_store_bytes});
    for (const fs::path& store : entries_of(options.folder / "store")) room->add(store);
  }

  // Runs it on the thread of files, so that heartbeats go on.
  template <typename Work>
  asio::awaitable<void> elsewhere(Work work) {
    asio::steady_timer done(io, Channel::Clock::time_point::max());
    asio::post(files, [&] {
      work();
      asio::post(io, [&] { done.cancel(); });
    });
    asio::error_code ignored;
    co_await done.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  Result<BlobStore*> store_of(const std::string& client);
  void remove_folder(const fs::path& folder) const;
  // For coroutines whose end others wait for: the process cannot go on without it.
  static auto unless_it_throws() {
    return [](const std::exception_ptr& thrown) {
      if (thrown) std::rethrow_exception(thrown);
    };
  }
  asio::awaitable<void> keep_connected();
  asio::awaitable<void> serve(std::shared_ptr<Channel> control);
  asio::awaitable<void> beat(std::shared_ptr<Channel> control, milliseconds every);
  asio::awaitable<void> work(std::shared_ptr<Channel> control, std::shared_ptr<Session> session);
  asio::awaitable<void> converse(std::shared_ptr<Session> session);
  asio::awaitable<void> run_job(std::shared_ptr<Session> session);
  asio::awaitable<void> pump(std::shared_ptr<Session> session, std::shared_ptr<Job> job,
                             asio::posix::stream_descriptor& from, bool error);
  asio::awaitable<void> pump_texts(std::shared_ptr<Session> session, std::shared_ptr<Job> job);
  asio::awaitable<void> send_results(std::shared_ptr<Session> session, const Job& job);
  asio::awaitable<bool> send_file(Channel& channel, const std::string& name, const fs::path& path, std::uint64_t& room);
  asio::awaitable<void> pass_on(Session& session, const std::string& text);
  Result<std::optional<FileWanted>> take(Session& session, const WorkRequest& request);
  Result<void> start(Session& session, const CommandStart& command);
  asio::awaitable<void> watch(const std::function<bool()>& stopped);

  fs::path jobs() const { return options.folder / "jobs"; }
  void log(std::string line) const {
    if (options.log) options.log(line);
  }

  BoardOptions options;
  FileLock lock;                            // of the folder
  std::shared_ptr<StoreRoom> room;          // of all stores together
  std::map<std::string, BlobStore> stores;  // of each client: the files of one are not offered to another
  asio::thread_pool files{1};               // does what takes long; it alone uses stores and folders of commands
  std::optional<asio::ssl::context> tls;    // absent on a Unix socket
  Result<void> may_run_machine_code;
  asio::io_context io{1};
  std::shared_ptr<Channel> control;
  std::shared_ptr<Session> session;
  std::optional<Diagnostic> refused;
  bool stopping = false;
  std::uint64_t last_job = 0;
};

asio::awaitable<void> Board::State::keep_connected() {
  milliseconds pause = kLeastPause;
  std::string said;
  while (!stopping && !refused) {
    bool is_revoked = false;
    Result<std::shared_ptr<Channel>> connected =
        co_await Channel::connect(options.queue, tls ? &*tls : nullptr, &is_revoked);
    if (!connected.ok() && is_revoked) {
      refused = connected.errors().front();
      refused->hint =
          "make a new certificate (dovetail certificates FOLDER --renew --board NAME), copy its folder, and "
          "start the board again";
    } else if (connected.ok()) {
      pause = kLeastPause;
      said.clear();
      control = *connected;
      co_await serve(control);
      if (session) session->stop("the queue is lost");
      while (session && !session->finished) co_await pause_for(kTick);
      session.reset();
      control.reset();
    } else if (const std::string line = to_string(connected.errors()); line != said) {
      log(line + "\nconnecting again");
      said = line;
    }
    if (stopping || refused) break;
    co_await pause_for(pause);
    pause = std::min(2 * pause, kMostPause);
  }
  io.stop();
}

asio::awaitable<void> Board::State::serve(std::shared_ptr<Channel> channel) {
  Hello hello{kProtocolVersion, "", options.entry};
  hello.board->machine_code = may_run_machine_code.ok();
  channel->send(JoinRequest(hello));
  channel->close_after(std::chrono::seconds(10), "the queue does not answer");
  const auto answer = co_await channel->read_message<JoinResponse>();
  channel->stop_timer();
  if (answer && std::holds_alternative<Refusal>(*answer)) {
    const auto& refusal = std::get<Refusal>(*answer);
    refused = Diagnostic{refusal.what, options.entry.name, refusal.why, refusal.hint};
    co_return;
  }
  if (!answer || !std::holds_alternative<Welcome>(*answer)) {
    log(fmt::format("the queue ended the connection: {}", channel->why()));
    co_return;
  }
  log(fmt::format("connected to {} as {}", to_string(options.queue), options.entry.name));
  asio::co_spawn(io, beat(channel, milliseconds(std::get<Welcome>(*answer).heartbeat_ms)), asio::detached);
  while (const auto message = co_await channel->read_message<JoinResponse>()) {
    if (const auto* const start = std::get_if<LeaseStart>(&*message)) {
      if (session && !session->finished) {  // the queue leases an idle board alone
        channel->send(JoinRequest(LeaseEnd{start->lease, EndCause::refused, "the board is busy"}));
        continue;
      }
      session = std::make_shared<Session>();
      session->lease = start->lease;
      session->token = start->token;
      session->client = start->client;
      session->machine_code = start->machine_code && may_run_machine_code.ok();
      if (start->seconds > 0 && start->seconds < kMostLeaseSeconds)
        session->limit = Channel::Clock::now() + std::chrono::seconds(start->seconds);
      asio::co_spawn(io, work(channel, session), unless_it_throws());
    } else if (const auto* const end = std::get_if<LeaseEnd>(&*message)) {
      if (session && session->lease == end->lease) session->stop(fmt::format("{} {}", to_string(end->cause), end->why));
    }
  }
  log(fmt::format("the connection to the queue ended: {}", channel->why()));
}

asio::awaitable<void> Board::State::beat(std::shared_ptr<Channel> channel, milliseconds every) {
  while (channel->is_open()) {
    channel->send(JoinRequest(Heartbeat{}));
    co_await pause_for(std::max(every / 2, milliseconds(1)));
    if (Channel::Clock::now() - channel->heard() > 3 * every) channel->close("the queue is silent");
  }
}

// A lease, from its beginning until nothing of it is left.
asio::awaitable<void> Board::State::work(std::shared_ptr<Channel> channel, std::shared_ptr<Session> lease) {
  log(fmt::format("lease {}: {}", lease->lease, lease->client));
  bool attached = false;
  Result<std::shared_ptr<Channel>> connected = co_await Channel::connect(options.queue, tls ? &*tls : nullptr);
  if (connected.ok() && !lease->over) {
    lease->channel = *connected;
    lease->channel->send(JoinRequest(Attach{lease->token}));
    const auto answer = co_await lease->channel->read_message<JoinResponse>();
    attached = answer && std::holds_alternative<Welcome>(*answer);
    if (attached) co_await converse(lease);
  }
  lease->stop("the board has ended its work");
  while (lease->job) co_await pause_for(kTick);
  lease->pins.clear();
  lease->finished = true;
  channel->send(JoinRequest(LeaseEnd{lease->lease, attached ? EndCause::finished : EndCause::board_lost,
                                     attached ? "" : "the board could not connect for it"}));
  log(fmt::format("lease {}: ended", lease->lease));
}

asio::awaitable<void> Board::State::converse(std::shared_ptr<Session> lease) {
  while (auto request = co_await lease->channel->read_message<WorkRequest>()) {
    if (const auto* const text = std::get_if<Text>(&*request)) {
      co_await pass_on(*lease, text->text);
      continue;
    }
    if (std::holds_alternative<Interrupt>(*request)) {
      if (lease->job) lease->job->process.interrupt();
      continue;
    }
    Result<std::optional<FileWanted>> taken = std::optional<FileWanted>();
    co_await elsewhere([&] { taken = take(*lease, *request); });
    if (!taken.ok()) lease->channel->send(WorkResponse(refusal_of(taken.errors())));
    else if (*taken) lease->channel->send(WorkResponse(**taken));
    else if (const auto* const command = std::get_if<CommandStart>(&*request)) {
      lease->job = std::make_shared<Job>(io, *std::move(lease->started), lease->folder);
      lease->job->results = command->results;
      lease->job->sends_texts = command->texts;
      lease->started.reset();
      if (lease->over) lease->job->process.kill();
      asio::co_spawn(io, run_job(lease), unless_it_throws());
    }
    co_await lease->channel->room();
  }
}

Result<BlobStore*> Board::State::store_of(const std::string& client) {
  const auto known = stores.find(client);
  if (known != stores.end()) return &known->second;
  const fs::path folder = options.folder / "store" / sha256(std::as_bytes(std::span(client))).substr(0, 16);
  DOVETAIL_TRY(make_private_folder(folder.parent_path()));
  DOVETAIL_ASSIGN(BlobStore opened, BlobStore::open(folder, room));
  return &stores.emplace(client, std::move(opened)).first->second;
}

// A command may have left folders that only root can open.
void Board::State::remove_folder(const fs::path& folder) const {
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, error);
       !error && entry != fs::end(entry); entry.increment(error)) {
    std::error_code ignored;
    if (entry->symlink_status(ignored).type() == fs::file_type::directory)
      fs::permissions(entry->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
  }
  fs::remove_all(folder, error);
  if (error) log(fmt::format("cannot remove {}: {}", folder.string(), error.message()));
}

// On the thread of files.
Result<std::optional<FileWanted>> Board::State::take(Session& lease, const WorkRequest& request) {
  DOVETAIL_ASSIGN(BlobStore* const own, store_of(lease.client));
  BlobStore& store = *own;
  if (const auto* const offer = std::get_if<FileOffer>(&request)) {
    if (lease.offered.size() >= kMostFiles)
      return Diagnostic{"the board refuses a file", "", fmt::format("a command has at most {} files", kMostFiles),
                        "send fewer"};
    DOVETAIL_ASSIGN(const std::uint64_t have, store.have(offer->sha256, offer->bytes));
    DOVETAIL_ASSIGN(BlobStore::Pin pin, store.pin(offer->sha256));
    lease.pins.push_back(std::move(pin));
    lease.offered[offer->sha256] = offer->bytes;
    return std::optional(FileWanted{offer->sha256, have});
  } else if (const auto* const chunk = std::get_if<FileChunk>(&request)) {
    const auto offer = lease.offered.find(chunk->name);
    if (offer == lease.offered.end())
      return Diagnostic{"the board refuses a file", chunk->name.substr(0, 64), "it was not offered", ""};
    DOVETAIL_TRY(store.append(chunk->name, offer->second, chunk->offset, std::as_bytes(std::span(chunk->data))));
  } else if (const auto* const command = std::get_if<CommandStart>(&request)) {
    DOVETAIL_TRY(start(lease, *command));
  }
  return std::optional<FileWanted>();
}

// To the command. It may be busy, and then the client waits.
asio::awaitable<void> Board::State::pass_on(Session& lease, const std::string& text) {
  const std::shared_ptr<Job> job = lease.job;
  if (!job || !job->sends_texts) co_return;
  const std::string bytes = framed(text);
  asio::error_code ignored;
  co_await asio::async_write(job->texts, asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, ignored));
}

Result<void> Board::State::start(Session& lease, const CommandStart& command) {
  const auto refuse = [&](std::string where, std::string why, std::string hint) {
    return Diagnostic{"the board refuses the command", std::move(where), std::move(why), std::move(hint)};
  };
  if (lease.job) return refuse("", "a command is running", "");
  const std::string name = command.arguments.empty() ? "" : command.arguments.front();
  if (std::ranges::find(options.commands, name) == options.commands.end())
    return refuse(name, "boards do not run this command",
                  fmt::format("they run {}", fmt::join(options.commands, ", ")));
  if (command.files.size() > kMostFiles || command.results.size() > kMostResults)
    return refuse(name, fmt::format("it has more than {} files or {} results", kMostFiles, kMostResults), "name fewer");
  DOVETAIL_ASSIGN(BlobStore* const store, store_of(lease.client));
  std::uint64_t bytes = 0;
  for (const CommandStart::File& file : command.files) {
    const auto offer = lease.offered.find(file.sha256);
    if (offer == lease.offered.end()) return refuse(file.path.substr(0, 80), "the file was not offered", "");
    if ((bytes += offer->second) > options.most_store_bytes)
      return refuse(name, "its files are too large", "send less");
  }
  const fs::path folder = jobs() / std::to_string(++last_job);
  std::error_code error;
  remove_folder(folder);
  DOVETAIL_TRY(make_private_folder(folder));
  const auto placed = [&]() -> Result<void> {
    for (const CommandStart::File& file : command.files) {
      if (lease.over) return refuse(name, "the lease has ended", "");
      DOVETAIL_ASSIGN(const fs::path path, path_below(folder, file.path));
      fs::create_directories(path.parent_path(), error);
      DOVETAIL_TRY(store->place(file.sha256, path));
    }
    if (lease.machine_code && !options.record.empty()) {
      std::string lines;
      for (const CommandStart::File& file : command.files) lines += fmt::format("{}  {}\n", file.sha256, file.path);
      DOVETAIL_TRY(make_private_folder((folder / options.record).parent_path()));
      DOVETAIL_TRY(write_text_file(folder / options.record, lines));
    }
    for (const std::string& result : command.results) {
      DOVETAIL_ASSIGN(const fs::path path, path_below(folder, result));
      fs::create_directories(path.parent_path(), error);
    }
    return {};
  }();
  SandboxOrder order;
  order.command = command.arguments;
  order.command.insert(order.command.begin(), options.program.string());
  order.folder = folder;
  order.machine_code = lease.machine_code;
  order.environment = {{"DOVETAIL_FILES", "below"}};
  std::string& board = order.environment[kBoardVariable] = options.entry.name;
  for (const std::string& fact : options.entry.facts) board += "\n" + fact;
  if (options.device && options.device->is_used_by(command.arguments)) {
    order.environment[options.device->variable] = options.device->value;
    order.inherited = options.device->files;
    if (order.machine_code && !options.device->confined) {
      order.machine_code = false;
      order.environment[kMachineCodeVariable] = kMachineCodeForbiddenByDevice;
    }
  }
  if (!may_run_machine_code.ok()) order.environment[kMachineCodeVariable] = kMachineCodeForbiddenByBoard;
  if (command.texts) order.environment["DOVETAIL_ONE_OF_SEVERAL"] = "1";  // explore/distribute/inherited.h
  std::optional<double> left;
  if (lease.limit) left = std::chrono::duration<double>(*lease.limit - Channel::Clock::now()).count();
  order.limits = times_of_command(static_cast<double>(options.most_time.count()), left);
  order.limits.memory_bytes = options.most_memory_bytes > 0 ? options.most_memory_bytes : half_of_memory();
  order.limits.file_bytes = options.most_file_bytes;
  Result<SandboxedProcess> process = placed.ok() ? SandboxedProcess::start(order) : placed.errors();
  if (!process.ok()) {
    remove_folder(folder);
    return process.errors();
  }
  lease.started.emplace(*std::move(process));
  lease.folder = folder;
  return {};
}

asio::awaitable<void> Board::State::run_job(std::shared_ptr<Session> lease) {
  const std::shared_ptr<Job> job = lease->job;
  for (const bool error : {false, true}) {
    ++job->pumps;
    asio::co_spawn(io, pump(lease, job, error ? job->error_output : job->output, error), asio::detached);
  }
  if (job->sends_texts) asio::co_spawn(io, pump_texts(lease, job), asio::detached);
  asio::error_code error;
  co_await job->end.async_wait(asio::posix::stream_descriptor::wait_read,
                               asio::redirect_error(asio::use_awaitable, error));
  const ProcessEnd end = job->process.wait();
  // All writers are gone, so the pipes end.
  while (job->pumps > 0 && lease->channel->is_open()) co_await pause_for(kTick / 10);
  job->output.close(error);
  job->error_output.close(error);
  job->texts.close(error);
  co_await send_results(lease, *job);
  const EndCause cause = end.ending == ProcessEnding::exited      ? EndCause::finished
                         : end.ending == ProcessEnding::timed_out ? EndCause::timed_out
                                                                  : EndCause::crashed;
  lease->channel->send(WorkResponse(CommandEnd{cause == EndCause::finished ? end.number : 1, cause, to_string(end)}));
  co_await lease->channel->flushed();
  while (job->pumps > 0) co_await pause_for(kTick / 10);
  co_await elsewhere([&] { remove_folder(job->folder); });
  lease->job.reset();
}

asio::awaitable<void> Board::State::pump(std::shared_ptr<Session> lease, std::shared_ptr<Job> job,
                                         asio::posix::stream_descriptor& from, bool is_error) {
  std::string buffer(kPipeBytes, '\0');
  while (true) {
    asio::error_code error;
    const std::size_t bytes =
        co_await from.async_read_some(asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, error));
    if (bytes > 0) lease->channel->send(WorkResponse(Output{is_error, buffer.substr(0, bytes)}));
    if (error) break;
    co_await lease->channel->room();
    if (!lease->channel->is_open()) break;
  }
  --job->pumps;
}

asio::awaitable<void> Board::State::pump_texts(std::shared_ptr<Session> lease, std::shared_ptr<Job> job) {
  while (lease->channel->is_open()) {
    asio::error_code error;
    std::string length(kLengthBytes, '\0');
    co_await asio::async_read(job->texts, asio::buffer(length), asio::redirect_error(asio::use_awaitable, error));
    const std::size_t bytes = length_of(length);
    if (error || bytes > kMostTextBytes) break;
    std::string text(bytes, '\0');
    co_await asio::async_read(job->texts, asio::buffer(text), asio::redirect_error(asio::use_awaitable, error));
    if (error) break;
    lease->channel->send(WorkResponse(Text{std::move(text)}));
    co_await lease->channel->room();
  }
}

// The files that the command has written. Its processes have ended; but links that it may have left are not followed.
asio::awaitable<void> Board::State::send_results(std::shared_ptr<Session> lease, const Job& job) {
  std::uint64_t room = options.most_file_bytes;
  for (const std::string& result : job.results) {
    const fs::path path = job.folder / result;
    std::error_code error;
    if (has_link(job.folder, result)) continue;
    const fs::file_status status = fs::symlink_status(path, error);
    if (fs::is_regular_file(status)) {
      if (!co_await send_file(*lease->channel, result, path, room)) co_return;
      continue;
    }
    if (!fs::is_directory(status)) continue;
    std::vector<fs::path> files;
    for (auto entry = fs::recursive_directory_iterator(path, error); !error && entry != fs::end(entry);
         entry.increment(error))
      if (entry->symlink_status(error).type() == fs::file_type::regular) files.push_back(entry->path());
    std::ranges::sort(files);
    for (const fs::path& file : files)
      if (!co_await send_file(*lease->channel, file.lexically_relative(job.folder).string(), file, room)) co_return;
  }
}

// False: the connection has ended, or the results are too large.
asio::awaitable<bool> Board::State::send_file(Channel& channel, const std::string& name, const fs::path& path,
                                              std::uint64_t& room) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) co_return true;
  std::string buffer(kChunkBytes, '\0');
  FileChunk chunk{name, 0, "", false};
  while (channel.is_open() && !chunk.last) {
    const ssize_t bytes = ::read(file, buffer.data(), buffer.size());
    chunk.last = bytes <= 0;
    chunk.data = buffer.substr(0, static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    if (chunk.data.size() > room) {
      channel.send(WorkResponse(Refusal{"the board does not send the results", name + ": the files are too large",
                                        "let the command write less"}));
      ::close(file);
      co_return false;
    }
    room -= chunk.data.size();
    channel.send(WorkResponse(chunk));
    chunk.offset += chunk.data.size();
    co_await channel.room();
  }
  ::close(file);
  co_return channel.is_open();
}

asio::awaitable<void> Board::State::watch(const std::function<bool()>& stopped) {
  while (!stopped()) co_await pause_for(kTick);
  stopping = true;
  if (control) control->close("the board ends");
  else io.stop();
}

Board::Board(std::unique_ptr<State> state) : state_(std::move(state)) {}
Board::Board(Board&&) noexcept = default;
Board::~Board() = default;

Result<Board> Board::open(BoardOptions options) {
  DOVETAIL_TRY(make_private_folder(options.folder));
  DOVETAIL_ASSIGN(std::optional<FileLock> lock, FileLock::try_take(options.folder / "lock"));
  if (!lock)
    return Diagnostic{"cannot serve", options.folder.string(), "another process serves from this folder",
                      "give each board of a machine another name, or another folder"};
  auto state = std::make_unique<State>(std::move(options), *std::move(lock));
  const BoardOptions& own = state->options;
  if (own.certificates) {
    DOVETAIL_ASSIGN(const Credentials credentials, read_credentials(*own.certificates, std::nullopt));
    DOVETAIL_ASSIGN(TlsContext context, credentials.client_context());
    state->tls.emplace(context.release());
  } else if (!own.queue.is_unix()) {
    return Diagnostic{"cannot connect to the queue", to_string(own.queue),
                      "connections between machines need certificates, and none are given",
                      "make them with `dovetail certificates`"};
  }
  state->remove_folder(state->jobs());  // of an earlier process
  DOVETAIL_TRY(make_private_folder(state->jobs()));
  state->may_run_machine_code = check_sandbox();
  if (!own.entry.machine_code)
    state->may_run_machine_code = Diagnostic{"no machine code", own.entry.name, "the board was started so", ""};
  return Board(std::move(state));
}

Result<void> Board::machine_code() const { return state_->may_run_machine_code; }

Result<void> Board::run(const std::function<bool()>& stopped) {
  asio::co_spawn(state_->io, state_->keep_connected(), asio::detached);
  asio::co_spawn(state_->io, state_->watch(stopped), asio::detached);
  state_->io.run();
  state_->files.join();
  if (state_->refused) return *state_->refused;
  return {};
}

}  // namespace dovetail::remote
