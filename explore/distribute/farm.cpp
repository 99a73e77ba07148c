#include "explore/distribute/farm.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "base/printable.h"
#include "base/thread_pool.h"

namespace dovetail::explore {

namespace {

// The first letter of a message; a number or a name up to the first end of line follows, then the text.
constexpr char kHello = 'H', kFailure = 'F', kJob = 'J', kEnd = 'E', kResult = 'R', kError = 'X';
constexpr auto kPatience = std::chrono::milliseconds(5);  // between checks of this process's own threads
constexpr auto kIdle = std::chrono::milliseconds(1000);

std::string message(char kind, std::string_view word, std::string_view text) {
  return fmt::format("{}{}\n{}", kind, word, text);
}
struct Parts {
  char kind = 0;
  std::string word;
  std::string_view text;
};
Parts parts_of(std::string_view message) {
  if (message.empty()) return {};
  const std::size_t end = std::min(message.find('\n'), message.size());
  return {message[0], std::string(message.substr(1, end - 1)), message.substr(std::min(end + 1, message.size()))};
}

std::string to_text(const Diagnostics& errors) {
  Json all = Json::array();
  for (const Diagnostic& error : errors)
    all.push_back({error.what, error.where, error.why, error.hint, error.cause == Cause::resource});
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}
Diagnostics errors_of(std::string_view text, const std::string& process) {
  Diagnostics errors;
  const Json all = Json::parse(text, nullptr, false);
  if (all.is_array())
    for (const Json& row : all)
      errors.push_back({row.at(0), fmt::format("{}, {}", process, row.at(1).get<std::string>()), row.at(2), row.at(3),
                        row.at(4).get<bool>() ? Cause::resource : Cause::input});
  if (errors.empty()) errors.push_back({"a process failed", process, "the process gave no reason", ""});
  return errors;
}

}  // namespace

Farm::Farm(Transport* transport, int threads, std::string identity)
    : transport_(transport),
      threads_(threads),
      identity_(std::move(identity)),
      hosts_(static_cast<std::size_t>(processes())),
      done_(static_cast<std::size_t>(processes())) {}

Dismissal::~Dismissal() {
  if (transport_ == nullptr) return;
  for (int to = 1; to < transport_->size(); ++to) (void)transport_->send(to, message(kEnd, "", ""));
}

// One call of run().
class Farm::Run {
 public:
  Run(Farm& farm, const Jobs& jobs, Work* work, const std::string& what)
      : farm_(farm), jobs_(jobs), work_(work), what_(what) {}

  Result<void> run() {
    if (farm_.transport_ == nullptr) {
      ThreadPool pool(std::max(1, farm_.threads_), ThreadPool::Placement::free);
      // Jobs differ in length, so each thread takes the next job when it is free.
      pool.parallel_for(pool.threads(), [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) work_here();
      });
      return outcome();
    }
    std::vector<std::jthread> threads;
    try {
      if (jobs_.here)
        for (int i = 0; i < farm_.threads_; ++i) threads.emplace_back([this] { work_here(); });
    } catch (const std::system_error& error) {
      fail({{"cannot start a thread", what_, error.code().message(), "raise `ulimit -u`"}});
    } catch (...) {
      has_thrown();
    }
    const Result<void> served = serve_others();
    if (!served.ok()) fail(served.errors());
    threads.clear();  // waits for them
    if (thrown_) std::rethrow_exception(thrown_);
    return outcome();
  }

 private:
  Result<void> outcome() const {
    if (!errors_.empty()) return errors_;
    if (stopped()) return work_->stopped_at(what_);
    return {};
  }
  bool stopped() const { return work_ != nullptr && work_->stopped(); }
  void fail(const Diagnostics& errors) {
    const std::lock_guard lock(mutex_);
    errors_.insert(errors_.end(), errors.begin(), errors.end());
  }

  // Call it in a handler: run() throws the exception again.
  void has_thrown() {
    const std::lock_guard lock(mutex_);
    if (!thrown_) thrown_ = std::current_exception();
  }

  // The next job; nullopt if none is left or an error stopped the work.
  std::optional<std::size_t> take() {
    const std::lock_guard lock(mutex_);
    if ((next_ == jobs_.count && again_.empty()) || !errors_.empty() || thrown_ || stopped()) return std::nullopt;
    ++under_way_;
    if (again_.empty()) return next_++;
    const std::size_t job = again_.back();
    again_.pop_back();
    return job;
  }
  void finish(int rank) {
    const std::lock_guard lock(mutex_);
    --under_way_;
    ++farm_.done_[static_cast<std::size_t>(rank)];
  }

  // Whether this process has nothing more to do: a job in progress elsewhere may come back.
  bool finished() {
    const std::lock_guard lock(mutex_);
    return farm_.transport_ == nullptr || under_way_ == 0 || !errors_.empty() || thrown_ || stopped();
  }

  void work_here() {
    while (true) {
      const auto job = take();
      if (!job && finished()) return;
      if (!job) {
        std::this_thread::sleep_for(kPatience);
        continue;
      }
      if (farm_.transport_ == nullptr) {
        if (const Result<void> done = jobs_.here(*job); !done.ok()) fail(done.errors());
      } else {
        try {
          if (const Result<void> done = jobs_.here(*job); !done.ok()) fail(done.errors());
        } catch (...) {
          has_thrown();
        }
      }
      finish(0);
    }
  }

