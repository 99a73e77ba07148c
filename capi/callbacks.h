// The caller's callback functions, and the thread that polls whether a call must stop.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/report_progress.h"
#include "base/result.h"
#include "base/work.h"
#include "capi/include/dovetail.h"

namespace dovetail::capi {

class Callbacks {
 public:
  Callbacks() = default;
  static Result<Callbacks> of(const dvt_callbacks* given, std::string_view argument);

  void log(dvt_log_level level, const std::string& message) const;
  void progress(const std::string& what, std::int64_t done, std::int64_t all) const;
  bool cancelled() const;
  bool watches_work() const { return given_.cancelled != nullptr || given_.progress != nullptr; }
  // Reports progress, and throws Cancelled if the caller stops the work.
  ReportProgress report_progress() const;
  Diagnostic stopped(std::string where) const;
  // Calls another function of the caller, with the callbacks' `user` pointer and under their lock.
  template <typename Function>
  void call(Function&& function) const {
    const std::scoped_lock lock(*one_at_a_time_);
    std::forward<Function>(function)(given_.user);
  }
  // The callbacks without progress, for work that reports it itself.
  Callbacks without_progress() const;

  bool has_allocator() const { return given_.allocate != nullptr; }
  void* allocate(std::size_t bytes) const { return given_.allocate(given_.user, bytes, kAlignment); }
  void release(void* memory, std::size_t bytes) const { given_.release(given_.user, memory, bytes); }
  static constexpr std::size_t kAlignment = 64;

 private:
  dvt_callbacks given_{};
  std::shared_ptr<std::mutex> one_at_a_time_ = std::make_shared<std::mutex>();
};

// During its lifetime, a thread polls the caller's stop callback, and reports completed steps as progress of `what`.
class Watched {
 public:
  // Starts no thread if the caller has no such callbacks, or `work` is null.
  Watched(const Callbacks& callbacks, Work* work, std::string what);
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::optional<std::thread> thread_;
};

}  // namespace dovetail::capi
