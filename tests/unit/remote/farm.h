// A queue and boards, each on a thread, at a Unix socket or with certificates on the loopback. The boards run /bin/sh
// in place of `dovetail`.
#pragma once

#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "remote/board.h"
#include "remote/client.h"
#include "remote/queue.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace dovetail::remote {

using std::chrono::milliseconds;

struct RunningQueue {
  explicit RunningQueue(QueueOptions options) {
    options.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex);
      log += line + "\n";
    };
    Result<Queue> opened = Queue::open(std::move(options));
    if (!opened.ok()) FAIL(to_string(opened.errors()));
    queue.emplace(*std::move(opened));
    address = queue->address();
    thread = std::thread([this] { queue->run([this] { return stop.load(); }); });
  }
  ~RunningQueue() { end(); }
  void end() {
    stop = true;
    if (thread.joinable()) thread.join();
    queue.reset();
  }
  bool has_logged(const std::string& part) {
    const std::lock_guard lock(mutex);
    return log.find(part) != log.npos;
  }

  std::optional<Queue> queue;
  Address address;
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::string log;
  std::thread thread;
};

struct RunningBoard {
  RunningBoard(BoardOptions options) {
    options.program = "/bin/sh";
    if (options.commands.empty()) options.commands = {"-c"};
    Result<Board> opened = Board::open(std::move(options));
    if (!opened.ok()) FAIL(to_string(opened.errors()));
    board.emplace(*std::move(opened));
    thread = std::thread([this] {
      end_of_run = board->run([this] { return stop.load(); });
      has_ended = true;
    });
  }
  ~RunningBoard() { end(); }
  void end() {
    stop = true;
    if (thread.joinable()) thread.join();
    board.reset();
  }

  std::optional<Board> board;
  std::atomic<bool> stop{false}, has_ended{false};
  Result<void> end_of_run;
  std::thread thread;
};

// A farm at a Unix socket.
struct TestFarm {
  explicit TestFarm(QueueOptions options = {}) {
    options.address = Address{"", kDefaultPort, (folder / "q").string()};
    queue = std::make_unique<RunningQueue>(std::move(options));
  }
  ~TestFarm() {
    for (auto& [name, board] : boards) board->end();
  }
  RunningBoard& add(const std::string& name, std::vector<std::string> labels = {}) {
    BoardOptions options;
    options.queue = queue->address;
    options.entry.name = name;
    options.entry.labels = std::move(labels);
    options.entry.machine_code = true;
    options.folder = folder / name;
    return *(boards[name] = std::make_unique<RunningBoard>(std::move(options)));
  }
  CommandOrder order(const std::string& script, const std::string& label = "") const {
    CommandOrder order;
    order.place = {queue->address, label};
    order.what = "test";
    order.arguments = {"-c", script};
    return order;
  }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
    return folder / name;
  }
  StatusReport status() const { return Client::status(queue->address, std::nullopt).value(); }

  test::TemporaryFolder folder;
  std::unique_ptr<RunningQueue> queue;
  std::map<std::string, std::unique_ptr<RunningBoard>> boards;
};

// What happened on one board until the command ended, or the time passed.
struct Seen {
  std::string out, error, board;
  std::map<std::string, std::string> files;
  std::optional<CommandEnd> end;
  std::optional<Lost> lost;
  std::optional<Diagnostic> failed;
  std::vector<Waiting> waited;
};
inline void take(Seen& seen, const Event& event) {
  if (const auto* const output = std::get_if<Output>(&event.what))
    (output->error ? seen.error : seen.out) += output->data;
  else if (const auto* const chunk = std::get_if<FileChunk>(&event.what)) seen.files[chunk->name] += chunk->data;
  else if (const auto* const end = std::get_if<CommandEnd>(&event.what)) seen.end = *end;
  else if (const auto* const lost = std::get_if<Lost>(&event.what)) seen.lost = *lost;
  else if (const auto* const waiting = std::get_if<Waiting>(&event.what)) seen.waited.push_back(*waiting);
  else if (const auto* const began = std::get_if<Began>(&event.what)) seen.board = began->board.name;
}
// `until`: ends earlier, when it is true.
template <typename Until>
Seen watch(Client& client, Until&& until, milliseconds limit = milliseconds(20000)) {
  Seen seen;
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!seen.end && !seen.lost && !until(seen) && std::chrono::steady_clock::now() < end) {
    auto event = client.next(milliseconds(50));
    if (!event.ok()) {
      seen.failed = event.errors().front();
      break;
    }
    if (*event) take(seen, **event);
  }
  return seen;
}
inline Seen watch(Client& client, milliseconds limit = milliseconds(20000)) {
  return watch(
      client, [](const Seen&) { return false; }, limit);
}
inline Seen run(CommandOrder order) {
  auto client = Client::start(std::move(order));
  Seen seen;
  if (!client.ok()) seen.failed = client.errors().front();
  else seen = watch(**client);
  return seen;
}

template <typename Condition>
bool becomes_true(Condition&& condition, milliseconds limit = milliseconds(10000)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

}  // namespace dovetail::remote