  // Serves the other processes until no job is left or in progress.
  Result<void> serve_others() {
    while (true) {
      while (!farm_.idle_.empty()) {
        const auto job = take();
        if (!job) break;
        const int to = farm_.idle_.front();
        farm_.idle_.pop_front();
        farm_.at_[to] = *job;
        DOVETAIL_TRY(farm_.transport_->send(to, message(kJob, std::to_string(*job), jobs_.text(*job))));
      }
      {
        const std::lock_guard lock(mutex_);
        if (stopped()) return {};
        const bool all_taken = next_ == jobs_.count && again_.empty();
        if (under_way_ == 0 && (all_taken || !errors_.empty() || thrown_)) return {};
      }
      DOVETAIL_ASSIGN(const auto received, farm_.transport_->receive(kPatience));
      if (received) DOVETAIL_TRY(hear(*received));
    }
  }

  static Diagnostic misunderstood(const std::string& process, const Parts& parts) {
    return {"cannot understand a message", process,
            fmt::format("the message begins with \"{}{}\"", parts.kind, printable(parts.word)),
            "all processes need the same kit"};
  }

  // A lost process gives its job back.
  void lose(int rank) {
    std::erase(farm_.idle_, rank);
    const auto job = farm_.at_.find(rank);
    if (job == farm_.at_.end()) return;
    const std::lock_guard lock(mutex_);
    again_.push_back(job->second);
    --under_way_;
    farm_.at_.erase(job);
  }

  Result<void> hear(const Transport::Message& received) {
    if (received.lost) {
      lose(received.from);
      return {};
    }
    const Parts parts = parts_of(received.text);
    const auto rank = static_cast<std::size_t>(received.from);
    if (parts.kind == kHello || parts.kind == kFailure) farm_.hosts_[rank] = parts.word;
    const std::string process = fmt::format("process {} on {}", received.from, farm_.hosts_[rank]);
    if (parts.kind == kFailure) return errors_of(parts.text, process);
    if (parts.kind == kHello) {
      if (parts.text != farm_.identity_)
        return Diagnostic{
            "processes work on different tasks", process,
            fmt::format("the files or the kit differ between the processes: {} is not {}", parts.text, farm_.identity_),
            "all processes need the same models, space and kit, with the same file names"};
      if (farm_.at_.contains(received.from) || std::ranges::find(farm_.idle_, received.from) != farm_.idle_.end())
        return misunderstood(process, parts);
      farm_.idle_.push_back(received.from);
      return {};
    }
    std::size_t job = 0;
    const char* const last = parts.word.data() + parts.word.size();
    const bool is_number = std::from_chars(parts.word.data(), last, job).ptr == last && job < jobs_.count;
    const auto at = farm_.at_.find(received.from);
    if (!is_number || (parts.kind != kResult && parts.kind != kError) || at == farm_.at_.end() || at->second != job)
      return misunderstood(process, parts);
    farm_.at_.erase(at);
    farm_.idle_.push_back(received.from);
    try {
      if (parts.kind == kError) fail(errors_of(parts.text, process));
      else if (const Result<void> taken = jobs_.take(job, parts.text); !taken.ok()) fail(taken.errors());
    } catch (const std::exception& error) {  // a result without what it must have
      fail({{"cannot understand a result", process, error.what(), "all processes need the same kit"}});
    }
    finish(received.from);
    return {};
  }

  Farm& farm_;
  const Jobs& jobs_;
  Work* work_;
  const std::string& what_;
  std::mutex mutex_;
  std::size_t next_ = 0, under_way_ = 0;
  std::vector<std::size_t> again_;  // jobs of lost processes
  Diagnostics errors_;
  std::exception_ptr thrown_;
};

Result<void> Farm::run(const Jobs& jobs, Work* work, const std::string& what) {
  return Run(*this, jobs, work, what).run();
}

Result<void> serve(Transport& transport, const std::string& identity,
                   const std::function<Result<std::string>(std::string_view job)>& job) {
  DOVETAIL_TRY(transport.send(0, message(kHello, transport.host(), identity)));
  while (true) {
    DOVETAIL_ASSIGN(const auto received, transport.receive(kIdle));
    if (!received) continue;
    const Parts parts = parts_of(received->text);
    if (parts.kind == kEnd) return {};
    std::optional<Result<std::string>> result;
    try {
      result = job(parts.text);
    } catch (const std::exception& error) {  // process 0 ends the work, and reports the process
      result = Diagnostic{"a process failed", "", error.what(),
                          "this is a bug of the kit, or the machine ran out of memory"};
    }
    DOVETAIL_TRY(transport.send(0, result->ok() ? message(kResult, parts.word, **result)
                                                : message(kError, parts.word, to_text(result->errors()))));
  }
}

void report_failure(Transport& transport, const Diagnostics& errors) {
  (void)transport.send(0, message(kFailure, transport.host(), to_text(errors)));
}

}  // namespace dovetail::explore
