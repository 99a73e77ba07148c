// Runs the processes of a command as threads of a test, which exchange messages through queues.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "explore/distribute/transport.h"

namespace dovetail::test {

class Mailboxes {
 public:
  explicit Mailboxes(int processes) : boxes_(static_cast<std::size_t>(processes)) {}

  // The transport of one process; only one thread may use it.
  std::unique_ptr<explore::Transport> transport(int rank) { return std::make_unique<Process>(*this, rank); }

 private:
  class Process : public explore::Transport {
   public:
    Process(Mailboxes& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(all_.boxes_.size()); }
    std::string host() const override { return "host" + std::to_string(rank_); }
    std::string library() const override { return "threads"; }
    Result<void> send(int to, std::string_view text) override {
      const std::lock_guard lock(all_.mutex_);
      all_.boxes_[static_cast<std::size_t>(to)].push_back({rank_, std::string(text)});
      all_.changed_.notify_all();
      return {};
    }
    Result<std::optional<Message>> receive(std::chrono::milliseconds patience) override {
      std::unique_lock lock(all_.mutex_);
      auto& box = all_.boxes_[static_cast<std::size_t>(rank_)];
      if (!all_.changed_.wait_for(lock, patience, [&] { return !box.empty(); })) return std::optional<Message>();
      Message message = std::move(box.front());
      box.pop_front();
      return std::optional(std::move(message));
    }

   private:
    Mailboxes& all_;
    int rank_;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::deque<explore::Transport::Message>> boxes_;
};

}  // namespace dovetail::test
