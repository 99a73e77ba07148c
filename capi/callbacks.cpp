#include "capi/callbacks.h"

#include <chrono>
#include <limits>
#include <system_error>

#include "base/resource_error.h"
#include "capi/arguments.h"
#include "capi/names.h"
#include "capi/status.h"

namespace dovetail::capi {

namespace {

constexpr const char* kWhyStopped = "the caller asked to stop";
constexpr const char* kStoppedHint = "call again to do the work";

std::int64_t clamped(std::uint64_t steps) {
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(steps, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())));
}

}  // namespace

Result<Callbacks> Callbacks::of(const dvt_callbacks* given, std::string_view argument) {
  Callbacks callbacks;
  DOVETAIL_ASSIGN(callbacks.given_, options_of(given, argument));
  if ((callbacks.given_.allocate == nullptr) != (callbacks.given_.release == nullptr))
    return bad_argument(argument, "one of allocate and release is set", "set both or neither");
  return callbacks;
}

void Callbacks::log(dvt_log_level level, const std::string& message) const {
  if (given_.log == nullptr) return;
  const std::scoped_lock lock(*one_at_a_time_);
  given_.log(given_.user, level, with_names(message).c_str());
}

void Callbacks::progress(const std::string& what, std::int64_t done, std::int64_t all) const {
  if (given_.progress == nullptr) return;
  const std::scoped_lock lock(*one_at_a_time_);
  given_.progress(given_.user, what.c_str(), done, all);
}

bool Callbacks::cancelled() const {
  if (given_.cancelled == nullptr) return false;
  const std::scoped_lock lock(*one_at_a_time_);
  return given_.cancelled(given_.user) != 0;
}

ReportProgress Callbacks::report_progress() const {
  return [callbacks = *this](std::string_view what, std::int64_t done, std::int64_t all) {
    callbacks.progress(std::string(what), done, all);
    if (callbacks.cancelled()) throw Cancelled{callbacks.stopped(std::string(what))};
  };
}

Diagnostic Callbacks::stopped(std::string where) const {
  return {"stopped", std::move(where), kWhyStopped, kStoppedHint, Cause::work};
}

Callbacks Callbacks::without_progress() const {
  Callbacks callbacks = *this;
  callbacks.given_.progress = nullptr;
  return callbacks;
}

Watched::Watched(const Callbacks& callbacks, Work* work, std::string what) {
  if (work == nullptr || !callbacks.watches_work()) return;
  const auto watch = [this, callbacks, work, what = std::move(what)] {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, std::chrono::milliseconds(10), [this] { return end_; })) {
      lock.unlock();
      callbacks.progress(what, clamped(work->done()), clamped(work->expected().steps));
      if (callbacks.cancelled()) work->stop(kWhyStopped, kStoppedHint);
      lock.lock();
    }
  };
  try {
    thread_.emplace(watch);
  } catch (const std::system_error& error) {
    throw ResourceError({"cannot watch the work", "", error.code().message(), "run fewer processes and threads"});
  }
}

Watched::~Watched() {
  if (!thread_) return;
  {
    const std::scoped_lock lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  thread_->join();
}

}  // namespace dovetail::capi
